/**
 * What changes when topics and consumers are defined anew, and what may be forgotten? Pure. What is defined as before
 * changes nothing, so that a restart costs no write and keeps every plan.
 */
import { UNIT_MS } from "../../duration.js";
import { quote } from "../../errors.js";
import type { ScheduleKey } from "../store.js";
import { ScheduleMap } from "../schedule-map.js";
import { EventError } from "./errors.js";
import type { DroppedFact, EventFact, PrunedFact, StoredEvent } from "./event-facts.js";
import {
  type ConsumerModel,
  DEFAULT_RETENTION_MS,
  type EventModel,
  isOpen,
  openSubscriptions,
  type Subscription,
} from "./event-model.js";
import type {
  ConsumerDefinition,
  EventDefinitions,
  SubscriptionDefinition,
  TopicDefinition,
} from "./event-store.js";
import { suspendUnknown, wakeConsumer } from "./recovery-rules.js";
import { keyOf, named } from "./session-rules.js";

/** The kept events of topics that are pending for no subscription, oldest first, for subscriptions `from: "start"`. */
export type ReadConsumed = (topic: string) => readonly StoredEvent[];

/** The topics whose consumed events `defineEvents` will need. */
export function topicsFromStart(model: EventModel, { consumers }: EventDefinitions): ReadonlySet<string> {
  const topics = consumers.flatMap((consumer) =>
    consumer.subscribes
      .filter(({ topic, from }) => from === "start" && !isKnown(model, consumer, topic))
      .map(({ topic }) => topic),
  );
  return new Set(topics);
}

function isKnown({ consumers }: EventModel, key: ScheduleKey, topic: string): boolean {
  return consumers.get(key)?.subscriptions.has(topic) === true;
}

/** The facts by which the model comes to what is defined. Throws UNKNOWN_TOPIC for an undeclared topic. */
export function defineEvents(
  model: EventModel,
  definitions: EventDefinitions,
  readConsumed: ReadConsumed,
  nowMs: number,
): readonly EventFact[] {
  const topics = new Map(definitions.topics.map((topic) => [topic.topic, topic]));
  for (const consumer of definitions.consumers)
    for (const { topic } of consumer.subscribes) if (!topics.has(topic)) throw undeclared(consumer, topic);
  return [
    ...topicFacts(model, topics),
    ...consumerFacts(model, definitions.consumers, readConsumed, nowMs),
    ...producerFacts(model, definitions.producers),
  ];
}

function undeclared(consumer: ScheduleKey, topic: string): EventError {
  return new EventError(
    "UNKNOWN_TOPIC",
    `${named(consumer)} subscribes to ${quote(topic)}, which is not declared.`,
  );
}

function topicFacts(model: EventModel, defined: ReadonlyMap<string, TopicDefinition>): readonly EventFact[] {
  const facts: EventFact[] = [];
  for (const { topic, retentionMs = DEFAULT_RETENTION_MS } of defined.values()) {
    const known = model.topics.get(topic);
    if (known?.isDefined !== true || known.retentionMs !== retentionMs)
      facts.push({ fact: "topic", topic, is_defined: true, retention_ms: retentionMs });
  }
  for (const { name, isDefined, retentionMs } of model.topics.values())
    if (isDefined && !defined.has(name))
      facts.push({ fact: "topic", topic: name, is_defined: false, retention_ms: retentionMs });
  return facts;
}

function consumerFacts(
  model: EventModel,
  definitions: readonly ConsumerDefinition[],
  readConsumed: ReadConsumed,
  nowMs: number,
): readonly EventFact[] {
  const defined = new ScheduleMap<ConsumerDefinition>();
  for (const definition of definitions) defined.set(definition, definition);
  const facts = [...defined.values()].flatMap((definition) =>
    definedFacts(model, definition, readConsumed, nowMs),
  );
  for (const consumer of model.consumers.values())
    if (consumer.isDefined && defined.get(consumer) === undefined)
      facts.push(...removedFacts(consumer, nowMs));
  return facts;
}

