/** Writes plans, and tries a failed write again until it works: a schedule without a plan would never run. */
import type { ScheduleKey } from "../../state/store.js";
import { keyText, reportTrouble, type SchedulerContext } from "../context.js";

export interface PlanWrite {
  readonly key: ScheduleKey;
  write(): Promise<unknown>;
}

export class PlanWrites {
  readonly #context: SchedulerContext;
  /** What could not be written yet, by schedule. */
  readonly unwritten: Map<string, PlanWrite> = new Map();

  constructor(context: SchedulerContext) {
    this.#context = context;
  }

  retry(): Promise<void> {
    return this.writeAll([...this.unwritten.values()]);
  }

  /** Drops the failed writes of `keys`: they are not tried again. */
  forget(keys: readonly ScheduleKey[]): void {
    if (this.unwritten.size > 0) for (const key of keys) this.unwritten.delete(keyText(key));
  }

  /** Writes the plans of many schedules at once, or each `alone` when that fails. Does not reject, as `writeAll`. */
  async writeTogether(
    keys: readonly ScheduleKey[],
    together: () => Promise<void>,
    alone: (key: ScheduleKey) => Promise<unknown>,
  ): Promise<void> {
    try {
      await together();
    } catch {
      return this.writeAll(keys.map((key) => ({ key, write: () => alone(key) })));
    }
    this.forget(keys);
  }

  /** Does not reject: a failed write is kept for `retry`, and reported once however often it fails. */
  async writeAll(plans: readonly PlanWrite[]): Promise<void> {
    const causes = new Set<unknown>();
    await Promise.all(
      plans.map(async (plan) => {
        try {
          await plan.write();
          if (this.unwritten.size > 0) this.unwritten.delete(keyText(plan.key));
        } catch (error) {
          const name = keyText(plan.key);
          // Plans that were written together fail with the same error, which is reported once.
          const isNews = !this.unwritten.has(name) && !causes.has(error);
          causes.add(error);
          this.unwritten.set(name, plan);
          if (isNews) reportTrouble(this.#context, plan.key, "Could not plan", error);
        }
      }),
    );
  }
}
