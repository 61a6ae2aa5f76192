/** One measurement of one contender in a process of its own: `child.js <part> <its file> <options as JSON>`. */
import { setTimeout as sleep } from "node:timers/promises";
import { Stopwatch } from "./stopwatch.js";

const MINUTE_MS = 60_000;
/** Between the end of registering and the first minute. */
const SPARE_MS = 5_000;

const MOST_EARLY_MS = 1_000;

const [part, file, text] = process.argv.slice(2);
const contender = await import(`./${file}`);
const { serverPid, ...options } = JSON.parse(text);
const stopwatch = new Stopwatch(serverPid);
const result = part === "cron" ? await cron() : await contender[part](options, stopwatch);
process.send(result, () => process.exit());

/** How late each start is, in milliseconds: the first of a schedule belongs to the first minute, and so on. */
async function cron() {
  const { minutes, ...rest } = options;
  const counts = Array.from({ length: rest.count }, () => 0);
  const lateness = [];
  let [firstMs, endMs] = [Infinity, Infinity];
  const stop = await contender.cron(rest, (i) => {
    const nowMs = Date.now();
    // What starts while others register is for the minute before; nobody is early by much.
    if (nowMs > firstMs - MOST_EARLY_MS && nowMs < endMs)
      lateness.push(nowMs - (firstMs + counts[i]++ * MINUTE_MS));
  });
  firstMs = Math.ceil((Date.now() + SPARE_MS) / MINUTE_MS) * MINUTE_MS;
  endMs = firstMs + minutes * MINUTE_MS;
  await sleep(firstMs - Date.now() - 2 * MOST_EARLY_MS);
  stopwatch.start();
  // What has not started by then is counted as missing.
  await sleep(endMs - Date.now() - 5_000);
  const figures = stopwatch.stop(minutes * rest.count);
  await stop();
  return { ...figures, missing: minutes * rest.count - lateness.length, lateness };
}
