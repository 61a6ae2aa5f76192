/**
 * Waits for a job that has been started, within its limits: it is told to end when its time is up or somebody cancels
 * it, and given up when it has not ended after the grace.
 */
import { type Clock, wakeAfter } from "../clock.js";
import type { Ending, StopCause } from "./result.js";

export interface JobLimits {
  readonly clock: Clock;
  /** What is left of the time the job may take. */
  readonly leftMs: number | undefined;
  readonly timeoutMs: number | undefined;
  /** How long it has to end after it was told to. `Infinity`: it is never given up. */
  readonly graceMs: number;
  /** The same, for one that was cancelled: its time limit still holds. */
  readonly cancelGraceMs: number;
  /** Cancels the job. */
  readonly signal: AbortSignal | undefined;
  /** Tells the job to end. */
  abort(reason: unknown): void;
  /** Hears that a job has ended which had been given up. */
  onLate(): void;
}

export interface JobEnding {
  readonly ending: Ending;
  readonly stop: StopCause | undefined;
}

/** Never rejects, and listens to nothing any more when it has resolved. */
export function endingOf(answer: PromiseLike<unknown>, limits: JobLimits): Promise<JobEnding> {
  const { clock, leftMs, timeoutMs, signal } = limits;
  return new Promise((resolve) => {
    let stop: StopCause | undefined;
    let isOver = false;
    let callOff: (() => void) | undefined;
    const end = (ending: Ending): void => {
      if (isOver) {
        limits.onLate();
        return;
      }
      isOver = true;
      callOff?.();
      signal?.removeEventListener("abort", cancel);
      resolve({ ending, stop });
    };
    const tellToEnd = (cause: StopCause, graceMs: number, reason: unknown): void => {
      if (isOver) return;
      if (graceMs < Infinity) {
        callOff?.();
        callOff = wakeAfter(clock, graceMs, () => end({ how: "abandoned", graceMs }));
      }
      if (stop !== undefined) return;
      stop = cause;
      limits.abort(reason);
    };
    const cancel = (): void => {
      const { reason }: { readonly reason?: unknown } = signal ?? {};
      tellToEnd({ status: "cancelled", reason }, limits.cancelGraceMs, reason);
    };
    if (leftMs !== undefined && timeoutMs !== undefined)
      callOff = wakeAfter(clock, leftMs, () =>
        tellToEnd(
          { status: "timeout", timeoutMs },
          limits.graceMs,
          new DOMException(`Timed out after ${timeoutMs} ms`, "TimeoutError"),
        ),
      );
    if (signal?.aborted === true) cancel();
    else signal?.addEventListener("abort", cancel);
    // Through a promise of our own: what calls back twice, or throws while it is listened to, is heard once.
    Promise.resolve(answer).then(
      (value) => end({ how: "answered", answer: value }),
      (error: unknown) => end({ how: "threw", error }),
    );
  });
}
