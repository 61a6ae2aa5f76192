/**
 * The attempts at one write. Each leaves a receipt in the database if it is carried out, which may be after its answer was
 * lost, and after the next attempt was sent: whoever wants to know what became of it looks for any of them.
 */
import { randomToken } from "../../random.js";
import type { ChangedRow } from "./row-draft.js";

export class SentWrites {
  readonly receipts: string[] = [];
  readonly #ended = new Set<string>();
  /** Whether an answer was lost. */
  isUncertain = false;

  /** The receipt of the next attempt, which makes these changes. */
  next(changed: readonly ChangedRow[]): string {
    const receipt = randomToken();
    this.receipts.push(receipt);
    for (const { row, keepsClaim } of changed)
      if (!keepsClaim && row.state.claim != null) this.#ended.add(row.state.claim.token);
    return receipt;
  }

  /** The claims that it ends. */
  get endedTokens(): Iterable<string> {
    return this.#ended;
  }
}
