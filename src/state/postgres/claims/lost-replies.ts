/**
 * Claims that were made and whose answer never came. Whoever asked holds nothing, and the database knows it as their
 * holder: until their leases end nobody could run them, if the node itself did not give them back.
 */

export class UnheardClaims {
  readonly #leaseMs: number;
  /** The tokens of the claims that were heard of and have not ended: numbers, which are kept at less cost than texts. */
  readonly #heard = new Set<number>();
  #lookUntilMs = -Infinity;

  constructor(leaseMs: number) {
    this.#leaseMs = leaseMs;
  }

  /** Takes note of claims that are given out. */
  noteHeard(claims: Iterable<{ readonly token: string }>): void {
    for (const { token } of claims) this.#heard.add(Number(token));
  }

  noteEnded(claims: Iterable<{ readonly token: string }>): void {
    for (const { token } of claims) this.#heard.delete(Number(token));
  }

  /** Takes note of a question whose answer was lost, or is of no use any more. */
  noteLost(monotonicMs: number): void {
    this.#lookUntilMs = monotonicMs + this.#leaseMs;
  }

  /** Whether there may be some. For a whole lease: a question may be carried out after its answer was given up. */
  mayExist(monotonicMs: number): boolean {
    return monotonicMs < this.#lookUntilMs;
  }

  get heard(): number[] {
    return [...this.#heard];
  }
}
