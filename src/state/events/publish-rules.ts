/** What does publishing change? Pure: draws numbers from the model, and returns the facts and the answers. */
import { quote } from "../../errors.js";
import { EventError } from "./errors.js";
import type { EventFact, PublishedFact, ReplacedFact } from "./event-facts.js";
import { type ConsumerModel, type EventModel, isOpen, type TopicModel } from "./event-model.js";
import type { NewEvent, Publication } from "./event-store.js";

/** Events as they will be published, with what that means for a consumer. */
export interface PublishPlan {
  readonly facts: readonly (PublishedFact | ReplacedFact)[];
  readonly published: readonly Publication[];
  /** The last number drawn, of each topic from which one was. */
  readonly numbers: ReadonlyMap<string, number>;
}

/** Plans to publish all events. An id that comes twice has the later payload. Throws UNKNOWN_TOPIC for one of them. */
export function planPublish(model: EventModel, events: readonly NewEvent[], nowMs: number): PublishPlan {
  const numbers = new Map<string, number>();
  const facts: (PublishedFact | ReplacedFact)[] = [];
  const planned = new Map<string, number>();
  const draw = (topic: TopicModel): number => {
    const number = (numbers.get(topic.name) ?? topic.number) + 1;
    numbers.set(topic.name, number);
    return number;
  };
  const published = events.map(({ topic: name, id, payload }): Publication => {
    const topic = definedTopic(model, name);
    const place = JSON.stringify([name, id]);
    const before = planned.get(place);
    const earlier = before === undefined ? undefined : facts[before];
    if (before !== undefined && earlier !== undefined) {
      facts[before] = { ...earlier, payload };
      return { seq: earlier.seq, isNew: false };
    }
    const known = topic.seqs.get(id) ?? model.consumed.find(name, id);
    if (known !== undefined && isSamePayload(model, topic, known, payload))
      return { seq: known, isNew: false };
    planned.set(place, facts.length);
    if (known === undefined) {
      const seq = draw(topic);
      facts.push({ fact: "published", topic: name, seq, id, payload, published_ms: nowMs });
      return { seq, isNew: true };
    }
    const number = isNews(topic, known) ? draw(topic) : null;
    facts.push({ fact: "replaced", topic: name, seq: known, payload, number });
    return { seq: known, isNew: false };
  });
  return { facts, published, numbers };
}

function definedTopic({ topics }: EventModel, name: string): TopicModel {
  const topic = topics.get(name);
  if (topic?.isDefined === true) return topic;
  throw new EventError(
    "UNKNOWN_TOPIC",
    `Unknown topic ${quote(name)}: declare it before it is published to.`,
  );
}

function isSamePayload(
  { consumed }: EventModel,
  { name, events }: TopicModel,
  seq: number,
  payload: string,
): boolean {
  const event = events.get(seq);
  return event === undefined ? consumed.hasPayload(name, seq, payload) : event.payload === payload;
}

/** Whether a new payload is worth a look: the event is pending for a subscription, and no run has reserved it there. */
function isNews({ subscriptions }: TopicModel, seq: number): boolean {
  for (const { pending } of subscriptions) if (pending.get(seq)?.run === null) return true;
  return false;
}

/** How many of the events will be pending for the consumer. */
export function newFor(consumer: ConsumerModel, { facts }: PublishPlan): number {
  let count = 0;
  for (const { fact, topic } of facts) {
    const subscription = consumer.subscriptions.get(topic);
    if (fact === "published" && subscription !== undefined && isOpen(subscription)) count++;
  }
  return count;
}

/** Whether any of them is news for the consumer. */
export function isNewsFor(consumer: ConsumerModel, { facts }: PublishPlan): boolean {
  return facts.some((fact) => {
    const subscription = consumer.subscriptions.get(fact.topic);
    if (subscription === undefined || !isOpen(subscription)) return false;
    return fact.fact === "published" || subscription.pending.get(fact.seq)?.run === null;
  });
}

/** The consumers that the facts of a decision may have woken. */
export function wokenBy({ topics }: EventModel, facts: readonly EventFact[]): readonly ConsumerModel[] {
  const woken = new Set<ConsumerModel>();
  for (const fact of facts) {
    if (fact.fact !== "published" && (fact.fact !== "replaced" || fact.number === null)) continue;
    for (const subscription of topics.get(fact.topic)?.subscriptions ?? [])
      if (isOpen(subscription)) woken.add(subscription.consumer);
  }
  return [...woken];
}
