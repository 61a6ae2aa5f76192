/**
 * What does the end of a run leave, and may its session go on? Pure. One decision: consumed events, published events,
 * the handler's state, sleep or retry, and the end of the claim.
 */
import { quote } from "../../errors.js";
import { dueUnclaimed } from "./due-rules.js";
import { EventError } from "./errors.js";
import type {
  ConsumerClaim,
  ConsumerPatch,
  ConsumerRun,
  EventFact,
  EventRefs,
  RunMutation,
} from "./event-facts.js";
import { type ConsumerModel, type EventModel, freeCount, hasNews, isOpen, numbersOf } from "./event-model.js";
import type {
  NewEvent,
  Publication,
  Settled,
  Settlement,
  SettledOutcome,
  SessionToken,
} from "./event-store.js";
import { isNewsFor, newFor, planPublish, type PublishPlan } from "./publish-rules.js";
import { freeRefs, keeping, keyOf, named, runOpen } from "./session-rules.js";

/** A settle that is decided and not yet applied. */
export interface SettlePlan {
  readonly facts: readonly EventFact[];
  readonly answer: Settled;
}

/** What a run leaves of itself: which events are consumed or pending again, and what changes of the consumer. */
interface RunEnd {
  readonly consumed: EventRefs;
  readonly released: EventRefs;
  readonly set: ConsumerPatch;
}

const NO_REFS: EventRefs = [];
/** No run of the same session follows them. */
const ENDS_SESSION: ReadonlySet<SettledOutcome["kind"]> = new Set([
  "transient",
  "failed",
  "suspended",
  "unused",
]);

/** Decides on the end of a run. Throws an EventError for an end that does not fit the run, and changes nothing. */
export function settleRun(
  model: EventModel,
  consumer: ConsumerModel,
  { token }: SessionToken,
  settlement: Settlement,
  nowMs: number,
): SettlePlan {
  const { claim, last } = consumer.kept;
  const { key, outcome, ends } = settlement;
  if (last !== null && last.key === key && last.token === token)
    return repeated(model, consumer, token, outcome, nowMs);
  if (claim === null || claim.token !== token) return { facts: [], answer: { result: "superseded" } };
  const plan = planPublish(model, publishedBy(outcome), nowMs);
  const end = endOfRun(consumer, claim, settlement, nowMs);
  const pendingCount = freeAfter(consumer, end, plan);
  const goesOn = pendingCount > 0 && consumer.isDefined && isDueAfter(consumer, claim, outcome, plan, nowMs);
  const isEnded = ends === "session" || (ends === "idle" && !goesOn);
  const claimed: ConsumerPatch = isEnded ? { claim: null } : { examined: numbersAfter(consumer, plan) };
  const staysOpen = end.set.run === undefined ? consumer.kept.run : null;
  const facts: readonly EventFact[] = [
    ...plan.facts,
    {
      fact: "settled",
      ...keyOf(consumer),
      ...(end.consumed.length > 0 ? { consumed: end.consumed } : {}),
      ...(end.released.length > 0 ? { released: end.released } : {}),
      ...keeping(staysOpen),
      set: { ...end.set, ...claimed },
    },
  ];
  return {
    facts,
    answer: {
      result: "settled",
      goesOn: goesOn && !isEnded,
      isEnded,
      pendingCount,
      published: plan.published,
    },
  };
}

function publishedBy(outcome: SettledOutcome): readonly NewEvent[] {
  return outcome.kind === "committed" || outcome.kind === "nothing" ? (outcome.publish ?? []) : [];
}

function endOfRun(
  consumer: ConsumerModel,
  claim: ConsumerClaim,
  { key, outcome, mutation: taken }: Settlement,
  nowMs: number,
): RunEnd {
  const { run, retry } = consumer.kept;
  if (outcome.kind === "unused") {
    if (run !== null && !isContinued(consumer, run)) throw runOpen(consumer, run);
    return { consumed: NO_REFS, released: NO_REFS, set: {} };
  }
  const isNamed = "events" in outcome && (outcome.events?.length ?? 0) > 0;
  if (run !== null && (run.key !== key || isNamed)) throw runOpen(consumer, run);
  const mutation: RunMutation =
    run === null || (taken === "none" && run.mutation.kind === "intended") ? { kind: "none" } : run.mutation;
  if (mutation.kind === "intended" && outcome.kind !== "suspended")
    throw new EventError(
      "MUTATION_UNDECIDED",
      `The run ${quote(key)} of ${named(consumer)} may have changed something: note what came of it, or suspend the run.`,
    );
  const last = {
    key,
    token: claim.token,
    job_id: claim.job_id,
    begun_ms: claim.begun_ms,
    ended_ms: nowMs,
    outcome: outcome.kind,
    mutation: mutation.kind,
    error: "error" in outcome ? outcome.error : null,
  };
  const awake = { sleep: null, retry: null, interruptions: 0, last };
  const isUndone = mutation.kind === "none";
  switch (outcome.kind) {
    case "committed": {
      const consumed = run === null ? freeRefs(consumer, outcome.events ?? []) : run.reservations;
      if (consumed.length === 0)
        throw new EventError(
          "NOTHING_TAKEN",
          `The run ${quote(key)} of ${named(consumer)} took no event: settle it as one that took nothing.`,
        );
      return { consumed, released: NO_REFS, set: { ...awake, ...stateOf(outcome), run: null } };
    }
    case "nothing": {
      if (run !== null) throw runOpen(consumer, run);
      const sleep = { until_ms: outcome.wakesAt.getTime(), examined: claim.examined, wakes: outcome.wakes };
      return { consumed: NO_REFS, released: NO_REFS, set: { ...awake, ...stateOf(outcome), sleep } };
    }
    case "transient": {
      const { error, retryAt, events = [] } = outcome;
      const waiting = { at_ms: retryAt.getTime(), tries: (retry?.tries ?? 0) + 1, error };
      return {
        ...givenUp(consumer, isUndone, events),
        set: { ...awake, ...closed(isUndone), retry: waiting },
      };
    }
    case "failed":
      return {
        ...givenUp(consumer, isUndone, outcome.events ?? []),
        set: { ...awake, ...closed(isUndone) },
      };
    case "released": {
      if (!isUndone || run === null) throw notReleasable(consumer, key, mutation);
      return { ...givenUp(consumer, true, []), set: { ...awake, run: null } };
    }
    case "suspended":
      break;
  }
  if (mutation.kind !== "intended") throw notReleasable(consumer, key, mutation);
  const suspended = { mutation: { kind: "suspended" }, job_id: claim.job_id } as const;
  return { consumed: NO_REFS, released: NO_REFS, set: { ...awake, ...suspended } };
}

