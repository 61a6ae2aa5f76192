/** Several schedulers' stores on one schema, as if each were a process on a machine of its own. */
import { onTestFinished } from "vitest";
import { type Claim, FakeClock, type ScheduleKey, type StateStore } from "../../../src/index.js";
import { PostgresStore, type PostgresStoreOptions } from "../../../src/state/postgres/index.js";
import { completeClaim, type Definitions, type JobFinish, releaseClaim } from "../../../src/state/store.js";
import { newSchema, sharedPool } from "./schema.js";

export { completeClaim, releaseClaim };

export const START = "2026-03-01T00:00:00.000Z";
export const LEASE_MS = 30_000;

export const key = (name: string): ScheduleKey => {
  const [agent = "", schedule = ""] = name.split("/");
  return { agent, schedule };
};

export const names = (keys: readonly ScheduleKey[]): string[] =>
  keys.map(({ agent, schedule }) => `${agent}/${schedule}`);

export interface Scene {
  readonly schema: string;
  readonly clock: FakeClock;
  /** A store that is not open: what the `rota` command has. */
  readonly outsider: (options?: Partial<PostgresStoreOptions>) => PostgresStore;
  /** A store of a scheduler of its own. */
  readonly node: (options?: Partial<PostgresStoreOptions>) => Promise<PostgresStore>;
}

export function scene(): Scene {
  const schema = newSchema();
  const clock = new FakeClock(START);
  const outsider = (options: Partial<PostgresStoreOptions> = {}): PostgresStore => {
    const store = new PostgresStore({ pool: sharedPool(), schema, clock, leaseMs: LEASE_MS, ...options });
    onTestFinished(() => store.close());
    return store;
  };
  const node = async (options: Partial<PostgresStoreOptions> = {}): Promise<PostgresStore> => {
    const store = outsider(options);
    await store.open();
    return store;
  };
  return { schema, clock, outsider, node };
}

/** Ends claims together; whether each was ended. */
export async function endAll(store: StateStore, ends: readonly JobFinish[]): Promise<readonly boolean[]> {
  return (await store.finishJobs(ends)).map(({ claim }) => claim === "ended");
}

/** These schedules, of agents with this capacity. */
export function withCapacity(schedules: readonly ScheduleKey[], maxConcurrent: number): Definitions {
  const agents = new Set(schedules.map(({ agent }) => agent));
  return { agents: Array.from(agents, (agent) => ({ agent, maxConcurrent })), schedules };
}

/** These schedules, all due at the start, defined by each of the stores. */
export async function planAll(
  stores: readonly StateStore[],
  schedules: readonly string[],
  maxConcurrent = 1,
): Promise<void> {
  const keys = schedules.map(key);
  for (const store of stores) await store.define(withCapacity(keys, maxConcurrent));
  await stores[0]?.updateAll(keys, () => ({
    next_run_at: START,
    next_run_source: "baseline-interval",
  }));
}

/** The only claim, for tests that make one. */
export function only(claims: readonly Claim[]): Claim {
  const [claim] = claims;
  if (claim === undefined || claims.length !== 1)
    throw new Error(`Expected one claim, got ${claims.length}.`);
  return claim;
}
