/** Values by schedule. Most agents have one schedule, and a map for one entry would be larger than the entry. */
import type { ScheduleKey } from "./store.js";

interface AgentValues<Value> {
  schedule: string;
  value: Value;
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
    const { others } = values;
    if (values.schedule !== schedule) others?.delete(schedule);
    else if (others === undefined || others.size === 0) this.#agents.delete(agent);
    else {
      for (const [other, value] of others) {
        others.delete(other);
        Object.assign(values, { schedule: other, value });
        return;
      }
    }
  }

  countOf(agent: string): number {
    const values = this.#agents.get(agent);
    return values === undefined ? 0 : 1 + (values.others?.size ?? 0);
  }

  *values(): Iterable<Value> {
    for (const { value, others } of this.#agents.values()) {
      yield value;
      if (others !== undefined) yield* others.values();
    }
  }
}
