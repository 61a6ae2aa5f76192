/**
 * The attempts at one write. Each leaves a receipt in the database if it is carried out, which may be after its answer was
 * lost, and after the next attempt was sent: whoever wants to know what became of it looks for any of them.
 */

export class SentWrites {
  /** Of each attempt the claims that it ends, by its receipt. */
  readonly #ended = new Map<string, readonly string[]>();
  /** Whether an answer was lost. */
  isUncertain = false;

  get receipts(): string[] {
    return [...this.#ended.keys()];
  }

  /** Takes note of an attempt before it is sent, by its receipt, and of the claims that it ends. */
  note(receipt: string, ended: readonly string[]): void {
    this.#ended.set(receipt, ended);
  }

  /** The claims that the attempt with this receipt ends. */
  endedBy(receipt: string): readonly string[] {
    return this.#ended.get(receipt) ?? [];
  }
}
