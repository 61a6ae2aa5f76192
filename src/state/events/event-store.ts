/**
 * The EventStore contract: what any keeper of topics, events and consumers guarantees. Each call that writes is one
 * decision, durable when it resolves, whole or not made. Payloads, states and results are JSON texts.
 * Which agents may run, and what a handler does, is decided elsewhere.
 */
import type { ScheduleKey } from "../store.js";
import type { ConsumerRun, EventRefs, EndedRun, RunMutation } from "./event-facts.js";

/** A durable stream of events, named as a whole: `orders`, or `mail/received` of the agent `mail`. */
export interface TopicDefinition {
  readonly topic: string;
  /** How long consumed events are kept, in milliseconds. @default 30 days */
  readonly retentionMs?: number | undefined;
}

/** A topic that a consumer gets events of. */
export interface SubscriptionDefinition {
  readonly topic: string;
  /** What a new subscription begins with: events that are published from now on, or all that are kept. @default "now" */
  readonly from?: "now" | "start" | undefined;
}

/** A schedule that is due when events are pending for it. */
export interface ConsumerDefinition extends ScheduleKey {
  readonly subscribes: readonly SubscriptionDefinition[];
  /** Whether it can find out by itself what became of a change whose run was interrupted. @default false */
  readonly canReconcile?: boolean | undefined;
}

/** All topics, consumers and producers; what is not listed is defined no longer. */
export interface EventDefinitions {
  readonly topics: readonly TopicDefinition[];
  readonly consumers: readonly ConsumerDefinition[];
  readonly producers: readonly ScheduleKey[];
}

/** An event to publish. */
export interface NewEvent {
  readonly topic: string;
  readonly id: string;
  /** A JSON text (`payloadText`). */
  readonly payload: string;
}

/** What became of a published event. */
export interface Publication {
  readonly seq: number;
  /** `false`: the id was known, and its event has the new payload. */
  readonly isNew: boolean;
}

/** An event as a consumer sees it. */
export interface PendingEvent extends NewEvent {
  readonly seq: number;
  readonly publishedAt: Date;
  /** Rises each time a run gave the event back. */
  readonly attempt: number;
  /** Whether the consumer's open run has reserved it. */
  readonly isReserved: boolean;
}

/** An event that is kept, with the consumers that it is pending for. */
export interface KeptEvent extends NewEvent {
  readonly seq: number;
  readonly publishedAt: Date;
  readonly pendingFor: readonly ScheduleKey[];
}

/** Identifies the claim of a session. */
export interface SessionToken extends ScheduleKey {
  readonly token: string;
}

/** A session to begin. */
export interface SessionRequest extends SessionToken {
  readonly jobId: string;
  /** Whether a caller asked for it: neither sleep nor a retry's time holds it back. @default false */
  readonly isManual?: boolean | undefined;
}

/** Where a run begins: `reconcile` and the two after it continue an open run. */
export type SessionPhase = "prepare" | "reconcile" | "next";

/** A session that has begun. */
export interface Session extends SessionToken {
  readonly jobId: string;
  /** Its place in the line before the agent: when its oldest pending event was published. */
  readonly slot: Date;
  readonly phase: SessionPhase;
  /** The open run that it continues. */
  readonly run: ConsumerRun | undefined;
  /** The handler's state. */
  readonly state: string | undefined;
  /** How many events it could reserve. */
  readonly pendingCount: number;
  /** How many tries in a row ended in a transient error. */
  readonly tries: number;
}

/** Why a consumer is not due. */
export type NotDue = "undefined" | "running" | "suspended" | "no_work";

/** Why a session does not begin. */
export type SessionRefusal = NotDue | "not_due";

/** When a consumer is due, and its place in the line. */
export interface DueConsumer {
  /** 0: at once. */
  readonly dueMs: number;
  readonly slotMs: number;
}

/** Events that a run takes, by topic. */
export interface EventIds {
  readonly topic: string;
  readonly ids: readonly string[];
}