/** Whether a later session can go on with the run as it is. */
function isContinued({ canReconcile }: ConsumerModel, { mutation: { kind } }: ConsumerRun): boolean {
  return kind === "intended" ? canReconcile : kind !== "none";
}

/** A run that changed nothing gives its events back; one that did keeps them, and is continued with `next`. */
function givenUp(
  consumer: ConsumerModel,
  isUndone: boolean,
  events: Parameters<typeof freeRefs>[1],
): Pick<RunEnd, "consumed" | "released"> {
  const { run } = consumer.kept;
  if (run === null) return { consumed: NO_REFS, released: freeRefs(consumer, events) };
  return { consumed: NO_REFS, released: isUndone ? run.reservations : NO_REFS };
}

function closed(isUndone: boolean): ConsumerPatch {
  return isUndone ? { run: null } : {};
}

function stateOf({ state }: { readonly state?: string | undefined }): ConsumerPatch {
  return state === undefined ? {} : { state };
}

function notReleasable(consumer: ConsumerModel, key: string, { kind }: RunMutation): EventError {
  return new EventError(
    "NO_INTENT",
    `The run ${quote(key)} of ${named(consumer)} cannot end like this: its change is ${quote(kind)}.`,
  );
}

/** How many events the consumer can reserve afterwards. */
function freeAfter(consumer: ConsumerModel, { consumed, released }: RunEnd, plan: PublishPlan): number {
  const isReserved = consumer.kept.run !== null;
  const given = isReserved ? countOf(consumer, released) : 0;
  const taken = isReserved ? 0 : countOf(consumer, consumed);
  return freeCount(consumer) + given - taken + newFor(consumer, plan);
}

function countOf({ subscriptions }: ConsumerModel, refs: EventRefs): number {
  let count = 0;
  for (const [topic, seqs] of refs) {
    const subscription = subscriptions.get(topic);
    if (subscription !== undefined && isOpen(subscription)) count += seqs.length;
  }
  return count;
}

/** Whether the outcome leaves the consumer due at once. */
function isDueAfter(
  consumer: ConsumerModel,
  { examined }: ConsumerClaim,
  outcome: SettledOutcome,
  plan: PublishPlan,
  nowMs: number,
): boolean {
  if (ENDS_SESSION.has(outcome.kind)) return false;
  return (
    outcome.kind !== "nothing" ||
    outcome.wakesAt.getTime() <= nowMs ||
    hasNews(consumer, examined) ||
    isNewsFor(consumer, plan)
  );
}

/** What the next run of the session has seen: it begins after this write. */
function numbersAfter(consumer: ConsumerModel, { numbers }: PublishPlan): [string, number][] {
  return numbersOf(consumer).map(([topic, number]) => [topic, numbers.get(topic) ?? number]);
}

/** What the first call returned, as far as it still holds. */
function repeated(
  model: EventModel,
  consumer: ConsumerModel,
  token: string,
  outcome: SettledOutcome,
  nowMs: number,
): SettlePlan {
  const published = publishedBy(outcome).flatMap(({ topic, id }): Publication[] => {
    const seq = model.topics.get(topic)?.seqs.get(id) ?? model.consumed.find(topic, id);
    return seq === undefined ? [] : [{ seq, isNew: false }];
  });
  const isEnded = consumer.kept.claim?.token !== token;
  const due = dueUnclaimed(consumer);
  const isDue = typeof due !== "string" && due.dueMs <= nowMs;
  const goesOn = isDue && !isEnded && !ENDS_SESSION.has(outcome.kind);
  return {
    facts: [],
    answer: { result: "settled", goesOn, isEnded, pendingCount: freeCount(consumer), published },
  };
}
