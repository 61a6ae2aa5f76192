/**
 * What a store keeps of events: the parts of the model, and the facts that change it. All of it is plain JSON.
 * A fact says what changed, not why, so that a later version with other rules rebuilds the same model from it.
 * Times are milliseconds since 1970. Payloads, states and results are JSON texts.
 */
import type { ScheduleKey } from "../store.js";

/** One event of a topic. */
export interface StoredEvent {
  /** Its number in the topic. */
  readonly seq: number;
  /** Unique in the topic while the event is kept. */
  readonly id: string;
  readonly payload: string;
  readonly published_ms: number;
}

/** Events by topic: the numbers of each, ascending. */
export type EventRefs = readonly (readonly [topic: string, seqs: readonly number[]])[];

/** The number that each topic of a consumer had when a run began. */
export type TopicNumbers = readonly (readonly [topic: string, number: number])[];

/** How far a run's change of the outside world is. */
export type RunMutation =
  /** There is none: the consumer makes none, or `mutate` made none this time. */
  | { readonly kind: "none" }
  /** It may have happened: the intent is written, the outcome is not. */
  | { readonly kind: "intended" }
  | { readonly kind: "applied"; readonly result: string }
  /** A person decided that it is left out. */
  | { readonly kind: "skipped" }
  /** It may have happened, and only a person can say. */
  | { readonly kind: "suspended" };

/** A run that has reserved events and is not settled. */
export interface ConsumerRun {
  /** Names the run: the idempotency key of its change, the same until the run is settled or released. */
  readonly key: string;
  readonly reservations: EventRefs;
  /** What `prepare` returned for the later phases. */
  readonly prepared: string;
  readonly title: string | null;
  readonly mutation: RunMutation;
  /** The job that worked on it last. */
  readonly job_id: string;
  readonly reserved_ms: number;
}

/** Why a consumer sleeps, and until when. */
export interface ConsumerSleep {
  readonly until_ms: number;
  /** News beyond these numbers end the sleep. */
  readonly examined: TopicNumbers;
  /** Whether the consumer named the time, or the sleep timeout set it. */
  readonly wakes: "asked" | "timeout";
}

/** A consumer that waits after a failed or interrupted try, whatever is published. */
export interface ConsumerRetry {
  readonly at_ms: number;
  /** How many tries in a row ended in a transient error. */
  readonly tries: number;
  readonly error: string;
}

/** The claim of a session: the right to run the consumer. */
export interface ConsumerClaim {
  readonly token: string;
  readonly job_id: string;
  readonly begun_ms: number;
  /** The numbers that were read when the session's present run began. */
  readonly examined: TopicNumbers;
}

/** How a run ended. */
export type RunOutcome =
  | "committed"
  | "nothing"
  | "transient"
  | "failed"
  | "suspended"
  | "released"
  | "interrupted";

/** The last run that ended. */
export interface EndedRun {
  /** Of the run, and of the session that ended it: together they identify a repeated settle. */
  readonly key: string | null;
  readonly token: string;
  readonly job_id: string;
  readonly begun_ms: number;
  readonly ended_ms: number;
  readonly outcome: RunOutcome;
  readonly mutation: RunMutation["kind"];
  readonly error: string | null;
}

/** What is kept of a consumer beside its subscriptions. */
export interface ConsumerState {
  /** What `next`, or the handler, returned last. */
  readonly state: string | null;
  /** `null`: awake. */
  readonly sleep: ConsumerSleep | null;
  readonly retry: ConsumerRetry | null;
  readonly run: ConsumerRun | null;
  readonly claim: ConsumerClaim | null;
  readonly last: EndedRun | null;
  /** How many sessions in a row were interrupted. */
  readonly interruptions: number;
  /** Runs whose end was lost with a damaged line: their events stay reserved until a person decides. */
  readonly unsettled: readonly ConsumerRun[];
}

/** Replaces what it names. The parts of a run and of a claim spare writing the whole again. */
export interface ConsumerPatch extends Partial<ConsumerState> {
  /** The open run's. */
  readonly mutation?: RunMutation;
  /** The open run's. */
  readonly job_id?: string;
  /** The claim's. */
  readonly examined?: TopicNumbers;
}

/** A topic was defined, changed, or is defined no longer. */
export interface TopicFact {
  readonly fact: "topic";
  readonly topic: string;
  readonly is_defined: boolean;
  /** How long consumed events are kept. */
  readonly retention_ms: number;
}

/** A consumer was defined, changed, or is defined no longer. */
export interface ConsumerFact extends ScheduleKey {
  readonly fact: "consumer";
  readonly is_defined: boolean;
  readonly can_reconcile: boolean;
}

/** A producer was defined, or is defined no longer. */
export interface ProducerFact extends ScheduleKey {
  readonly fact: "producer";
  readonly is_defined: boolean;
}

/** A consumer gets the events that are published from now on. */
export interface SubscribedFact extends ScheduleKey {
  readonly fact: "subscribed";
  readonly topic: string;
  /** Of a new subscription: the events that are pending for it from the start. An event that is pending already is its number. */
  readonly events: readonly (StoredEvent | number)[];
}

/** A consumer gets no more events of the topic, and keeps its pending ones. */
export interface UnsubscribedFact extends ScheduleKey {
  readonly fact: "unsubscribed";
  readonly topic: string;
  readonly at_ms: number;
}

/** A new event: pending for every subscription of its topic. */
export interface PublishedFact extends StoredEvent {
  readonly fact: "published";
  readonly topic: string;
}

/** A known event has another payload. */
export interface ReplacedFact {
  readonly fact: "replaced";
  readonly topic: string;
  readonly seq: number;
  readonly payload: string;
  /** Drawn where the event is pending: news for the subscriptions that have not reserved it. */
  readonly number: number | null;
}

/** A session, a run or a person moved a consumer on. */
export interface MovedFact extends ScheduleKey {
  readonly fact: "begun" | "reserved" | "mutated" | "settled" | "interrupted" | "resolved" | "woken";
  /** The events that are pending no longer. */
  readonly consumed?: EventRefs;
  /** The events that were tried: pending again, with another attempt. */
  readonly released?: EventRefs;
  /** The run that stays open. Where the fact that opened it is lost, this one keeps its events reserved. */
  readonly keeps?: Pick<ConsumerRun, "key" | "reservations">;
  readonly set: ConsumerPatch;
  /** What the person who resolved a run noted. */
  readonly note?: string;
}

/** A producer's handler returned a state. */
export interface ProducedFact extends ScheduleKey {
  readonly fact: "produced";
  readonly state: string;
}

/** Consumed events up to a number are kept no longer. */
export interface PrunedFact {
  readonly fact: "pruned";
  readonly topic: string;
  readonly through: number;
}

/** A removed subscription and its pending events are kept no longer; without a topic, a consumer that is gone. */
export interface DroppedFact extends ScheduleKey {
  readonly fact: "dropped";
  readonly topic: string | null;
}

/** One change of the model. Each may be applied where earlier facts are missing. The facts of one decision are kept together or not at all. */
export type EventFact =
  | TopicFact
  | ConsumerFact
  | ProducerFact
  | SubscribedFact
  | UnsubscribedFact
  | PublishedFact
  | ReplacedFact
  | MovedFact
  | ProducedFact
  | PrunedFact
  | DroppedFact;