/** What a run takes before it changes anything. */
export interface Reservation {
  /** Names the run; the idempotency key of its change. */
  readonly key: string;
  readonly events: readonly EventIds[];
  /** What the later phases need. */
  readonly prepared: string;
  readonly title?: string | undefined;
  /** Whether the run will change something outside: then the same write says so. */
  readonly isIntent: boolean;
}

/** What a run's change came to. */
export type MutationNote = Extract<RunMutation, { kind: "applied" | "none" }>;

/** What a run that commits leaves. */
interface Commit {
  readonly publish?: readonly NewEvent[] | undefined;
  /** Replaces the handler's state; absent: it stays. */
  readonly state?: string | undefined;
}

/** How a run ended. */
export type SettledOutcome =
  /** It took events: those of its reservation, or those that a handler names. */
  | (Commit & { readonly kind: "committed"; readonly events?: readonly EventIds[] | undefined })
  /** It took none, and sleeps until news or this time. */
  | (Commit & { readonly kind: "nothing"; readonly wakesAt: Date; readonly wakes: "asked" | "timeout" })
  /** Tried again at this time. `events`: those that a handler had taken. */
  | {
      readonly kind: "transient";
      readonly retryAt: Date;
      readonly error: string;
      readonly events?: readonly EventIds[] | undefined;
    }
  | { readonly kind: "failed"; readonly error: string; readonly events?: readonly EventIds[] | undefined }
  /** What became of its change is unknown. */
  | { readonly kind: "suspended"; readonly error: string }
  /** Its change was not made: its events are pending again, at once. */
  | { readonly kind: "released" }
  /** There was no run since the last one was settled. */
  | { readonly kind: "unused" };

/** The end of a run. */
export interface Settlement {
  /** The run's key, or one drawn for this run: a repeated call with it returns what the first did. */
  readonly key: string;
  readonly outcome: SettledOutcome;
  /** Takes the intent back by the same write: the change was surely not made. */
  readonly mutation?: "none" | undefined;
  /** Whether the claim ends: `idle` ends it unless the session may go on. */
  readonly ends: "session" | "idle" | "run";
}

/** The answer to a settle. */
export type Settled =
  | {
      readonly result: "settled";
      /** Whether the next run of the session may begin. */
      readonly goesOn: boolean;
      /** Whether the claim has ended. */
      readonly isEnded: boolean;
      readonly pendingCount: number;
      readonly published: readonly Publication[];
    }
  /** The claim is held no longer; nothing was changed. */
  | { readonly result: "superseded" };

/** What a producer's handler leaves: all of it is written, or nothing. */
export interface Production extends ScheduleKey {
  readonly publish: readonly NewEvent[];
  /** Replaces the handler's state; absent: it stays. */
  readonly state?: string | undefined;
}

/** What a person decides about a suspended run. */
export type Resolution = {
  readonly note?: string | undefined;
} & (
  | { readonly kind: "not-applied" | "skip" | "reconcile" }
  | { readonly kind: "applied"; readonly result: string }
);

export interface PruneOptions {
  /** Whether removed subscriptions lose their pending events at once, and not after 30 days. @default false */
  readonly isAsked?: boolean | undefined;
}

/** How much was removed. */
export interface Pruned {
  readonly topics: readonly string[];
  readonly subscriptions: readonly (ScheduleKey & {
    readonly topic: string;
    readonly pendingCount: number;
  })[];
}

export interface PeekOptions {
  /** @default all topics of the consumer */
  readonly topic?: string | undefined;
  readonly limit: number;
}

export interface ListOptions {
  /** Only events with larger numbers. @default 0 */
  readonly afterSeq?: number | undefined;
  readonly limit: number;
  /** Whether the newest come first. @default false */
  readonly isNewestFirst?: boolean | undefined;
}

/** A consumer's place in a topic. */
export interface SubscriptionStatus extends ScheduleKey {
  readonly pendingCount: number;
  readonly reservedCount: number;
  readonly oldestPendingAt: Date | undefined;
  /** Since when it gets no more events. */
  readonly removedAt: Date | undefined;
}

