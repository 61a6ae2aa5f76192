/** CPU time of a server: of its first process, of those that are its children, and of the children it has outlived. */
import { readdirSync, readFileSync } from "node:fs";

/** What Linux counts in, whatever its own clock's rate. */
const MICROS_PER_TICK = 10_000;

/** In microseconds; `undefined` where there is no /proc, or no server of ours. */
export function serverMicros(pid) {
  const server = pid === undefined ? undefined : statOf(pid);
  if (server === undefined) return undefined;
  let ticks = server.ticks + server.childTicks;
  for (const name of readdirSync("/proc")) {
    const child = /^\d+$/.test(name) ? statOf(name) : undefined;
    if (child?.parent === pid) ticks += child.ticks;
  }
  return ticks * MICROS_PER_TICK;
}

/** A process that has ended meanwhile has none. */
function statOf(pid) {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, "utf8");
    // The name, which is in brackets, may hold anything.
    const fields = text
      .slice(text.lastIndexOf(")") + 2)
      .split(" ")
      .map(Number);
    return { parent: fields[1], ticks: fields[11] + fields[12], childTicks: fields[13] + fields[14] };
  } catch {
    return undefined;
  }
}
