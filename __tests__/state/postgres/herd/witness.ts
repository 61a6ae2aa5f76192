/** What the jobs of nodes have written of themselves, by the database's clock, whatever the store says of them. */
import type { Pool } from "pg";

/** All times are milliseconds of the database's clock. */
export interface Run {
  readonly node: string;
  readonly agent: string;
  readonly schedule: string;
  readonly slot: string;
  /** As its job was told. */
  readonly attempt: number;
  readonly source: string | null;
  readonly jobId: string;
  /** What the store says it was claimed at. */
  readonly claimedMs: number;
  readonly startedMs: number;
  /** `undefined` when its process was gone before. */
  readonly endedMs: number | undefined;
  /** Whether its signal had fired. */
  readonly wasTold: boolean;
}

export interface Beat {
  readonly node: string;
  readonly atMs: number;
}

const textOr = (value: unknown): string | null => (typeof value === "string" ? value : null);

export class Witness {
  readonly #pool: Pool;
  readonly #schema: string;

  constructor(pool: Pool, schema: string) {
    this.#pool = pool;
    this.#schema = schema;
  }

  /** In a schema that is there already. */
  async make(): Promise<void> {
    await this.#pool.query(`
      create table "${this.#schema}".runs (key text primary key, node text, agent text, schedule text, slot text, attempt int, source text,
        job_id text, claimed_at text, started_at timestamptz default clock_timestamp(), ended_at timestamptz, was_told boolean default false);
      create table "${this.#schema}".beats (node text, at timestamptz default clock_timestamp())`);
  }

  async now(): Promise<number> {
    const { rows } = await this.#pool.query(
      "select extract(epoch from clock_timestamp())::float8 * 1000 as ms",
    );
    return Number(rows[0]?.["ms"]);
  }

  async runs(): Promise<Run[]> {
    const { rows } = await this.#pool.query(
      `select node, agent, schedule, slot, attempt, source, job_id, claimed_at, was_told, extract(epoch from started_at)::float8 * 1000 as started,
        extract(epoch from ended_at)::float8 * 1000 as ended from "${this.#schema}".runs order by started_at, key`,
    );
    return rows.map((row: Readonly<Record<string, unknown>>) => ({
      node: String(row["node"]),
      agent: String(row["agent"]),
      schedule: String(row["schedule"]),
      slot: String(row["slot"]),
      attempt: Number(row["attempt"]),
      source: textOr(row["source"]),
      jobId: String(row["job_id"]),
      claimedMs: Date.parse(String(row["claimed_at"])),
      startedMs: Number(row["started"]),
      endedMs: row["ended"] === null ? undefined : Number(row["ended"]),
      wasTold: row["was_told"] === true,
    }));
  }

  async beats(): Promise<Beat[]> {
    const { rows } = await this.#pool.query(
      `select node, extract(epoch from at)::float8 * 1000 as at from "${this.#schema}".beats order by at`,
    );
    return rows.map((row: Readonly<Record<string, unknown>>) => ({
      node: String(row["node"]),
      atMs: Number(row["at"]),
    }));
  }
}
