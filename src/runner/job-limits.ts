/** Waits for a running job within its limits: stops it at its timeout or when it is cancelled, and abandons it after the grace. */
import { type Clock, wakeAfter } from "../clock.js";
import { cancelStop, checkedResult, type JobStop, thrownResult, timeoutStop } from "./result.js";
import type { RuntimeResult } from "./runtime.js";

export interface JobLimits {
  readonly clock: Clock;
  /** How long the job may take. */
  readonly timeoutMs: number | undefined;
  /** How much of that is left. */
  readonly leftMs: number;
  /** How long the job may take to end after its timeout. `Infinity`: the runner never abandons it. */
  readonly graceMs: number;
  /** How long the job may take to end after it was cancelled. Its timeout still holds. */
  readonly cancelGraceMs: number;
  /** Cancels the job. */
  readonly signal: AbortSignal | undefined;
  /** Tells the job to end. */
  abort(reason: unknown): void;
  /** Called when an abandoned job ends after all. */
  onLate(lateMs: number): void;
}

/** What the runtime said, or nothing when the runner abandoned the job; and why the runner stopped it, if it did. */
export interface LimitedRun {
  readonly said: RuntimeResult | undefined;
  readonly stop: JobStop | undefined;
}

/** Never rejects, and removes its listener and its timer before it resolves. */
export function runWithin(running: PromiseLike<unknown>, limits: JobLimits): Promise<LimitedRun> {
  const { clock, timeoutMs, signal } = limits;
  return new Promise((resolve) => {
    let stop: JobStop | undefined;
    let endedMs: number | undefined;
    let cancelTimer: (() => void) | undefined;
    const end = (run: LimitedRun): void => {
      endedMs = clock.monotonic();
      cancelTimer?.();
      signal?.removeEventListener("abort", cancel);
      resolve(run);
    };
    const settle = (said: RuntimeResult): void => {
      if (endedMs === undefined) end({ said, stop });
      else limits.onLate(Math.round(clock.monotonic() - endedMs));
    };
    const tellToEnd = (cause: JobStop, graceMs: number, reason: unknown): void => {
      const first = stop ?? cause;
      if (graceMs < Infinity) {
        cancelTimer?.();
        const abandon = (): void => end({ said: undefined, stop: { ...first, abandonedAfterMs: graceMs } });
        cancelTimer = wakeAfter(clock, graceMs, abandon);
      }
      if (stop !== undefined) return;
      stop = cause;
      limits.abort(reason);
    };
    const cancel = (): void => {
      const { reason }: { readonly reason?: unknown } = signal ?? {};
      tellToEnd(cancelStop(reason), limits.cancelGraceMs, reason);
    };
    if (timeoutMs !== undefined)
      cancelTimer = wakeAfter(clock, limits.leftMs, () => {
        const cause = timeoutStop(timeoutMs);
        tellToEnd(cause, limits.graceMs, new DOMException(cause.message, "TimeoutError"));
      });
    if (signal?.aborted === true) cancel();
    else signal?.addEventListener("abort", cancel);
    // Promise.resolve settles once, also for a thenable that calls back twice or throws.
    Promise.resolve(running).then(
      (returned) => settle(checkedResult(returned)),
      (error: unknown) => settle(thrownResult(error)),
    );
  });
}
