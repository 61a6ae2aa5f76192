/**
 * What becomes of a run whose process died, and of one that a person decides about? Pure. A run without an intent gives
 * its events back; one whose change may have been made keeps them until the consumer itself or a person knows.
 */
import { quote } from "../../errors.js";
import { interruptionWaitMs } from "../claim-rules.js";
import { EventError } from "./errors.js";
import type {
  ConsumerClaim,
  ConsumerPatch,
  ConsumerRun,
  EventRefs,
  EndedRun,
  MovedFact,
} from "./event-facts.js";
import {
  type ConsumerModel,
  type EventModel,
  isSuspended,
  NEW_CONSUMER,
  openSubscriptions,
} from "./event-model.js";
import type { Resolution } from "./event-store.js";
import { keeping, keyOf, named } from "./session-rules.js";

const INTERRUPTED = "interrupted: the process that ran the session ended";

/** What a claim leaves whose process died, or whose lease ended. */
export function interruptSession(
  consumer: ConsumerModel,
  claim: ConsumerClaim,
  nowMs: number,
  error: string = INTERRUPTED,
): MovedFact {
  const { run, interruptions, retry } = consumer.kept;
  const isUndone = run?.mutation.kind === "none";
  const isUnknown = run?.mutation.kind === "intended" && !consumer.canReconcile;
  const times = interruptions + 1;
  const waitMs = interruptionWaitMs(times);
  const tries = retry?.tries ?? 0;
  const waits = { at_ms: nowMs + waitMs, tries, error };
  const last: EndedRun = {
    key: run?.key ?? null,
    token: claim.token,
    job_id: claim.job_id,
    begun_ms: claim.begun_ms,
    ended_ms: nowMs,
    outcome: isUnknown ? "suspended" : "interrupted",
    mutation: run?.mutation.kind ?? "none",
    error,
  };
  const set: ConsumerPatch = {
    claim: null,
    sleep: null,
    retry: (waitMs > 0 || tries > 0) && !isUnknown ? waits : null,
    interruptions: times,
    last,
  };
  return { fact: "interrupted", ...keyOf(consumer), ...leftRun(run, isUndone, isUnknown, set, claim.job_id) };
}

function leftRun(
  run: ConsumerRun | null,
  isUndone: boolean,
  isUnknown: boolean,
  set: ConsumerPatch,
  jobId: string,
): Pick<MovedFact, "released" | "keeps" | "set"> {
  if (run === null) return { set };
  if (isUndone) return { released: run.reservations, set: { ...set, run: null } };
  if (!isUnknown) return { ...keeping(run), set };
  return { ...keeping(run), set: { ...set, mutation: { kind: "suspended" }, job_id: jobId } };
}

export interface RecoverOptions {
  readonly nowMs: number;
  /**
   * Whether facts are missing that were decided before. A session may then have reserved events that look free: it is
   * suspended with all of them.
   * @default false
   */
  readonly isDamaged?: boolean | undefined;
}

/** What a process that takes the model over decides first, of each consumer; the claims in it are held by no process. */
export function recoverConsumer(
  consumer: ConsumerModel,
  { nowMs, isDamaged = false }: RecoverOptions,
): readonly MovedFact[] {
  const { claim, run, unsettled } = consumer.kept;
  if (isDamaged && claim !== null && run === null) {
    const suspended = suspendAll(consumer, claim, nowMs);
    if (suspended !== undefined) return [suspended];
  }
  if (claim !== null) return [interruptSession(consumer, claim, nowMs)];
  if (run !== null && (run.mutation.kind === "none" || cannotAsk(consumer, run)))
    return [leaveUnclaimed(consumer, run)];
  const [lost, ...rest] = unsettled;
  return run === null && lost !== undefined ? [takeUp(consumer, lost, rest)] : [];
}

function cannotAsk({ canReconcile }: ConsumerModel, { mutation }: ConsumerRun): boolean {
  return mutation.kind === "intended" && !canReconcile;
}

/** What a run with an intent becomes when its consumer can no longer find out what came of it. */
export function suspendUnknown(consumer: ConsumerModel, canReconcile: boolean): MovedFact | undefined {
  const { claim, run } = consumer.kept;
  if (claim !== null || run?.mutation.kind !== "intended" || canReconcile) return undefined;
  return {
    fact: "interrupted",
    ...keyOf(consumer),
    ...keeping(run),
    set: { mutation: { kind: "suspended" }, retry: null },
  };
}

