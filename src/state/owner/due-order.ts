/**
 * The order in which schedules are claimed: a queue of slots to come, and a line before each agent of slots that came
 * due and have to wait. An entry stands in one of them, or in neither while it runs or has no plan.
 */
import type { ScheduleState } from "../schedule-state.js";
import type { HeldClaim } from "./claim-queue.js";

export interface HeapMember {
  /** Where it stands in its heap, kept by the heap; -1 while it is in none. */
  place: number;
}

/** A schedule that may be claimed. */
export interface QueueEntry extends HeapMember {
  readonly agent: QueueAgent;
  readonly schedule: string;
  state: Partial<ScheduleState>;
  dueMs: number;
  /** Kept by DueOrder. */
  standsIn: "queue" | "line" | undefined;
  /** When its slot was first seen due; a write of its state does not make it later. */
  seenMs: number | undefined;
  /** Order of definition, which breaks ties. */
  readonly order: number;
  /** The claim under which it runs. */
  heldBy: HeldClaim | undefined;
}

/** An agent stands among the ready ones while a schedule waits in its line and it has capacity. */
export interface QueueAgent extends HeapMember {
  readonly name: string;
  capacity: number;
  running: number;
  /** Until when its pause holds its schedules back: `-Infinity` without one, `Infinity` for one without an end. */
  heldUntilMs: number;
  /** When its last pause ended, as far as this queue knows. */
  resumedMs: number;
  /** Made for the first schedule that has to wait. */
  line: IndexedHeap<QueueEntry> | undefined;
}

export const isOlder = (a: QueueEntry, b: QueueEntry): boolean =>
  a.dueMs < b.dueMs || (a.dueMs === b.dueMs && a.order < b.order);

export function hasCapacity({ running, capacity }: QueueAgent): boolean {
  return running < capacity;
}

const headIsOlder = (a: QueueAgent, b: QueueAgent): boolean =>
  a.line?.first !== undefined && b.line?.first !== undefined && isOlder(a.line.first, b.line.first);

export class DueOrder {
  readonly #queue = new IndexedHeap<QueueEntry>(isOlder);
  readonly #ready = new IndexedHeap<QueueAgent>(headIsOlder);

  /** The oldest entry that has not been seen due. */
  get first(): QueueEntry | undefined {
    return this.#queue.first;
  }

  /** The oldest waiting entry whose agent has capacity. */
  get firstReady(): QueueEntry | undefined {
    return this.#ready.first?.line?.first;
  }

  place(entry: QueueEntry): void {
    entry.standsIn = "queue";
    this.#queue.place(entry);
  }

  lineUp(entry: QueueEntry): void {
    const { agent } = entry;
    entry.standsIn = "line";
    agent.line ??= new IndexedHeap(isOlder);
    agent.line.place(entry);
    this.noteCapacity(agent);
  }

  /** Takes an entry out of the queue or its line. */
  remove(entry: QueueEntry): void {
    const { agent, standsIn } = entry;
    entry.standsIn = undefined;
    if (standsIn === "queue") this.#queue.remove(entry);
    else if (standsIn === "line") {
      agent.line?.remove(entry);
      if (agent.line?.size === 0) agent.line = undefined;
      this.noteCapacity(agent);
    }
  }

  /** To be called when an agent's capacity, or the number of its jobs, has changed. */
  noteCapacity(agent: QueueAgent): void {
    if (agent.line !== undefined && hasCapacity(agent)) this.#ready.place(agent);
    else this.#ready.remove(agent);
  }
}

/** A priority queue whose members know their place, so that one can be moved or taken out without a search. */
export class IndexedHeap<Member extends HeapMember> {
  readonly #members: Member[] = [];
  readonly #isBefore: (a: Member, b: Member) => boolean;

  constructor(isBefore: (a: Member, b: Member) => boolean) {
    this.#isBefore = isBefore;
  }

  get first(): Member | undefined {
    return this.#members[0];
  }

  get size(): number {
    return this.#members.length;
  }

  /** Puts a member where it belongs, whether it is new or its order has changed. */
  place(member: Member): void {
    if (member.place < 0) {
      member.place = this.#members.length;
      this.#members.push(member);
    }
    this.#settle(member);
  }

  /** Takes a member out; nothing happens when it is not in. */
  remove(member: Member): void {
    const { place } = member;
    if (place < 0) return;
    const last = this.#members.pop();
    member.place = -1;
    if (last === undefined || last === member) return;
    this.#put(last, place);
    this.#settle(last);
  }

  /** Moves a member up, then down, until both neighbours are in order. */
  #settle(member: Member): void {
    const members = this.#members;
    let { place } = member;
    while (place > 0) {
      const up = (place - 1) >> 1;
      const parent = members[up];
      if (parent === undefined || !this.#isBefore(member, parent)) break;
      this.#put(parent, place);
      place = up;
    }
    for (;;) {
      const left = members[2 * place + 1];
      const right = members[2 * place + 2];
      const child = left !== undefined && right !== undefined && this.#isBefore(right, left) ? right : left;
      if (child === undefined || !this.#isBefore(child, member)) break;
      const down = child.place;
      this.#put(child, place);
      place = down;
    }
    this.#put(member, place);
  }

  #put(member: Member, place: number): void {
    member.place = place;
    this.#members[place] = member;
  }
}
