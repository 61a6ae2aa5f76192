/** Commands as the tests run them: real processes, in real time. */
import { existsSync, readFileSync } from "node:fs";
import { systemClock } from "../../../src/clock.js";
import { type Ended, Scene } from "../scene.js";

export function node(script: string, ...args: string[]): string[] {
  return [process.execPath, "-e", script, ...args];
}

export function scene(graceMs?: number): Scene {
  return new Scene({ clock: systemClock, graceMs });
}

export function run(command: unknown, more: Record<string, unknown> = {}, prompt = "Do it"): Promise<Ended> {
  return scene().run({ runtime: { type: "command", command, ...more } }, { prompt });
}

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch {
    return false;
  }
  // A zombie is over: whoever should reap it is not this test's matter.
  const stat = `/proc/${pid}/stat`;
  return !existsSync(stat) || !/\) Z /.test(readFileSync(stat, "utf8"));
}
