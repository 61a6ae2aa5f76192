/**
 * Claims whose replies were lost: the database names this node as their holder, and the node does not know them. Unless the
 * node gives them back, their slots wait until the leases end.
 */
export class LostReplies {
  readonly #leaseMs: number;
  /** The tokens of claims that were received and have not ended, as numbers to save memory. */
  readonly #received = new Set<number>();
  #searchUntilMs = -Infinity;

  constructor(leaseMs: number) {
    this.#leaseMs = leaseMs;
  }

  noteReceived(claims: Iterable<{ readonly token: string }>): void {
    for (const { token } of claims) this.#received.add(Number(token));
  }

  noteEnded(claims: Iterable<{ readonly token: string }>): void {
    for (const { token } of claims) this.#received.delete(Number(token));
  }

  /** To be called when the reply to a claim was lost, or came too late. */
  noteLost(monotonicMs: number): void {
    this.#searchUntilMs = monotonicMs + this.#leaseMs;
  }

  /** Whether there may be such claims: for a whole lease, because a statement may be carried out after its time-out. */
  mayExist(monotonicMs: number): boolean {
    return monotonicMs < this.#searchUntilMs;
  }

  get received(): number[] {
    return [...this.#received];
  }
}
