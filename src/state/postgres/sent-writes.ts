/**
 * The attempts at one write. Each leaves a receipt in the database if it is carried out, which may be after its answer was
 * lost, and after the next attempt was sent: whoever wants to know what became of it looks for any of them.
 */
import { randomToken } from "../../random.js";
import type { ChangedRow } from "./row-draft.js";

export class SentWrites {
  /** Of each attempt the claims that it ends, by its receipt. */
  readonly #ended = new Map<string, readonly string[]>();
  /** Whether an answer was lost. */
  isUncertain = false;

  get receipts(): string[] {
    return [...this.#ended.keys()];
  }

  /** The receipt of the next attempt, which makes these changes. */
  next(changed: readonly ChangedRow[]): string {
    const receipt = randomToken();
    const tokens = changed.flatMap(({ row, keepsClaim }) =>
      keepsClaim || row.state.claim == null ? [] : row.state.claim.token,
    );
    this.#ended.set(receipt, tokens);
    return receipt;
  }

  /** The claims that the attempt with this receipt ends. */
  endedBy(receipt: string): readonly string[] {
    return this.#ended.get(receipt) ?? [];
  }
}