/** An open run without a claim: the fact that began its session is missing. */
function leaveUnclaimed(consumer: ConsumerModel, run: ConsumerRun): MovedFact {
  const isUndone = run.mutation.kind === "none";
  return {
    fact: "interrupted",
    ...keyOf(consumer),
    ...leftRun(run, isUndone, !isUndone, { sleep: null, retry: null }, run.job_id),
  };
}

function suspendAll(consumer: ConsumerModel, claim: ConsumerClaim, nowMs: number): MovedFact | undefined {
  const reservations = Array.from(openSubscriptions(consumer), ({ topic, pending }) => {
    const free = [...pending].filter(([, { run }]) => run === null);
    return [topic.name, free.map(([seq]) => seq)] as const;
  }).filter(([, seqs]) => seqs.length > 0);
  if (reservations.length === 0) return undefined;
  const error = "a damaged line may have held what the run reserved";
  const { set, ...fact } = interruptSession(consumer, claim, nowMs, error);
  const run: ConsumerRun = { ...UNKNOWN_RUN, key: `lost-${claim.token}`, reservations, job_id: claim.job_id };
  return { ...fact, set: { ...set, retry: null, run } };
}

const UNKNOWN_RUN = {
  prepared: "null",
  title: null,
  mutation: { kind: "suspended" },
  reserved_ms: 0,
} as const satisfies Partial<ConsumerRun>;

/** A run whose end was lost comes before a person, with the events that no later run has reserved. */
function takeUp(consumer: ConsumerModel, lost: ConsumerRun, unsettled: readonly ConsumerRun[]): MovedFact {
  const reservations = heldBy(consumer, lost);
  const fact = { fact: "interrupted", ...keyOf(consumer) } as const;
  if (lost.mutation.kind === "none" || reservations.length === 0)
    return { ...fact, released: reservations, set: { unsettled } };
  const mutation = { kind: "suspended" } as const;
  return { ...fact, set: { unsettled, run: { ...lost, reservations, mutation } } };
}

function heldBy({ subscriptions }: ConsumerModel, { key, reservations }: ConsumerRun): EventRefs {
  return reservations
    .map(([topic, seqs]) => {
      const pending = subscriptions.get(topic)?.pending;
      return [topic, seqs.filter((seq) => pending?.get(seq)?.run === key)] as const;
    })
    .filter(([, seqs]) => seqs.length > 0);
}

/** The consumer whose suspended run the job left. Throws NOT_SUSPENDED. */
export function suspendedBy({ consumers }: EventModel, jobId: string): ConsumerModel {
  for (const consumer of consumers.values()) {
    const { run } = consumer.kept;
    if (isSuspended(run) && run?.job_id === jobId) return consumer;
  }
  throw new EventError("NOT_SUSPENDED", `${quote(jobId)} left no run that waits for a decision.`);
}

/** Carries a person's decision about a suspended run out. */
export function resolveRun(consumer: ConsumerModel, resolution: Resolution): MovedFact {
  const { run } = consumer.kept;
  if (run === null || !isSuspended(run))
    throw new EventError("NOT_SUSPENDED", `${named(consumer)} has no run that waits for a decision.`);
  const fact = {
    fact: "resolved",
    ...keyOf(consumer),
    ...(resolution.note === undefined ? {} : { note: resolution.note }),
  } as const;
  const again: ConsumerPatch = { sleep: null, retry: null, interruptions: NEW_CONSUMER.interruptions };
  switch (resolution.kind) {
    case "not-applied":
      return { ...fact, released: run.reservations, set: { ...again, run: null } };
    case "skip":
      return { ...fact, ...keeping(run), set: { ...again, mutation: { kind: "skipped" } } };
    case "applied": {
      const mutation = { kind: "applied", result: resolution.result } as const;
      return { ...fact, ...keeping(run), set: { ...again, mutation } };
    }
    case "reconcile":
      break;
  }
  if (!consumer.canReconcile)
    throw new EventError(
      "CANNOT_RECONCILE",
      `${named(consumer)} has no reconcile: resolve its run as applied, not-applied or skip.`,
    );
  return { ...fact, ...keeping(run), set: { ...again, mutation: { kind: "intended" } } };
}

/** Ends the sleep of a consumer. `undefined` where it is awake. A retry keeps its time. */
export function wakeConsumer(consumer: ConsumerModel): MovedFact | undefined {
  if (consumer.kept.sleep === null) return undefined;
  return { fact: "woken", ...keyOf(consumer), ...keeping(consumer.kept.run), set: { sleep: null } };
}
