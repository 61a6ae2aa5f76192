/** The notices of a run: what the scheduler emits, and what `rota run` adds about stopping and reloading. */
import type { ConfigChanges } from "../../config/watch/config-changes.js";
import type { ConfigError } from "../../scheduler/definition/errors.js";
import type { SchedulerEvents } from "../../scheduler/events.js";
import type { Scheduler } from "../../scheduler/scheduler.js";

export interface RunNotices extends SchedulerEvents {
  /** `reason`: the signal, or another cause. */
  "scheduler:stopping": {
    readonly reason: string;
    readonly timeoutMs: number;
    readonly jobs: readonly string[];
  };
  "config:reloaded": ConfigChanges;
  "config:refused": { readonly error: ConfigError };
}

/** One notice with its name and details. */
export type Notice = {
  [Event in keyof RunNotices]: { readonly event: Event; readonly details: RunNotices[Event] };
}[keyof RunNotices];

export function listen(scheduler: Scheduler, report: (notice: Notice) => void): void {
  scheduler
    .on("scheduler:started", (details) => report({ event: "scheduler:started", details }))
    .on("scheduler:stopped", (details) => report({ event: "scheduler:stopped", details }))
    .on("scheduler:error", (details) => report({ event: "scheduler:error", details }))
    .on("job:started", (details) => report({ event: "job:started", details }))
    .on("job:finished", (details) => report({ event: "job:finished", details }))
    .on("schedule:planned", (details) => report({ event: "schedule:planned", details }))
    .on("schedule:skipped", (details) => report({ event: "schedule:skipped", details }))
    .on("schedule:missed", (details) => report({ event: "schedule:missed", details }))
    .on("schedule:abandoned", (details) => report({ event: "schedule:abandoned", details }));
}
