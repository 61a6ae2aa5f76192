/** The consumed events of a memory store: all that are kept, with their payloads. */
import type { StoredEvent } from "../events/event-facts.js";
import type { ConsumedEvents } from "../events/event-model.js";

interface TopicEvents {
  readonly bySeq: Map<number, StoredEvent>;
  readonly seqs: Map<string, number>;
}

export class MemoryConsumedEvents implements ConsumedEvents {
  readonly #topics = new Map<string, TopicEvents>();

  find(topic: string, id: string): number | undefined {
    return this.#topics.get(topic)?.seqs.get(id);
  }

  hasPayload(topic: string, seq: number, payload: string): boolean {
    return this.#topics.get(topic)?.bySeq.get(seq)?.payload === payload;
  }

  lastBefore(topic: string, publishedMs: number): number | undefined {
    let last: number | undefined;
    for (const { seq, published_ms } of this.read(topic)) {
      if (published_ms >= publishedMs) break;
      last = seq;
    }
    return last;
  }

  add(topic: string, event: StoredEvent): void {
    const events = this.#topics.get(topic) ?? { bySeq: new Map(), seqs: new Map() };
    this.#topics.set(topic, events);
    events.bySeq.set(event.seq, event);
    events.seqs.set(event.id, event.seq);
  }

  replace(topic: string, seq: number, payload: string): void {
    const event = this.#topics.get(topic)?.bySeq.get(seq);
    if (event !== undefined) this.add(topic, { ...event, payload });
  }

  remove(topic: string, seq: number): void {
    const events = this.#topics.get(topic);
    const event = events?.bySeq.get(seq);
    if (events === undefined || event === undefined) return;
    events.bySeq.delete(seq);
    events.seqs.delete(event.id);
  }

  prune(topic: string, through: number): void {
    for (const { seq } of this.read(topic)) if (seq <= through) this.remove(topic, seq);
  }

  /** Oldest first. */
  read(topic: string): readonly StoredEvent[] {
    const events = [...(this.#topics.get(topic)?.bySeq.values() ?? [])];
    return events.toSorted((a, b) => a.seq - b.seq);
  }
}