function definedFacts(
  model: EventModel,
  definition: ConsumerDefinition,
  readConsumed: ReadConsumed,
  nowMs: number,
): readonly EventFact[] {
  const key = keyOf(definition);
  const { subscribes, canReconcile = false } = definition;
  const known = model.consumers.get(key);
  const facts: EventFact[] = [];
  if (known?.isDefined !== true || known.canReconcile !== canReconcile)
    facts.push({ fact: "consumer", ...key, is_defined: true, can_reconcile: canReconcile });
  const added = subscribes.filter(({ topic }) => {
    const subscription = known?.subscriptions.get(topic);
    return subscription === undefined || !isOpen(subscription);
  });
  for (const subscription of added)
    facts.push({
      fact: "subscribed",
      ...key,
      topic: subscription.topic,
      events: isKnown(model, key, subscription.topic) ? [] : startOf(model, subscription, readConsumed),
    });
  if (known === undefined) return facts;
  const topics = new Set(subscribes.map(({ topic }) => topic));
  facts.push(...closedFacts(known, (topic) => !topics.has(topic), nowMs));
  // What it is offered has changed, so the numbers that it slept with say nothing.
  const woken = added.length > 0 || !known.isDefined ? wakeConsumer(known) : undefined;
  const suspended = suspendUnknown(known, canReconcile);
  return [...facts, ...[woken, suspended].filter((fact) => fact !== undefined)];
}

/** What is pending for a new subscription. */
function startOf(
  { topics }: EventModel,
  { topic, from = "now" }: SubscriptionDefinition,
  readConsumed: ReadConsumed,
): readonly (StoredEvent | number)[] {
  if (from === "now") return [];
  const live = [...(topics.get(topic)?.events.keys() ?? [])];
  return [...live, ...readConsumed(topic)].toSorted((a, b) => seqOf(a) - seqOf(b));
}

function seqOf(event: StoredEvent | number): number {
  return typeof event === "number" ? event : event.seq;
}

function removedFacts(consumer: ConsumerModel, nowMs: number): readonly EventFact[] {
  const { canReconcile } = consumer;
  return [
    { fact: "consumer", ...keyOf(consumer), is_defined: false, can_reconcile: canReconcile },
    ...closedFacts(consumer, () => true, nowMs),
  ];
}

function closedFacts(
  consumer: ConsumerModel,
  isRemoved: (topic: string) => boolean,
  nowMs: number,
): readonly EventFact[] {
  const facts: EventFact[] = [];
  for (const { topic } of openSubscriptions(consumer))
    if (isRemoved(topic.name))
      facts.push({ fact: "unsubscribed", ...keyOf(consumer), topic: topic.name, at_ms: nowMs });
  return facts;
}

function producerFacts({ producers }: EventModel, definitions: readonly ScheduleKey[]): readonly EventFact[] {
  const defined = new ScheduleMap<true>();
  const facts: EventFact[] = [];
  for (const key of definitions) {
    if (defined.get(key) === undefined && producers.get(key)?.isDefined !== true)
      facts.push({ fact: "producer", ...keyOf(key), is_defined: true });
    defined.set(key, true);
  }
  for (const producer of producers.values())
    if (producer.isDefined && defined.get(producer) === undefined)
      facts.push({ fact: "producer", ...keyOf(producer), is_defined: false });
  return facts;
}

/** How long the pending events of a removed subscription are kept. */
export const REMOVED_MS: number = 30 * UNIT_MS.d;

/** What may be forgotten now: consumed events past their retention, and what removed consumers have left. */
export function pruneEvents(
  model: EventModel,
  nowMs: number,
  isAsked: boolean,
): readonly (PrunedFact | DroppedFact)[] {
  const facts: (PrunedFact | DroppedFact)[] = [];
  for (const { name, retentionMs } of model.topics.values()) {
    const through = model.consumed.lastBefore(name, nowMs - retentionMs);
    if (through !== undefined) facts.push({ fact: "pruned", topic: name, through });
  }
  for (const consumer of model.consumers.values()) {
    // What a run has in hand is decided by its end.
    if (isBusy(consumer)) continue;
    const subscriptions = [...consumer.subscriptions.values()];
    const gone = subscriptions.filter((subscription) => isForgotten(subscription, nowMs, isAsked));
    for (const { topic } of gone) facts.push({ fact: "dropped", ...keyOf(consumer), topic: topic.name });
    if (!consumer.isDefined && gone.length === subscriptions.length)
      facts.push({ fact: "dropped", ...keyOf(consumer), topic: null });
  }
  return facts;
}

function isBusy({ kept: { claim, run, unsettled } }: ConsumerModel): boolean {
  return claim !== null || run !== null || unsettled.length > 0;
}

function isForgotten({ removedMs }: Subscription, nowMs: number, isAsked: boolean): boolean {
  return removedMs !== null && (isAsked || removedMs + REMOVED_MS <= nowMs);
}
