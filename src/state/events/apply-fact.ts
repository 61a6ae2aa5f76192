/**
 * The only code that changes an event model: a store that keeps facts rebuilds the model by applying them in order. Where
 * a damaged line has cost earlier facts, what does not fit is left out, and a run that may have changed the outside
 * world keeps its events.
 */
import { mergedFields } from "../../fields.js";
import type { ScheduleKey } from "../store.js";
import type {
  ConsumerPatch,
  ConsumerRun,
  ConsumerState,
  EventFact,
  EventRefs,
  MovedFact,
  StoredEvent,
} from "./event-facts.js";
import {
  type ConsumerModel,
  DEFAULT_RETENTION_MS,
  type EventModel,
  isOpen,
  NEW_CONSUMER,
  type PendingEntry,
  type Subscription,
  type TopicModel,
} from "./event-model.js";

export function applyFacts(model: EventModel, facts: readonly EventFact[]): void {
  for (const fact of facts) applyFact(model, fact);
}

export function applyFact(model: EventModel, fact: EventFact): void {
  switch (fact.fact) {
    case "topic":
      Object.assign(topicOf(model, fact.topic), {
        isDefined: fact.is_defined,
        retentionMs: fact.retention_ms,
      });
      break;
    case "consumer":
      Object.assign(consumerOf(model, fact), {
        isDefined: fact.is_defined,
        canReconcile: fact.can_reconcile,
      });
      break;
    case "producer":
      model.producers.set(fact, {
        ...keyOf(fact),
        isDefined: fact.is_defined,
        state: model.producers.get(fact)?.state ?? null,
      });
      break;
    case "subscribed":
      subscribe(model, subscriptionOf(model, fact, fact.topic), fact.events);
      break;
    case "unsubscribed":
      subscriptionOf(model, fact, fact.topic).removedMs = fact.at_ms;
      break;
    case "published":
      publish(model, topicOf(model, fact.topic), fact);
      break;
    case "replaced":
      replace(model, topicOf(model, fact.topic), fact.seq, fact.payload, fact.number);
      break;
    case "begun":
    case "reserved":
    case "mutated":
    case "settled":
    case "interrupted":
    case "resolved":
    case "woken":
      move(model, consumerOf(model, fact), fact);
      break;
    case "produced":
      model.producers.set(fact, {
        isDefined: true,
        ...model.producers.get(fact),
        ...keyOf(fact),
        state: fact.state,
      });
      break;
    case "pruned":
      model.consumed.prune(fact.topic, fact.through);
      break;
    case "dropped":
      drop(model, fact, fact.topic);
      break;
  }
}

function subscribe(
  model: EventModel,
  subscription: Subscription,
  events: readonly (StoredEvent | number)[],
): void {
  const { topic } = subscription;
  subscription.removedMs = null;
  for (const event of events) {
    if (typeof event === "number") addPending(subscription, event);
    else {
      // Consumed by every earlier subscription, and pending again for one that came later.
      model.consumed.remove(topic.name, event.seq);
      addLive(topic, event);
      addPending(subscription, event.seq);
    }
  }
}

function publish(
  model: EventModel,
  topic: TopicModel,
  { seq, id, payload, published_ms }: StoredEvent,
): void {
  const event = { seq, id, payload, published_ms };
  topic.number = Math.max(topic.number, seq);
  const open = [...topic.subscriptions].filter(isOpen);
  if (open.length === 0) {
    model.consumed.add(topic.name, event);
    return;
  }
  addLive(topic, event);
  for (const subscription of open) {
    addPending(subscription, seq);
    subscription.news = seq;
  }
}

function addLive({ events, seqs }: TopicModel, { seq, id, payload, published_ms }: StoredEvent): void {
  if (events.has(seq)) return;
  events.set(seq, { seq, id, payload, publishedMs: published_ms, pendingCount: 0 });
  seqs.set(id, seq);
}

function addPending({ topic, pending }: Subscription, seq: number): void {
  const event = topic.events.get(seq);
  if (event === undefined || pending.has(seq)) return;
  event.pendingCount++;
  pending.set(seq, { attempt: 1, run: null });
}

function replace(
  model: EventModel,
  topic: TopicModel,
  seq: number,
  payload: string,
  number: number | null,
): void {
  const event = topic.events.get(seq);
  if (event === undefined) model.consumed.replace(topic.name, seq, payload);
  else event.payload = payload;
  if (number === null) return;
  topic.number = Math.max(topic.number, number);
  for (const subscription of topic.subscriptions)
    if (subscription.pending.get(seq)?.run === null) subscription.news = number;
}

function move(model: EventModel, consumer: ConsumerModel, fact: MovedFact): void {
  const { consumed = [], released = [], keeps, set } = fact;
  for (const [subscription, seq] of entriesOf(consumer, consumed)) removePending(model, subscription, seq);
  for (const [subscription, , entry] of entriesOf(consumer, released)) {
    setRun(subscription, entry, null);
    entry.attempt++;
  }
  const before = consumer.kept.run;
  const kept = patched(consumer.kept, set);
  const run = set.run === undefined ? keptRun(kept, fact) : kept.run;
  if (run !== null && (set.run !== undefined || keeps !== undefined)) reserve(consumer, run);
  const isLeft = before !== null && run?.key !== before.key && holdsEvents(consumer, before);
  const unsettled = isLeft ? [...kept.unsettled, before] : kept.unsettled;
  consumer.kept = { ...kept, run, unsettled };
}

