/**
 * A consumer's session before the end of a run: may it begin, may a run reserve its events, what came of its change?
 * Pure. A call with a claim that is held no longer is `superseded` and changes nothing.
 */
import { quote } from "../../errors.js";
import type { ScheduleKey } from "../store.js";
import { dueOf, phaseOf, slotOf } from "./due-rules.js";
import { EventError } from "./errors.js";
import type { ConsumerRun, EventRefs, MovedFact } from "./event-facts.js";
import { type ConsumerModel, type EventModel, freeCount, isOpen, numbersOf } from "./event-model.js";
import type {
  EventIds,
  MutationNote,
  Reservation,
  Session,
  SessionRefusal,
  SessionRequest,
  SessionToken,
} from "./event-store.js";

/** Claims a consumer. `undefined`: the session with this token has begun already. */
export function beginSession(
  consumer: ConsumerModel,
  { token, jobId, isManual = false }: SessionRequest,
  nowMs: number,
): MovedFact | SessionRefusal | undefined {
  const { claim, run } = consumer.kept;
  if (claim?.token === token) return undefined;
  const due = dueOf(consumer);
  if (typeof due === "string") return due;
  if (!isManual && due.dueMs > nowMs) return "not_due";
  return {
    fact: "begun",
    ...keyOf(consumer),
    ...keeping(run),
    set: { claim: { token, job_id: jobId, begun_ms: nowMs, examined: numbersOf(consumer) } },
  };
}

/** The session as its consumer is now. */
export function sessionOf(consumer: ConsumerModel, { token, jobId }: SessionRequest): Session {
  const { run, state, retry } = consumer.kept;
  return {
    ...keyOf(consumer),
    token,
    jobId,
    slot: new Date(slotOf(consumer)),
    phase: phaseOf(run),
    run: run ?? undefined,
    state: state ?? undefined,
    pendingCount: freeCount(consumer),
    tries: retry?.tries ?? 0,
  };
}

/** Reserves events for a run. `undefined`: this run has reserved them already. */
export function reserveEvents(
  consumer: ConsumerModel,
  claim: SessionToken,
  { key, events, prepared, title, isIntent }: Reservation,
  nowMs: number,
): MovedFact | "superseded" | undefined {
  const { claim: held, run } = consumer.kept;
  if (held === null || held.token !== claim.token) return "superseded";
  if (run?.key === key) return undefined;
  if (run !== null) throw runOpen(consumer, run);
  const reservations = freeRefs(consumer, events);
  if (reservations.length === 0)
    throw new EventError(
      "NOTHING_TAKEN",
      `The run ${quote(key)} of ${named(consumer)} reserves no event: settle it as one that took nothing.`,
    );
  const opened: ConsumerRun = {
    key,
    reservations,
    prepared,
    title: title ?? null,
    mutation: { kind: isIntent ? "intended" : "none" },
    job_id: held.job_id,
    reserved_ms: nowMs,
  };
  return { fact: "reserved", ...keyOf(consumer), set: { run: opened } };
}

/** Notes what the run's change came to. `undefined`: that is noted already. */
export function noteMutation(
  consumer: ConsumerModel,
  claim: SessionToken,
  mutation: MutationNote,
): MovedFact | "superseded" | undefined {
  const { claim: held, run } = consumer.kept;
  if (held?.token !== claim.token) return "superseded";
  if (run !== null && isSameMutation(run, mutation)) return undefined;
  if (run?.mutation.kind !== "intended")
    throw new EventError(
      "NO_INTENT",
      `${named(consumer)} has no run with an intent, so its change cannot be noted as ${mutation.kind}.`,
    );
  return { fact: "mutated", ...keyOf(consumer), ...keeping(run), set: { mutation } };
}

function isSameMutation({ mutation }: ConsumerRun, note: MutationNote): boolean {
  if (mutation.kind === "applied") return note.kind === "applied" && mutation.result === note.result;
  return mutation.kind === note.kind;
}

/** The events that the consumer could reserve, by their ids. Throws EVENTS_NOT_PENDING with all that it could not. */
export function freeRefs(consumer: ConsumerModel, events: readonly EventIds[]): EventRefs {
  const missing: string[] = [];
  const refs = new Map<string, Set<number>>();
  for (const { topic, ids } of events) {
    const subscription = consumer.subscriptions.get(topic);
    const open = subscription !== undefined && isOpen(subscription) ? subscription : undefined;
    for (const id of ids) {
      const seq = open?.topic.seqs.get(id);
      if (open === undefined || seq === undefined || open.pending.get(seq)?.run !== null) missing.push(id);
      else refs.set(topic, (refs.get(topic) ?? new Set()).add(seq));
    }
  }
  if (missing.length > 0) throw notPending(consumer, missing);
  return Array.from(refs, ([topic, seqs]) => [topic, [...seqs].toSorted((a, b) => a - b)] as const);
}

function notPending(consumer: ConsumerModel, missing: readonly string[]): EventError {
  const shown = missing.slice(0, MOST_SHOWN).map(quote).join(", ");
  const rest = missing.length > MOST_SHOWN ? ` and ${missing.length - MOST_SHOWN} more` : "";
  return new EventError(
    "EVENTS_NOT_PENDING",
    `Not pending for ${named(consumer)}: ${shown}${rest}. Reserve only events that peek or get returned.`,
    [...new Set(missing)],
  );
}

const MOST_SHOWN = 10;

/** The consumer with this name. Throws UNKNOWN_CONSUMER. */
export function knownConsumer({ consumers }: EventModel, key: ScheduleKey): ConsumerModel {
  const consumer = consumers.get(key);
  if (consumer !== undefined) return consumer;
  throw new EventError("UNKNOWN_CONSUMER", `Unknown consumer ${named(key)}: define it first.`);
}

export function runOpen(consumer: ScheduleKey, { key }: ConsumerRun): EventError {
  return new EventError("RUN_OPEN", `The run ${quote(key)} of ${named(consumer)} is open: settle it first.`);
}

export function keyOf({ agent, schedule }: ScheduleKey): ScheduleKey {
  return { agent, schedule };
}

/** What a fact says of a run that stays open after it. */
export function keeping(run: ConsumerRun | null): Pick<MovedFact, "keeps"> {
  return run === null ? {} : { keeps: { key: run.key, reservations: run.reservations } };
}

export function named({ agent, schedule }: ScheduleKey): string {
  return `${quote(agent)}/${quote(schedule)}`;
}
