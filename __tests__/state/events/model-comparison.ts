/** Models of events as they are compared: without the rules, and without snapshots. */
import { applyFacts } from "../../../src/state/events/apply-fact.js";
import type { EventFact } from "../../../src/state/events/event-facts.js";
import { emptyModel, type EventModel } from "../../../src/state/events/event-model.js";
import { MemoryConsumedEvents } from "../../../src/state/memory/memory-consumed-events.js";

/** All that a model holds, in a form that can be compared. */
export function plain({ topics, consumers, producers }: EventModel): unknown {
  return {
    topics: Array.from(topics.values(), ({ events, subscriptions, ...topic }) => ({
      ...topic,
      // Events that are pending again stand after newer ones.
      events: new Map([...events].toSorted(([a], [b]) => a - b)),
      subscriptions: new Set(Array.from(subscriptions, ({ consumer }) => consumer.schedule)),
    })),
    consumers: Array.from(consumers.values(), ({ subscriptions, ...consumer }) => ({
      ...consumer,
      subscriptions: Array.from(
        subscriptions.values(),
        ({ topic, news, removedMs, pending, reservedCount }) => ({
          topic: topic.name,
          news,
          removedMs,
          pending: [...pending],
          reservedCount,
        }),
      ),
    })),
    producers: [...producers.values()],
  };
}

/** A model made of decisions alone. */
export function rebuiltFrom(decisions: readonly (readonly EventFact[])[]): {
  readonly model: EventModel;
  readonly consumed: MemoryConsumedEvents;
} {
  const consumed = new MemoryConsumedEvents();
  const model = emptyModel(consumed);
  for (const facts of decisions) applyFacts(model, facts);
  return { model, consumed };
}
