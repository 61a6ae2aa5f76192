/** Values by schedule. Most agents have one schedule, and a map for one entry would be larger than the entry. */
import type { ScheduleKey } from "./store.js";

interface AgentValues<Value> {
  /** The schedule of `value`; `undefined` when that was deleted before `others`. */
  schedule: string | undefined;
  value: Value | undefined;
  /** Made for the second schedule. */
  others: Map<string, Value> | undefined;
}

export class ScheduleMap<Value> {
  readonly #agents = new Map<string, AgentValues<Value>>();

  get({ agent, schedule }: ScheduleKey): Value | undefined {
    const values = this.#agents.get(agent);
    if (values === undefined) return undefined;
    return values.schedule === schedule ? values.value : values.others?.get(schedule);
  }

  set({ agent, schedule }: ScheduleKey, value: Value): void {
    const values = this.#agents.get(agent);
    if (values === undefined) this.#agents.set(agent, { schedule, value, others: undefined });
    else if (values.schedule === schedule) values.value = value;
    else {
      values.others ??= new Map();
      values.others.set(schedule, value);
    }
  }

  delete({ agent, schedule }: ScheduleKey): void {
    const values = this.#agents.get(agent);
    if (values === undefined) return;
    if (values.schedule === schedule) values.schedule = values.value = undefined;
    else values.others?.delete(schedule);
    if (values.schedule === undefined && (values.others?.size ?? 0) === 0) this.#agents.delete(agent);
  }

  countOf(agent: string): number {
    const values = this.#agents.get(agent);
    if (values === undefined) return 0;
    return (values.schedule === undefined ? 0 : 1) + (values.others?.size ?? 0);
  }

  *values(): Iterable<Value> {
    for (const { value, others } of this.#agents.values()) {
      if (value !== undefined) yield value;
      if (others !== undefined) yield* others.values();
    }
  }
}
