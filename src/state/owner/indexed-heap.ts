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
    this.#rise(member);
    this.#sink(member);
  }

  /** Takes a member out; nothing happens when it is not in. */
  remove(member: Member): void {
    const { place } = member;
    if (place < 0) return;
    const last = this.#members.pop();
    member.place = -1;
    if (last === undefined || last === member) return;
    this.#put(last, place);
    this.#rise(last);
    this.#sink(last);
  }

  #rise(member: Member): void {
    for (let parent = this.#at((member.place - 1) >> 1); parent !== undefined;) {
      if (!this.#isBefore(member, parent)) return;
      this.#swap(member, parent);
      parent = this.#at((member.place - 1) >> 1);
    }
  }

  #sink(member: Member): void {
    for (;;) {
      const left = this.#at(2 * member.place + 1);
      const right = this.#at(2 * member.place + 2);
      const child = left !== undefined && right !== undefined && this.#isBefore(right, left) ? right : left;
      if (child === undefined || !this.#isBefore(child, member)) return;
      this.#swap(member, child);
    }
  }

  #at(place: number): Member | undefined {
    return place < 0 ? undefined : this.#members[place];
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
