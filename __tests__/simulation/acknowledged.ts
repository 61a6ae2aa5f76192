/** What was acknowledged to those who changed a schedule, and must be found in its state until somebody changes it again. */
import type { ScheduleState } from "../../src/state/schedule-state.js";
import type { KnownState } from "./stores.js";

type Field = "status" | "paused_until" | "hint";

interface Expectation {
  holds: ((state: KnownState) => boolean) | undefined;
  what: string;
  underWay: number;
  /** Whether several were under way at once, so that nobody knows which came last. */
  isMixed: boolean;
}

export class AcknowledgedChanges {
  readonly #expected = new Map<string, Map<Field, Expectation>>();

  /**
   * A change begins. Answers what to call with its outcome: `refused` when it certainly had no effect. Nothing is expected
   * of changes that overlap, or that failed with their effect unknown.
   */
  begin(
    key: string,
    field: Field,
    what: string,
    holds: (state: KnownState) => boolean,
  ): (outcome: "done" | "failed" | "refused") => void {
    const fields = this.#expected.get(key) ?? new Map<Field, Expectation>();
    this.#expected.set(key, fields);
    const expectation = fields.get(field) ?? { holds: undefined, what: "", underWay: 0, isMixed: false };
    fields.set(field, expectation);
    const before = { holds: expectation.holds, what: expectation.what };
    expectation.holds = undefined;
    expectation.isMixed = expectation.underWay++ > 0;
    return (outcome) => {
      const isLast = --expectation.underWay === 0 && fields.get(field) === expectation;
      if (expectation.isMixed || !isLast || outcome === "failed") return;
      Object.assign(expectation, outcome === "done" ? { holds, what } : before);
    };
  }

  /** Whether a change of this schedule is under way. */
  isChanging(key: string): boolean {
    return [...(this.#expected.get(key)?.values() ?? [])].some(({ underWay }) => underWay > 0);
  }

  forget(key: string, field: Field): void {
    this.#expected.get(key)?.delete(field);
  }

  /** Nobody will answer for what the dead process was doing. */
  forgetUnderWay(): void {
    for (const fields of this.#expected.values())
      for (const [field, { underWay }] of fields) if (underWay > 0) fields.delete(field);
  }

  /** What was acknowledged and is not there. */
  lost(key: string, state: KnownState): string | undefined {
    for (const { holds, what } of this.#expected.get(key)?.values() ?? [])
      if (holds !== undefined && !holds(state)) return what;
    return undefined;
  }
}

export function isStatus(status: ScheduleState["status"]): (state: KnownState) => boolean {
  return (state) => (state.status === "disabled") === (status === "disabled");
}
