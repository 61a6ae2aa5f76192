/** Members in a known order, mostly taken from the front: that costs nothing here, and a search through half a heap there. */

export class SortedQueue<Member> {
  readonly #compare: (a: Member, b: Member) => number;
  #members: Member[] = [];
  #front = 0;

  /** `compare` answers 0 for none but the same member, and the same for as long as a member is in. */
  constructor(compare: (a: Member, b: Member) => number) {
    this.#compare = compare;
  }

  get first(): Member | undefined {
    return this.#members[this.#front];
  }

  values(): Member[] {
    return this.#members.slice(this.#front);
  }

  /** Adds members that are not in. */
  add(members: readonly Member[]): void {
    if (members.length === 0) return;
    this.#members = [...this.values(), ...members].toSorted(this.#compare);
    this.#front = 0;
  }

  /** Takes out a member that is in. */
  remove(member: Member): void {
    if (this.first === member) this.#front++;
    else this.#members.splice(this.#placeOf(member), 1);
    if (this.#front < this.#members.length) return;
    this.#members = [];
    this.#front = 0;
  }

  #placeOf(member: Member): number {
    let from = this.#front;
    let to = this.#members.length;
    while (from < to) {
      const middle = (from + to) >> 1;
      const other = this.#members[middle];
      if (other !== undefined && this.#compare(other, member) < 0) from = middle + 1;
      else to = middle;
    }
    return from;
  }
}
