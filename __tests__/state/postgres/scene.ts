/** Several schedulers' stores on one schema, as if each were a process on a machine of its own. */
import { onTestFinished } from "vitest";
import {
  type Claim,
  FakeClock,
  type ScheduleDefinition,
  type ScheduleKey,
  type StateStore,
} from "../../../src/index.js";
import { PostgresStore, type PostgresStoreOptions } from "../../../src/state/postgres/index.js";
import { newSchema, sharedPool } from "./schema.js";

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

/** These schedules, all due at the start, defined by each of the stores. */
export async function planAll(
  stores: readonly StateStore[],
  schedules: readonly string[],
  maxConcurrent = 1,
): Promise<void> {
  const definitions = schedules.map((name): ScheduleDefinition => ({ ...key(name), maxConcurrent }));
  for (const store of stores) await store.define(definitions);
  await stores[0]?.updateAll(definitions, () => ({
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
