/**
 * Who is next: the queue of slots to come, those of them that are reserved, and the line before each agent of those who
 * came due and have to wait. An entry stands in one of them, or in none while it runs or is not planned.
 */
import { type Agent, byAge, type Entry, hasCapacity, isOlder } from "./queue-entry.js";
import { IndexedHeap } from "./indexed-heap.js";
import { SortedQueue } from "./sorted-queue.js";

const headIsOlder = (a: Agent, b: Agent): boolean =>
  a.line?.first !== undefined && b.line?.first !== undefined && isOlder(a.line.first, b.line.first);

export class DueOrder {
  readonly #queue = new IndexedHeap<Entry>(isOlder);
  readonly #reserved = new SortedQueue<Entry>(byAge);
  readonly #ready = new IndexedHeap<Agent>(headIsOlder);

  /** The oldest that has never been looked at. */
  get first(): Entry | undefined {
    const queued = this.#queue.first;
    const reserved = this.#reserved.first;
    if (queued === undefined || reserved === undefined) return queued ?? reserved;
    return isOlder(queued, reserved) ? queued : reserved;
  }

  /** The oldest of those in line whose agent has capacity. */
  get firstReady(): Entry | undefined {
    return this.#ready.first?.line?.first;
  }

  /** Those due until `dueMs` that have never been looked at, oldest first. */
  until(dueMs: number): Entry[] {
    const isWithin = (entry: Entry): boolean => entry.dueMs <= dueMs;
    if (this.first === undefined || !isWithin(this.first)) return [];
    const reserved = this.#reserved.values().filter(isWithin);
    return [...this.#queue.within(isWithin), ...reserved].toSorted(byAge);
  }

  place(entry: Entry): void {
    entry.standsIn = "queue";
    this.#queue.place(entry);
  }

  /** Those in the queue whose slots have been reserved. */
  placeReserved(entries: readonly Entry[]): void {
    for (const entry of entries) {
      this.#queue.remove(entry);
      entry.standsIn = "reserved";
    }
    this.#reserved.add(entries);
  }

  lineUp(entry: Entry): void {
    const { agent } = entry;
    entry.standsIn = "line";
    agent.line ??= new IndexedHeap(isOlder);
    agent.line.place(entry);
    this.noteCapacity(agent);
  }

  /** Takes an entry out of wherever it stands. */
  remove(entry: Entry): void {
    const { agent, standsIn } = entry;
    entry.standsIn = undefined;
    if (standsIn === "queue") this.#queue.remove(entry);
    else if (standsIn === "reserved") this.#reserved.remove(entry);
    else if (standsIn === "line") {
      agent.line?.remove(entry);
      if (agent.line?.size === 0) agent.line = undefined;
      this.noteCapacity(agent);
    }
  }

  /** To be called when an agent's capacity, or what it has of it left, has changed. */
  noteCapacity(agent: Agent): void {
    if (agent.line !== undefined && hasCapacity(agent)) this.#ready.place(agent);
    else this.#ready.remove(agent);
  }
}
