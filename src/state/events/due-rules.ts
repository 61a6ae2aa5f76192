/**
 * When is a consumer due, and why not? Pure. A sleep is a comparison: news beyond the numbers that the run examined end
 * it, whatever was heard of them. Whether the agent is paused or at capacity is not judged here.
 */
import type { ConsumerRun } from "./event-facts.js";
import {
  type ConsumerModel,
  freeCount,
  hasNews,
  isSuspended,
  oldestMs,
  openSubscriptions,
} from "./event-model.js";
import type { ConsumerActivity, DueConsumer, NotDue, SessionPhase } from "./event-store.js";

/** Before any clock, also one that was set back since the event was published. */
const AT_ONCE = 0;

/** When the consumer is due, which may be later than now; or why it is not. */
export function dueOf(consumer: ConsumerModel): DueConsumer | NotDue {
  return consumer.kept.claim === null ? dueUnclaimed(consumer) : "running";
}

/** The same of a session that goes on. */
export function dueUnclaimed(consumer: ConsumerModel): DueConsumer | NotDue {
  const { retry, run, sleep } = consumer.kept;
  if (!consumer.isDefined) return "undefined";
  if (isSuspended(run)) return "suspended";
  if (run === null && freeCount(consumer) === 0) return "no_work";
  const slotMs = slotOf(consumer);
  if (retry !== null) return { dueMs: retry.at_ms, slotMs };
  const isAwake = run !== null || sleep === null || hasNews(consumer, sleep.examined);
  return { dueMs: isAwake ? AT_ONCE : sleep.until_ms, slotMs };
}

/** Its place in the line: when the oldest event was published that is pending for it, reserved or not. */
export function slotOf(consumer: ConsumerModel): number {
  return oldestMs(openSubscriptions(consumer)) ?? consumer.kept.run?.reserved_ms ?? 0;
}

/** Where the next run begins. */
export function phaseOf(run: ConsumerRun | null): SessionPhase {
  if (run === null) return "prepare";
  return run.mutation.kind === "intended" ? "reconcile" : "next";
}

/** What the consumer does now, for people. */
export function activityOf(consumer: ConsumerModel, nowMs: number): ConsumerActivity {
  const { claim, retry, run } = consumer.kept;
  if (isSuspended(run)) return "suspended";
  if (claim !== null) return "running";
  const due = dueUnclaimed(consumer);
  if (typeof due === "string") return "idle";
  if (due.dueMs <= nowMs) return "ready";
  return retry === null ? "sleeping" : "waiting";
}

/** When a consumer that is not due now will be, without news. */
export function wakesAtMs(consumer: ConsumerModel, nowMs: number): number | undefined {
  const due = dueOf(consumer);
  return typeof due === "string" || due.dueMs <= nowMs ? undefined : due.dueMs;
}
