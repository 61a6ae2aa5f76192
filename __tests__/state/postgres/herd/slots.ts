/** Processes that share the slots of a fleet, and what they have left behind. */
import { fileURLToPath } from "node:url";
import type { Pool } from "pg";
import { inject } from "vitest";
import { migrate, PostgresStore } from "../../../../src/state/postgres/index.js";
import type { Child, Children } from "../../child.js";
import { sharedPool, unmadeSchema } from "../schema.js";

export interface Fleet {
  readonly schema: string;
  readonly start: () => Child;
  /** How many slots were accepted, and how many times by how many tokens. */
  readonly accepted: () => Promise<{ readonly slots: number; readonly tokens: number }>;
  /** What remains: schedules that have not had all their slots, and claims that are still held. */
  readonly left: () => Promise<{ readonly unfinished: number; readonly claims: number }>;
}

export interface FleetSize {
  readonly agents: number;
  readonly slots: number;
  readonly batch: number;
  readonly leaseMs: number;
}

/** On the server of the run, or on another. */
export async function fleetOf(
  children: Children,
  { agents, slots, batch, leaseMs }: FleetSize,
  server?: { readonly url: string; readonly pool: Pool },
): Promise<Fleet> {
  const { url, pool } = server ?? { url: inject("databaseUrl"), pool: sharedPool() };
  const schema = unmadeSchema();
  await migrate(pool, schema);
  await pool.query(
    `create table "${schema}".accepted (schedule text, number int, token text, unique (schedule, number), unique (token))`,
  );
  const program = fileURLToPath(new URL("../processes/claim-slots.js", import.meta.url));
  const args = [url, schema, agents, slots, batch, leaseMs].map(String);
  return {
    schema,
    start: () => children.start(program, args),
    async accepted() {
      const { rows } = await pool.query(
        `select count(*)::int as slots, count(distinct token)::int as tokens from "${schema}".accepted`,
      );
      return rows[0] as { slots: number; tokens: number };
    },
    async left() {
      const store = new PostgresStore({ pool, schema });
      const names = Array.from({ length: Math.min(agents, 20) }, (_, index) => `a${index}`);
      const lists = await Promise.all(names.map((agent) => store.list(agent)));
      const states = lists.flatMap((list) => Array.from(list.values()));
      const finished = states.filter(({ missed_count: done }) => done === slots);
      const held = states.filter(({ claim }) => claim != null);
      return { unfinished: agents - finished.length, claims: held.length };
    },
  };
}

/** What a process says at its end: how many slots it has claimed, or that one was accepted twice. */
export async function endOf(node: Child): Promise<{ readonly claimed: number; readonly twice: string }> {
  const line = await node.line((said) => said.startsWith("done") || said.startsWith("twice"));
  return line.startsWith("done")
    ? { claimed: Number(line.slice("done ".length)), twice: "" }
    : { claimed: 0, twice: line };
}

/** How many slots processes have claimed together. Rejects when one was accepted twice. */
export async function claimedBy(nodes: readonly Child[]): Promise<number> {
  const ends = await Promise.all(nodes.map(endOf));
  const twice = ends.find((end) => end.twice !== "");
  if (twice !== undefined) throw new Error(twice.twice);
  return ends.reduce((sum, { claimed }) => sum + claimed, 0);
}
