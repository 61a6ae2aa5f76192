/**
 * The attempts at one write. Each leaves a receipt in the database when it is carried out. That may happen after its reply
 * was lost and the next attempt was sent, so the receipts of all attempts are looked for.
 */
export class WriteReceipts {
  /** The tokens of the claims that each attempt ends, by its receipt. */
  readonly #ended = new Map<string, readonly string[]>();
  /** Whether a reply was lost. */
  isUncertain = false;

  get ids(): string[] {
    return [...this.#ended.keys()];
  }

  /** To be called before an attempt is sent. */
  note(receipt: string, ended: readonly string[]): void {
    this.#ended.set(receipt, ended);
  }

  endedBy(receipt: string): readonly string[] {
    return this.#ended.get(receipt) ?? [];
  }
}
