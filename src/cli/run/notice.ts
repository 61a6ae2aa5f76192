/** What happens while a fleet runs: the scheduler's events, and those of the command around it. */
import type { ConfigChanges } from "../../config/watch/config-changes.js";
import type { ConfigError } from "../../scheduler/definition/errors.js";
import type { SchedulerEvents } from "../../scheduler/events.js";
import type { Scheduler } from "../../scheduler/scheduler.js";

export interface RunEvents extends SchedulerEvents {
  /** `reason`: the signal, or what else made it stop. */
  "scheduler:stopping": {
    readonly reason: string;
    readonly timeoutMs: number;
    readonly jobs: readonly string[];
  };
  "config:reloaded": ConfigChanges;
  "config:refused": { readonly error: ConfigError };
}

/** One thing that happened. */
export type News = {
  [Event in keyof RunEvents]: { readonly event: Event; readonly details: RunEvents[Event] };
}[keyof RunEvents];

export function listen(scheduler: Scheduler, tell: (news: News) => void): void {
  scheduler
    .on("scheduler:started", (details) => tell({ event: "scheduler:started", details }))
    .on("scheduler:stopped", (details) => tell({ event: "scheduler:stopped", details }))
    .on("scheduler:error", (details) => tell({ event: "scheduler:error", details }))
    .on("job:started", (details) => tell({ event: "job:started", details }))
    .on("job:finished", (details) => tell({ event: "job:finished", details }))
    .on("schedule:planned", (details) => tell({ event: "schedule:planned", details }))
    .on("schedule:skipped", (details) => tell({ event: "schedule:skipped", details }))
    .on("schedule:missed", (details) => tell({ event: "schedule:missed", details }));
}
