// Takes work from a directory until there is none left, and prints "start <file>" and "done <file>" for each item.
// Its clock is ahead by as many hours as it is told, and it dies at one in so many of the moments before and after a file is moved.
import { writeSync } from "node:fs";
import { systemClock } from "../../../../dist/clock.js";
import { nodeDisk } from "../../../../dist/state/file/disk.js";
import { DirectorySource } from "../../../../dist/work-sources/directory/directory-source.js";
import { WorkSourceManager } from "../../../../dist/work-sources/manager.js";
import { WorkSourceRegistry } from "../../../../dist/work-sources/registry.js";

const [, , path, hoursAhead = "0", oneIn = "0"] = process.argv;
const clock = { ...systemClock, now: () => new Date(Date.now() + Number(hoursAhead) * 3_600_000) };
const dieSometimes = () => Math.random() < 1 / Number(oneIn) && process.kill(process.pid, "SIGKILL");
const disk = new Proxy(nodeDisk, {
  get: (target, name) =>
    oneIn === "0" || !["link", "rename", "unlink"].includes(name)
      ? target[name]
      : async (...args) => {
          dieSometimes();
          const result = await target[name](...args);
          dieSometimes();
          return result;
        },
});

const registry = new WorkSourceRegistry();
registry.register(
  "watched",
  (_, context) => new DirectorySource({ path, claimExpiryMs: 3_600_000, ...context, disk }),
);
const manager = new WorkSourceManager({ registry, clock });
const agent = { name: `process-${process.pid}` };
for (;;) {
  const { item, isLost } = await manager.getNextWorkItem(agent, { workSource: { type: "watched" } });
  if (item === undefined && !isLost) break;
  if (item === undefined) continue;
  writeSync(1, `start ${item.externalId}\n`);
  const isDone = await manager.reportOutcome(item.id, { outcome: "success", summary: "done" }, { agent });
  if (isDone) writeSync(1, `done ${item.externalId}\n`);
}
writeSync(1, "end\n");