export interface TopicStatus {
  readonly topic: string;
  readonly isDefined: boolean;
  /** The number that was drawn last. */
  readonly number: number;
  /** How many events are pending for at least one subscription. */
  readonly depth: number;
  readonly oldestPendingAt: Date | undefined;
  readonly subscriptions: readonly SubscriptionStatus[];
}

/** What a consumer does; `idle`: nothing is pending for it. */
export type ConsumerActivity = "idle" | "ready" | "sleeping" | "waiting" | "running" | "suspended";

export interface ConsumerStatus extends ScheduleKey {
  readonly isDefined: boolean;
  readonly activity: ConsumerActivity;
  /** How many events it could reserve. */
  readonly pendingCount: number;
  readonly oldestPendingAt: Date | undefined;
  /** When it is due without news; absent where it is not waiting for a time. */
  readonly wakesAt: Date | undefined;
  /** The topics whose news wake it. */
  readonly wakesOn: readonly string[];
  readonly tries: number;
  readonly run: ConsumerRun | undefined;
  readonly last: EndedRun | undefined;
  readonly state: string | undefined;
  /** Events that stay reserved because the end of their run was lost. */
  readonly unsettled: readonly EventRefs[];
}

export interface EventStore {
  /** Replaces all definitions. What is defined as before keeps its state and its plan. */
  define(definitions: EventDefinitions): Promise<void>;
  /** Publishes all events or none. Rejects for an unknown topic, id or payload that cannot be kept. */
  publish(events: readonly NewEvent[]): Promise<readonly Publication[]>;
  /** What the consumer could reserve, oldest first. */
  peek(consumer: ScheduleKey, options: PeekOptions): Promise<readonly PendingEvent[]>;
  /** Of these events, the ones that are pending for the consumer, also those that its run has reserved. */
  get(consumer: ScheduleKey, events: EventIds): Promise<readonly PendingEvent[]>;
  /** How many events the consumer could reserve, by topic. */
  counts(consumer: ScheduleKey): Promise<ReadonlyMap<string, number>>;
  /** Claims a consumer that is due, and reads the numbers of its topics. Idempotent by token. */
  begin(request: SessionRequest): Promise<Session | SessionRefusal>;
  /** Extends a claim by a whole lease; `false` when it is no longer held. */
  renew(claim: SessionToken): Promise<boolean>;
  /** Reserves all the events or none (EVENTS_NOT_PENDING), and notes the intent, in one write. Idempotent by key. */
  reserve(claim: SessionToken, reservation: Reservation): Promise<"reserved" | "superseded">;
  /** Notes what the run's change came to. Idempotent. */
  noteMutation(claim: SessionToken, mutation: MutationNote): Promise<"noted" | "superseded">;
  /** Ends a run: all that it leaves is one write. Idempotent by the run's key and the token. */
  settle(claim: SessionToken, settlement: Settlement): Promise<Settled>;
  /** Writes what a producer's handler left. Whether its job still holds its claim is checked by the caller. */
  produce(production: Production): Promise<readonly Publication[]>;
  /** What the producer's handler returned last. */
  producerState(producer: ScheduleKey): Promise<string | undefined>;
  /** Carries a person's decision about a suspended run out, and returns its consumer. */
  resolve(jobId: string, resolution: Resolution): Promise<ScheduleKey>;
  /** Ends the sleep of an agent's consumers. */
  wake(agent: string): Promise<void>;
  /** Removes consumed events past the retention of their topic, and what removed consumers have left. */
  prune(options?: PruneOptions): Promise<Pruned>;
  /** The kept events of a topic, oldest first. */
  list(topic: string, options: ListOptions): Promise<readonly KeptEvent[]>;
  topics(): Promise<readonly TopicStatus[]>;
  /** The consumers of all agents, or of one. */
  consumers(agent?: string): Promise<readonly ConsumerStatus[]>;
  /** Calls back with consumers that an event may have woken. Only makes it faster: being due is in the store. */
  onPublished(listener: (consumers: readonly ScheduleKey[]) => void): () => void;
}
