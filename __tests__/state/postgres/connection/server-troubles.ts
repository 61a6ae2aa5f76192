/** Nodes under load whose server is restarted, whose connections are ended, and whose answers are lost. */
import { setTimeout } from "node:timers/promises";
import { Pool } from "pg";
import { inject } from "vitest";
import { busyAgents, Herd, type HerdOptions } from "../herd/herd.js";
import { LosingProxy } from "./losing-proxy.js";
import { sharedPool } from "../schema.js";
import { startServer, type TestServer } from "../server.js";

export interface Troubled {
  readonly breaches: readonly string[];
  /** How long slots had to wait because nobody heard of their claims. */
  readonly idleClaims: readonly number[];
  readonly runs: number;
}

// Longer than a server is away: what it was told in time it has to keep.
const LEASE_MS = 10_000;
const load = (agents: number): HerdOptions => ({
  agents: busyAgents(agents),
  leaseMs: LEASE_MS,
  jobMs: [50, 400],
});

export interface Load {
  /** How often there is trouble. */
  readonly times: number;
  readonly nodes: number;
  readonly agents: number;
}

async function addNodes(herd: Herd, count: number): Promise<void> {
  await Promise.all(Array.from({ length: count }, () => herd.add()));
}

/** What remains to be seen when the trouble is over, and what was due until then has had its time. */
async function calmed(herd: Herd, restMs = 1_000): Promise<Troubled> {
  const calmMs = await herd.witness.now();
  await herd.untilRuns(herd.nodes.length * 4, calmMs + restMs);
  await herd.leave();
  const breaches = await herd.breaches(calmMs);
  return { breaches, idleClaims: await herd.idleClaims(), runs: (await herd.witness.runs()).length };
}

interface CrashableServer extends AsyncDisposable {
  readonly server: TestServer;
  readonly pool: Pool;
}

/** A server whose commits are in the system's hands when they are answered: its processes may crash, the machine not. */
async function crashableServer(): Promise<CrashableServer> {
  const server = await startServer({ max_connections: "100", fsync: "off", full_page_writes: "off" });
  const pool = new Pool({ connectionString: server.url });
  pool.on("error", () => {});
  return {
    server,
    pool,
    async [Symbol.asyncDispose]() {
      await pool.end();
      await server.stop();
    },
  };
}

/** Also answers how long it took from each return of the server to the next job, in milliseconds. */
export async function runRestarts({
  times,
  nodes,
  agents,
}: Load): Promise<Troubled & { readonly pauses: number[] }> {
  await using own = await crashableServer();
  const { server, pool } = own;
  await using herd = await Herd.make({ ...load(agents), server: { url: server.url, pool } });
  await addNodes(herd, nodes);
  const pauses: number[] = [];
  for (let done = 0; done < times; done++) {
    await setTimeout(300);
    await server.restart(done % 2 === 0 ? "restart" : "crash");
    const backMs = await herd.witness.now();
    // Not one that was claimed before, and has only now been able to say so.
    await herd.until(async () => {
      const next = (await herd.witness.runs()).find(({ claimedMs }) => claimedMs > backMs);
      if (next !== undefined) pauses.push(next.startedMs - backMs);
      return next !== undefined;
    });
  }
  return { ...(await calmed(herd)), pauses };
}

/** Ends so many connections of the nodes, one by one. */
export async function runTerminations({
  times,
  nodes,
  agents,
}: Load): Promise<Troubled & { readonly ended: number }> {
  await using herd = await Herd.make(load(agents));
  await addNodes(herd, nodes);
  let ended = 0;
  while (ended < times) {
    await setTimeout(30);
    const { rowCount } = await sharedPool().query(
      `select pg_terminate_backend(pid) from pg_stat_activity
        where application_name like $1 and application_name not like '%witness' order by random() limit 1`,
      [`${herd.schema}%`],
    );
    ended += rowCount ?? 0;
  }
  return { ...(await calmed(herd)), ended };
}

/** Loses so many answers to statements that were carried out. */
export async function runLostAnswers({
  times,
  nodes,
  agents,
}: Load): Promise<Troubled & { readonly lost: number }> {
  await using proxy = await LosingProxy.to(inject("databaseUrl"));
  // Longer than anybody waits here: a claim whose answer is lost must not cost its lease.
  await using herd = await Herd.make({ ...load(agents), leaseMs: 30_000, storeUrl: proxy.url });
  await addNodes(herd, nodes);
  while (proxy.lost < times) {
    await setTimeout(100);
    proxy.loseNext();
  }
  return { ...(await calmed(herd, 5_000)), lost: proxy.lost };
}
