/** A priority queue whose members know their place, so that one can be moved or taken out without a search. */

export interface HeapMember {
  /** Where it stands in its heap, kept by the heap; -1 while it is in none. */
  place: number;
}

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
    while (member.place > 0) {
      const parent = members[(member.place - 1) >> 1];
      if (parent === undefined || !this.#isBefore(member, parent)) break;
      this.#swap(member, parent);
    }
    for (;;) {
      const left = members[2 * member.place + 1];
      const right = members[2 * member.place + 2];
      const child = left !== undefined && right !== undefined && this.#isBefore(right, left) ? right : left;
      if (child === undefined || !this.#isBefore(child, member)) return;
      this.#swap(member, child);
    }
  }

  #swap(a: Member, b: Member): void {
    const place = a.place;
    this.#put(a, b.place);
    this.#put(b, place);
  }

  #put(member: Member, place: number): void {
    member.place = place;
    this.#members[place] = member;
  }
}
