/** What a measurement took: wall time, and the CPU time of this process and of the server. */
import { serverMicros } from "./processor-time.js";

export class Stopwatch {
  #serverPid;
  #begun;

  constructor(serverPid) {
    this.#serverPid = serverPid;
  }

  /** The wall time counts from `fromMs`, which may still be to come. */
  start(fromMs = wallMs()) {
    this.#begun = { fromMs, cpu: process.cpuUsage(), server: serverMicros(this.#serverPid) };
  }

  stop(count) {
    const { fromMs, cpu, server } = this.#begun;
    const ms = wallMs() - fromMs;
    const { user, system } = process.cpuUsage(cpu);
    const spent = serverMicros(this.#serverPid);
    return {
      perSecond: (count / ms) * 1_000,
      nodeMicros: (user + system) / count,
      serverMicros: spent === undefined || server === undefined ? undefined : (spent - server) / count,
    };
  }
}

/** Finer than `Date.now()`. */
function wallMs() {
  return performance.timeOrigin + performance.now();
}
