/** What people and programs may see of an event model: topics with their depth, consumers with what they wait for. Pure. */
import { activityOf, wakesAtMs } from "./due-rules.js";
import {
  type ConsumerModel,
  freeCount,
  oldestMs,
  openSubscriptions,
  type Subscription,
  type TopicModel,
} from "./event-model.js";
import type {
  ConsumerStatus,
  EventIds,
  PeekOptions,
  PendingEvent,
  SubscriptionStatus,
  TopicStatus,
} from "./event-store.js";
import { keyOf } from "./session-rules.js";

export function topicStatus({ name, isDefined, number, events, subscriptions }: TopicModel): TopicStatus {
  return {
    topic: name,
    isDefined,
    number,
    depth: events.size,
    oldestPendingAt: dateOf(oldestMs(subscriptions)),
    subscriptions: Array.from(subscriptions, subscriptionStatus),
  };
}

function subscriptionStatus(subscription: Subscription): SubscriptionStatus {
  const { consumer, pending, reservedCount, removedMs } = subscription;
  return {
    ...keyOf(consumer),
    pendingCount: pending.size - reservedCount,
    reservedCount,
    oldestPendingAt: dateOf(oldestMs([subscription])),
    removedAt: dateOf(removedMs ?? undefined),
  };
}

export function consumerStatus(consumer: ConsumerModel, nowMs: number): ConsumerStatus {
  const { isDefined, kept } = consumer;
  const { sleep, retry, run, last, state, unsettled } = kept;
  return {
    ...keyOf(consumer),
    isDefined,
    activity: activityOf(consumer, nowMs),
    pendingCount: freeCount(consumer),
    oldestPendingAt: dateOf(oldestMs(openSubscriptions(consumer))),
    wakesAt: dateOf(wakesAtMs(consumer, nowMs)),
    wakesOn: sleep === null ? [] : Array.from(openSubscriptions(consumer), ({ topic }) => topic.name),
    tries: retry?.tries ?? 0,
    run: run ?? undefined,
    last: last ?? undefined,
    state: state ?? undefined,
    unsettled: unsettled.map(({ reservations }) => reservations),
  };
}

function dateOf(ms: number | undefined): Date | undefined {
  return ms === undefined ? undefined : new Date(ms);
}

/** The events that the consumer could reserve: of each topic in the order of their numbers, the oldest topic first. */
export function peekEvents(consumer: ConsumerModel, { topic, limit }: PeekOptions): readonly PendingEvent[] {
  const lines = Array.from(openSubscriptions(consumer))
    .filter((subscription) => topic === undefined || subscription.topic.name === topic)
    .map((subscription) => ({ events: firstFree(subscription, limit), taken: 0 }));
  const oldestFirst: PendingEvent[] = [];
  while (oldestFirst.length < limit) {
    let first: (typeof lines)[number] | undefined;
    for (const line of lines) if (headMs(line) < headMs(first)) first = line;
    const event = first?.events[first.taken];
    if (first === undefined || event === undefined) break;
    oldestFirst.push(event);
    first.taken++;
  }
  return oldestFirst;
}

function headMs(
  line: { readonly events: readonly PendingEvent[]; readonly taken: number } | undefined,
): number {
  return line?.events[line.taken]?.publishedAt.getTime() ?? Infinity;
}

function firstFree(subscription: Subscription, limit: number): readonly PendingEvent[] {
  const events: PendingEvent[] = [];
  for (const [seq, { run }] of subscription.pending) {
    if (events.length >= limit) break;
    const event = run === null ? pendingEvent(subscription, seq) : undefined;
    if (event !== undefined) events.push(event);
  }
  return events;
}

/** Of the events with these ids, the ones that are pending for the consumer or reserved by its run. */
export function getEvents(
  { subscriptions }: ConsumerModel,
  { topic, ids }: EventIds,
): readonly PendingEvent[] {
  const subscription = subscriptions.get(topic);
  if (subscription === undefined) return [];
  return ids.flatMap((id) => {
    const seq = subscription.topic.seqs.get(id);
    return (seq === undefined ? undefined : pendingEvent(subscription, seq)) ?? [];
  });
}

function pendingEvent({ topic, pending }: Subscription, seq: number): PendingEvent | undefined {
  const event = topic.events.get(seq);
  const entry = pending.get(seq);
  if (event === undefined || entry === undefined) return undefined;
  return {
    topic: topic.name,
    seq,
    id: event.id,
    payload: event.payload,
    publishedAt: new Date(event.publishedMs),
    attempt: entry.attempt,
    isReserved: entry.run !== null,
  };
}
