// Owns a journal and appends to it until it is killed, with several callers and small segments.
// Prints what it found as "ready 1,2,5", then each number once it is acknowledged, as "1".
import { writeSync } from "node:fs";
import { systemClock } from "../../../dist/clock.js";
import { nodeDisk } from "../../../dist/state/file/disk.js";
import { Journal } from "../../../dist/state/file/journal/journal.js";

const CALLERS = 4;
/** Notes that are kept in the state, so that snapshots stay small. */
const MOST = 100;
const [directory, first] = [process.argv[2], Number(process.argv[3])];
const say = (text) => writeSync(1, `${text}\n`);

let last = [];
const numbers = {
  apply: ({ pair }) => {
    last = [...last, ...pair].slice(-MOST);
  },
  snapshot: () => last,
  load: (snapshot) => {
    last = snapshot ?? [];
  },
  idsOf: ({ pair }) => pair.map(String),
  keepFrom: () => undefined,
};
const logger = { info: () => {}, warn: (message) => say(`warning ${message}`), error: say };
const journal = new Journal({
  directory,
  parts: { numbers },
  disk: nodeDisk,
  clock: systemClock,
  logger,
  checkOwner: async () => {},
  maxSegmentBytes: 2_000,
});
await journal.open();
say(`ready ${last.join()}`);

let number = first;
await Promise.all(
  Array.from({ length: CALLERS }, async () => {
    for (;;) {
      // Two records in one decision: both are there, or neither.
      const own = number;
      number += 2;
      const records = [{ part: "numbers", data: { pair: [own, own + 1], text: "x".repeat(own % 300) } }];
      await journal.append({ decide: () => records });
      say(own);
    }
  }),
);