/** The run that a fact leaves open which opens and ends none: as it says, whatever earlier facts are missing. */
function keptRun(kept: ConsumerState, fact: MovedFact): ConsumerRun | null {
  if (fact.keeps === undefined) return null;
  // Where the fact that opened the run is missing, what the later phases need is missing too.
  return kept.run ?? suspendedRun(kept, fact.keeps, fact);
}

/** Whether a run that is open no longer still has events: the fact that ended it is missing. */
function holdsEvents(consumer: ConsumerModel, { key, reservations }: ConsumerRun): boolean {
  for (const [, , { run }] of entriesOf(consumer, reservations)) if (run === key) return true;
  return false;
}

function suspendedRun(
  kept: ConsumerState,
  { key, reservations }: Pick<ConsumerRun, "key" | "reservations">,
  { set }: MovedFact,
): ConsumerRun {
  return {
    key,
    reservations,
    prepared: "null",
    title: null,
    mutation: { kind: "suspended" },
    job_id: set.job_id ?? kept.claim?.job_id ?? kept.last?.job_id ?? "",
    reserved_ms: kept.claim?.begun_ms ?? kept.last?.begun_ms ?? 0,
  };
}

function reserve(consumer: ConsumerModel, { key, reservations }: ConsumerRun): void {
  for (const [subscription, , entry] of entriesOf(consumer, reservations)) setRun(subscription, entry, key);
}

function setRun(subscription: Subscription, entry: PendingEntry, run: string | null): void {
  subscription.reservedCount += Number(run !== null) - Number(entry.run !== null);
  entry.run = run;
}

function patched(kept: ConsumerState, { mutation, job_id, examined, ...set }: ConsumerPatch): ConsumerState {
  const next = mergedFields(mergedFields({}, kept), set);
  const run =
    next.run === null || (mutation === undefined && job_id === undefined)
      ? next.run
      : { ...next.run, mutation: mutation ?? next.run.mutation, job_id: job_id ?? next.run.job_id };
  const claim = next.claim === null || examined === undefined ? next.claim : { ...next.claim, examined };
  return { ...next, run, claim };
}

function* entriesOf(
  consumer: ConsumerModel,
  refs: EventRefs,
): Iterable<readonly [Subscription, number, PendingEntry]> {
  for (const [topic, seqs] of refs) {
    const subscription = consumer.subscriptions.get(topic);
    if (subscription === undefined) continue;
    for (const seq of seqs) {
      const entry = subscription.pending.get(seq);
      if (entry !== undefined) yield [subscription, seq, entry];
    }
  }
}

function removePending(model: EventModel, subscription: Subscription, seq: number): void {
  const { topic, pending } = subscription;
  const entry = pending.get(seq);
  const event = topic.events.get(seq);
  if (entry === undefined || event === undefined) return;
  setRun(subscription, entry, null);
  pending.delete(seq);
  event.pendingCount--;
  if (event.pendingCount > 0) return;
  topic.events.delete(seq);
  topic.seqs.delete(event.id);
  const { id, payload, publishedMs } = event;
  model.consumed.add(topic.name, { seq, id, payload, published_ms: publishedMs });
}

function drop(model: EventModel, key: ScheduleKey, topic: string | null): void {
  if (topic === null) {
    model.consumers.delete(key);
    return;
  }
  const subscription = subscriptionOf(model, key, topic);
  for (const seq of subscription.pending.keys()) removePending(model, subscription, seq);
  subscription.topic.subscriptions.delete(subscription);
  subscription.consumer.subscriptions.delete(topic);
}

function keyOf({ agent, schedule }: ScheduleKey): ScheduleKey {
  return { agent, schedule };
}

/** The topic; a new one where the fact that defined it is missing. */
function topicOf({ topics }: EventModel, name: string): TopicModel {
  const known = topics.get(name);
  if (known !== undefined) return known;
  const topic: TopicModel = {
    name,
    isDefined: true,
    retentionMs: DEFAULT_RETENTION_MS,
    number: 0,
    events: new Map(),
    seqs: new Map(),
    subscriptions: new Set(),
  };
  topics.set(name, topic);
  return topic;
}

function consumerOf({ consumers }: EventModel, key: ScheduleKey): ConsumerModel {
  const known = consumers.get(key);
  if (known !== undefined) return known;
  const consumer: ConsumerModel = {
    ...keyOf(key),
    isDefined: true,
    canReconcile: false,
    subscriptions: new Map(),
    kept: NEW_CONSUMER,
  };
  consumers.set(key, consumer);
  return consumer;
}

function subscriptionOf(model: EventModel, key: ScheduleKey, name: string): Subscription {
  const consumer = consumerOf(model, key);
  const known = consumer.subscriptions.get(name);
  if (known !== undefined) return known;
  const topic = topicOf(model, name);
  const subscription: Subscription = {
    consumer,
    topic,
    news: 0,
    removedMs: null,
    pending: new Map(),
    reservedCount: 0,
  };
  consumer.subscriptions.set(name, subscription);
  topic.subscriptions.add(subscription);
  return subscription;
}
