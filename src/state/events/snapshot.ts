/** An event model as one JSON value, and back: what a journal keeps instead of all facts before it. */
import type { ScheduleKey } from "../store.js";
import type { ConsumerState, StoredEvent } from "./event-facts.js";
import {
  type ConsumedEvents,
  emptyModel,
  type EventModel,
  NEW_CONSUMER,
  type PendingEntry,
  type Subscription,
} from "./event-model.js";

/** All of a model but the consumed events. */
export interface EventSnapshot {
  readonly topics: readonly TopicSnapshot[];
  readonly consumers: readonly ConsumerSnapshot[];
  readonly producers: readonly (ScheduleKey & {
    readonly is_defined: boolean;
    readonly state: string | null;
  })[];
}

export interface TopicSnapshot {
  readonly topic: string;
  readonly is_defined: boolean;
  readonly retention_ms: number;
  readonly number: number;
  /** The events that are pending. */
  readonly events: readonly StoredEvent[];
}

export interface ConsumerSnapshot extends ScheduleKey {
  readonly is_defined: boolean;
  readonly can_reconcile: boolean;
  readonly kept: ConsumerState;
  readonly subscriptions: readonly SubscriptionSnapshot[];
}

export interface SubscriptionSnapshot {
  readonly topic: string;
  readonly news: number;
  readonly removed_ms: number | null;
  /** Event number, attempt, and the run that has reserved the event. */
  readonly pending: readonly (readonly [seq: number, attempt: number, run: string | null])[];
}

export function snapshotOf(model: EventModel): EventSnapshot {
  return {
    topics: Array.from(model.topics.values(), ({ name, isDefined, retentionMs, number, events }) => ({
      topic: name,
      is_defined: isDefined,
      retention_ms: retentionMs,
      number,
      events: Array.from(events.values(), ({ seq, id, payload, publishedMs }) => ({
        seq,
        id,
        payload,
        published_ms: publishedMs,
      })),
    })),
    consumers: Array.from(
      model.consumers.values(),
      ({ agent, schedule, isDefined, canReconcile, kept, subscriptions }) => ({
        agent,
        schedule,
        is_defined: isDefined,
        can_reconcile: canReconcile,
        kept,
        subscriptions: Array.from(subscriptions.values(), subscriptionSnapshot),
      }),
    ),
    producers: Array.from(model.producers.values(), ({ agent, schedule, isDefined, state }) => ({
      agent,
      schedule,
      is_defined: isDefined,
      state,
    })),
  };
}

function subscriptionSnapshot({ topic, news, removedMs, pending }: Subscription): SubscriptionSnapshot {
  return {
    topic: topic.name,
    news,
    removed_ms: removedMs,
    pending: Array.from(pending, ([seq, { attempt, run }]) => [seq, attempt, run] as const),
  };
}

/** The model that the snapshot was made of. A snapshot of an earlier version lacks keys that were added later. */
export function modelOf(snapshot: EventSnapshot, consumed: ConsumedEvents): EventModel {
  const model = emptyModel(consumed);
  for (const { topic, is_defined, retention_ms, number, events } of snapshot.topics)
    model.topics.set(topic, {
      name: topic,
      isDefined: is_defined,
      retentionMs: retention_ms,
      number,
      events: new Map(
        events.map(({ seq, id, payload, published_ms }) => [
          seq,
          { seq, id, payload, publishedMs: published_ms, pendingCount: 0 },
        ]),
      ),
      seqs: new Map(events.map(({ id, seq }) => [id, seq])),
      subscriptions: new Set(),
    });
  for (const consumer of snapshot.consumers) addConsumer(model, consumer);
  for (const { agent, schedule, is_defined, state } of snapshot.producers)
    model.producers.set({ agent, schedule }, { agent, schedule, isDefined: is_defined, state });
  return model;
}

function addConsumer(
  { topics, consumers }: EventModel,
  { agent, schedule, is_defined, can_reconcile, kept, subscriptions }: ConsumerSnapshot,
): void {
  const consumer = {
    agent,
    schedule,
    isDefined: is_defined,
    canReconcile: can_reconcile,
    subscriptions: new Map<string, Subscription>(),
    kept: { ...NEW_CONSUMER, ...kept },
  };
  consumers.set(consumer, consumer);
  for (const { topic: name, news, removed_ms, pending } of subscriptions) {
    const topic = topics.get(name);
    if (topic === undefined) continue;
    const entries = new Map<number, PendingEntry>();
    let reservedCount = 0;
    for (const [seq, attempt, run] of pending) {
      const event = topic.events.get(seq);
      if (event === undefined) continue;
      event.pendingCount++;
      if (run !== null) reservedCount++;
      entries.set(seq, { attempt, run });
    }
    const subscription = { consumer, topic, news, removedMs: removed_ms, pending: entries, reservedCount };
    consumer.subscriptions.set(name, subscription);
    topic.subscriptions.add(subscription);
  }
}
