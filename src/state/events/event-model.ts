/**
 * All that a store with one owner knows of events, in memory: topics, subscriptions with what is pending for them, and
 * consumers. Rules read it; only `applyFact` changes it. An event is in it while it is pending for a subscription.
 */
import { UNIT_MS } from "../../duration.js";
import { ScheduleMap } from "../schedule-map.js";
import type { ScheduleKey } from "../store.js";
import type { ConsumerRun, ConsumerState, StoredEvent, TopicNumbers } from "./event-facts.js";

/**
 * The kept events that are pending for no subscription. Rules ask it whether an id is known; where the events are is up
 * to the store.
 */
export interface ConsumedEvents {
  /** The number of the event with this id. */
  find(topic: string, id: string): number | undefined;
  /** Whether the event is known to have this payload. A store that would have to read for it returns `false`. */
  hasPayload(topic: string, seq: number, payload: string): boolean;
  /** The last of the events, by number, before the first that was published at or after the time. */
  lastBefore(topic: string, publishedMs: number): number | undefined;
  add(topic: string, event: StoredEvent): void;
  replace(topic: string, seq: number, payload: string): void;
  /** Removes one that is pending again. */
  remove(topic: string, seq: number): void;
  /** Removes all up to a number. */
  prune(topic: string, through: number): void;
}

/** An event that is pending for at least one subscription. */
export interface LiveEvent {
  readonly seq: number;
  readonly id: string;
  payload: string;
  readonly publishedMs: number;
  /** For how many subscriptions it is pending. */
  pendingCount: number;
}

export interface TopicModel {
  readonly name: string;
  isDefined: boolean;
  retentionMs: number;
  /** The last number drawn. Never goes back. */
  number: number;
  readonly events: Map<number, LiveEvent>;
  readonly seqs: Map<string, number>;
  readonly subscriptions: Set<Subscription>;
}

/** What is pending of an event for one subscription. */
export interface PendingEntry {
  attempt: number;
  /** The key of the run that has reserved it. */
  run: string | null;
}

export interface Subscription {
  readonly consumer: ConsumerModel;
  readonly topic: TopicModel;
  /** The number of the latest change that is worth a look: a new event, or a new payload of one that is pending. */
  news: number;
  /** Since when it gets no more events. */
  removedMs: number | null;
  /** By event number, ascending. */
  readonly pending: Map<number, PendingEntry>;
  reservedCount: number;
}

export interface ConsumerModel extends ScheduleKey {
  isDefined: boolean;
  canReconcile: boolean;
  readonly subscriptions: Map<string, Subscription>;
  kept: ConsumerState;
}

export interface ProducerModel extends ScheduleKey {
  isDefined: boolean;
  state: string | null;
}

export interface EventModel {
  readonly topics: Map<string, TopicModel>;
  readonly consumers: ScheduleMap<ConsumerModel>;
  readonly producers: ScheduleMap<ProducerModel>;
  readonly consumed: ConsumedEvents;
}

/** How long consumed events are kept where a topic does not say. */
export const DEFAULT_RETENTION_MS: number = 30 * UNIT_MS.d;

export function emptyModel(consumed: ConsumedEvents): EventModel {
  return { topics: new Map(), consumers: new ScheduleMap(), producers: new ScheduleMap(), consumed };
}

/** The state of a consumer that never ran. */
export const NEW_CONSUMER: ConsumerState = {
  state: null,
  sleep: null,
  retry: null,
  run: null,
  claim: null,
  last: null,
  interruptions: 0,
  unsettled: [],
};

export function isOpen({ removedMs }: Subscription): boolean {
  return removedMs === null;
}

/** The subscriptions that the consumer is offered events of. */
export function* openSubscriptions({ subscriptions }: ConsumerModel): Iterable<Subscription> {
  for (const subscription of subscriptions.values()) if (isOpen(subscription)) yield subscription;
}

/** How many events the consumer could reserve. */
export function freeCount(consumer: ConsumerModel): number {
  let count = 0;
  for (const { pending, reservedCount } of openSubscriptions(consumer)) count += pending.size - reservedCount;
  return count;
}

/** When the oldest event was published that is pending for the subscriptions, reserved or not. */
export function oldestMs(subscriptions: Iterable<Subscription>): number | undefined {
  let oldest: number | undefined;
  for (const { topic, pending } of subscriptions)
    for (const seq of pending.keys()) {
      const publishedMs = topic.events.get(seq)?.publishedMs ?? Infinity;
      oldest = Math.min(oldest ?? Infinity, publishedMs);
      break;
    }
  return oldest;
}

/** The numbers that a run which begins now has seen. */
export function numbersOf(consumer: ConsumerModel): TopicNumbers {
  return Array.from(openSubscriptions(consumer), ({ topic }) => [topic.name, topic.number] as const);
}

/** Whether a subscription has news beyond the numbers. A topic that is not among them was not looked at. */
export function hasNews(consumer: ConsumerModel, examined: TopicNumbers): boolean {
  const numbers = new Map(examined);
  for (const { topic, news } of openSubscriptions(consumer))
    if (news > (numbers.get(topic.name) ?? 0)) return true;
  return false;
}

/** The run that a session of the consumer has to go on with, unless a person has to decide first. */
export function isSuspended(run: ConsumerRun | null): boolean {
  return run?.mutation.kind === "suspended";
}
