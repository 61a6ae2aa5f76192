// Takes a lock over and over, and under it adds one to a number in a file, unprotected by anything else.
// Prints "+" for each, and often dies while it holds the lock.
import * as disk from "node:fs/promises";
import { readFileSync, writeFileSync, writeSync } from "node:fs";
import { setTimeout } from "node:timers/promises";
import { systemClock } from "../../../dist/clock.js";
import { releaseLock, takeLock } from "../../../dist/state/file/lock/lock-directory.js";

const [, , path, file, enough] = process.argv;
const dieSometimes = () => Math.random() < 0.06 && process.kill(process.pid, "SIGKILL");

for (let number = 0; number < Number(enough);) {
  const lock = await takeLock({ disk, clock: systemClock, path });
  dieSometimes();
  number = Number(readFileSync(file, "utf8")) + 1;
  await setTimeout(Math.random() * 2);
  writeFileSync(file, String(number));
  writeSync(1, "+\n");
  dieSometimes();
  await releaseLock(disk, lock);
}
