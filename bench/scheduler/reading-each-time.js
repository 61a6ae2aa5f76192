/** A pass over idle schedules, against the plain way: the state file read and parsed once for each of them. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { parse } from "yaml";
import { cpuOf } from "../measure.js";
import { agentsOf, onFileStore } from "./contenders.js";
import { LeapingClock } from "./leaping-clock.js";

const PASSES = 5_000;
const PARSES = 5;

export async function readingEachTime(_, { count }) {
  let passesLeft = 0;
  let passed;
  const clock = new LeapingClock(() => {
    if (passesLeft === 0) passed?.();
    return passesLeft-- > 0;
  });
  const { scheduler, stateDir, remove } = await onFileStore({ clock });
  const definition = { type: "cron", expression: "0 12 1 7 *" };
  const schedules = Array.from({ length: count }, () => ({ definition }));
  await scheduler.start(agentsOf(schedules, 10, () => {}));
  const pass = () =>
    new Promise((resolve) => {
      passesLeft = PASSES;
      passed = resolve;
      clock.ask();
    });
  await pass();
  const passMicros = (await cpuOf(pass)) / PASSES;
  const path = join(stateDir, "state.yaml");
  const readAndParse = async () => parse(await readFile(path, "utf8"));
  await readAndParse();
  const plainMicros = (await cpuOf(readAndParse, PARSES)) * count;
  await scheduler.stop();
  await remove();
  return { passMicros, plainMicros };
}
