/** Time that passes as others wait for it, and locks that seem to be held by anybody. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { FakeClock } from "../../../../src/clock.js";
import type { FileStoreWorld } from "../../../../src/state/file/file-store.js";
import { type ProcessIdentity, thisProcess } from "../../../../src/state/file/lock/process-identity.js";
import { until } from "../../child.js";

/** What the call comes to while the clock goes on as often as somebody waits for it, and how long that took. */
export async function timed<T>(clock: FakeClock, call: Promise<T>): Promise<{ result: T; tookMs: number }> {
  const startedMs = clock.monotonic();
  let endedMs: number | undefined;
  const isOver = (): boolean => endedMs !== undefined;
  const end = (): void => {
    endedMs = clock.monotonic();
  };
  call.then(end, end);
  for (;;) {
    await until(() => clock.sleeping > 0 || isOver());
    if (isOver()) break;
    await clock.advance(25);
  }
  return { result: await call, tookMs: (endedMs ?? 0) - startedMs };
}

/** A lock held by that process, as far as one can see. */
export function forge(lock: string, holder: Partial<ProcessIdentity>, content = ""): string {
  const { pid, started, machine } = { ...thisProcess(), ...holder };
  mkdirSync(lock);
  const file = join(lock, `${pid}-${started}-${machine}-${"0123456789abcdef".repeat(2).slice(0, 24)}`);
  writeFileSync(file, content);
  return file;
}

/** Nobody moves it: whatever needs time to pass never ends. */
export const frozen = (): FileStoreWorld => ({ realClock: new FakeClock() });
