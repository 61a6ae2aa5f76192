/**
 * The mailbox in the database: a row for each request, announced by a notification. Claiming a schedule for a request
 * and answering it are one transaction (schema/request-functions.ts), so that a request starts one job.
 */
import type { Fields } from "../../../fields.js";
import { randomToken } from "../../../random.js";
import { numberedJobId, numberOfJobId } from "../../job-log/job-id.js";
import {
  KEY_MS,
  type JobOrder,
  type Mailbox,
  type NewRequest,
  type PendingRequest,
  pollAnswer,
  type PostOptions,
  REQUESTED_ACTIONS,
  type RequestAnswer,
  type ScheduleRequest,
  type StartedOrder,
  type WaitOptions,
} from "../../mailbox.js";
import { JOB_TRIGGERS } from "../../schedule-state.js";
import type { ScheduleKey } from "../../store.js";
import { ANSWERED } from "../connection/change-feed.js";
import type { Database, PostgresClient } from "../connection/database.js";
import type { DatabaseClock } from "../connection/database-clock.js";
import { columnText, textOfColumn } from "../rows/column-text.js";
import { msOf } from "../rows/state-row.js";
import { channelOf } from "../schema/request-functions.js";

export interface PostgresMailboxOptions {
  readonly database: Database;
  readonly time: DatabaseClock;
}

/** Notifications may be lost. */
const LOOK_MS = 250;

const COLUMNS = `r.id, r.agent, r.schedule, r.action, r.job_id, r.key, r.content, r.refusal, r.token,
  r.answered_at is not null as is_answered, date_part('epoch', r.created_at) * 1000 as created,
  date_part('epoch', r.expires_at) * 1000 as expires, date_part('epoch', r.claimed_at) * 1000 as claimed`;

export class PostgresMailbox implements Mailbox {
  readonly #database: Database;
  readonly #time: DatabaseClock;
  readonly #listeners = new Set<() => void>();

  constructor({ database, time }: PostgresMailboxOptions) {
    this.#database = database;
    this.#time = time;
  }

  /** To be called when there may be new requests. */
  tell(): void {
    for (const listener of this.#listeners) listener();
  }

  async post(request: NewRequest, { ttlMs, isTaken = false }: PostOptions): Promise<ScheduleRequest> {
    const { schema } = this.#database;
    const id = `req-${randomToken()}`;
    const { agent, schedule, action, job_id, key, trigger, prompt, data, cause, author, node } = request;
    const rest = Object.entries({ trigger, prompt, data, cause, author, node }).filter(
      ([, value]) => value != null,
    );
    const [row = {}] = await this.#database.query({
      text: `select * from ${schema}.post_request($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`,
      values: [
        id,
        columnText(agent),
        columnText(schedule),
        action,
        job_id ?? null,
        key == null ? null : columnText(key),
        JSON.stringify(Object.fromEntries(rest)),
        this.#time.parameters.now,
        `${ttlMs} milliseconds`,
        isTaken,
      ],
    });
    return {
      ...request,
      id,
      created_at: new Date(Number(row["created_ms"])).toISOString(),
      expires_at: new Date(Number(row["expires_ms"])).toISOString(),
    };
  }

  waitForAnswer({ id }: ScheduleRequest, options: WaitOptions): Promise<RequestAnswer | undefined> {
    return pollAnswer(
      options,
      LOOK_MS,
      () => this.#answerOf(id),
      async (changed) => {
        const listener = await this.#listen(changed);
        // Closed, not returned to the pool: it would go on listening.
        return () => listener?.release(true);
      },
    );
  }

  async withdraw({ id }: ScheduleRequest): Promise<RequestAnswer | "taken" | undefined> {
    const [row] = await this.#database.query({
      text: `delete from ${this.#database.schema}.requests r where r.id = $1 and r.answered_at is null returning r.refusal`,
      values: [id],
    });
    if (row === undefined) return this.#answerOf(id);
    return typeof row["refusal"] === "string" ? { id, refusal: row["refusal"] } : undefined;
  }

  onPost(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  async pending(): Promise<readonly PendingRequest[]> {
    const rows = await this.#database.query({
      text: `select ${COLUMNS} from ${this.#database.schema}.requests r
        where r.answered_at is null and not r.is_taken and r.expires_at > coalesce($1, clock_timestamp()) order by r.created_at, r.id`,
      values: [this.#time.parameters.now],
      isText: true,
    });
    return rows.flatMap((row) => {
      const request = requestIn(row);
      return request === undefined ? [] : [{ request, isLeftOver: false }];
    });
  }

  /** The claim takes it. */
  async take(): Promise<boolean> {
    return true;
  }

  async putBack(): Promise<void> {}

  async leave(id: string, refusal: string): Promise<void> {
    await this.#database.query({
      text: `update ${this.#database.schema}.requests r set refusal = $2
        where r.id = $1 and r.answered_at is null and r.refusal is distinct from $2`,
      values: [id, refusal],
    });
  }

  async answer({ id }: ScheduleRequest, { job_id, refusal }: Omit<RequestAnswer, "id">): Promise<void> {
    const { schema } = this.#database;
    await this.#database.query({
      text: `with answered as (
          update ${schema}.requests r set answered_at = coalesce($2, clock_timestamp()), refusal = $3, job_id = coalesce($4, r.job_id)
          where r.id = $1 and r.answered_at is null returning 1)
        select pg_notify(${channelOf(schema)}, '${ANSWERED}') from answered`,
      values: [id, this.#time.parameters.now, refusal ?? null, job_id ?? null],
    });
  }

  async discard(id: string): Promise<void> {
    await this.#database.query({
      text: `delete from ${this.#database.schema}.requests r where r.id = $1 and r.token is null`,
      values: [id],
    });
  }

  async ofJob(jobId: string): Promise<ScheduleRequest | undefined> {
    const [row] = await this.#database.query({
      text: `select ${COLUMNS} from ${this.#database.schema}.requests r where r.token = $1`,
      values: [numberOfJobId(jobId)],
      isText: true,
    });
    return row !== undefined && jobIdIn(row) === jobId ? requestIn(row) : undefined;
  }

  async findKey({
    agent,
    schedule,
    key,
  }: ScheduleKey & Pick<JobOrder, "key">): Promise<StartedOrder | undefined> {
    const [row] = await this.#database.query({
      text: `select ${COLUMNS} from ${this.#database.schema}.requests r
        where r.agent = $1 and r.schedule = $2 and r.key = $3 and r.token is not null
          and r.created_at > coalesce($4, clock_timestamp()) - interval '${KEY_MS} milliseconds'
        order by r.created_at desc limit 1`,
      values: [columnText(agent), columnText(schedule), columnText(key ?? ""), this.#time.parameters.now],
      isText: true,
    });
    const request = row === undefined ? undefined : requestIn(row);
    const jobId = row === undefined ? undefined : jobIdIn(row);
    return request === undefined || jobId === undefined ? undefined : { request, jobId };
  }

  async #answerOf(id: string): Promise<RequestAnswer | undefined> {
    const [row] = await this.#database.query({
      text: `select ${COLUMNS} from ${this.#database.schema}.requests r where r.id = $1 and r.answered_at is not null`,
      values: [id],
      isText: true,
    });
    if (row === undefined) return undefined;
    const { refusal, job_id } = row;
    if (typeof refusal === "string") return { id, refusal };
    return { id, job_id: jobIdIn(row) ?? (typeof job_id === "string" ? job_id : null) };
  }

  /** `undefined` where no connection can be had: then the row is looked at now and then. */
  async #listen(changed: () => void): Promise<PostgresClient | undefined> {
    const { pool, schema } = this.#database;
    // The one connection of such a pool is needed for statements.
    if ((pool.options?.max ?? Infinity) < 2) return undefined;
    let client: PostgresClient | undefined;
    try {
      client = await pool.connect();
      client.on("notification", ({ payload }) => {
        if (payload === ANSWERED) changed();
      });
      await client.query({ text: `listen ${schema}` });
      return client;
    } catch {
      client?.release(true);
      return undefined;
    }
  }
}

function jobIdIn({ token, claimed }: Fields): string | undefined {
  const claimedMs = msOf(claimed);
  if (typeof token !== "string" || claimedMs === undefined) return undefined;
  return numberedJobId(new Date(claimedMs), Number(token));
}

/** A row with the columns above, all as text; `undefined` for an action of a newer version. */
function requestIn(row: Fields): ScheduleRequest | undefined {
  const { id, agent, schedule, job_id, key } = row;
  const action = REQUESTED_ACTIONS.find((known) => known === row["action"]);
  if (action === undefined) return undefined;
  const content: Fields = JSON.parse(String(row["content"]));
  const text = (name: string): string | null => {
    const value = content[name];
    return typeof value === "string" ? value : null;
  };
  return {
    id: String(id),
    agent: textOfColumn(String(agent)),
    schedule: textOfColumn(String(schedule)),
    action,
    job_id: typeof job_id === "string" ? job_id : null,
    ...(action === "stop" ? { node: text("node") } : {}),
    key: typeof key === "string" ? textOfColumn(key) : null,
    trigger: JOB_TRIGGERS.find((known) => known === content["trigger"]) ?? null,
    prompt: text("prompt"),
    data: content["data"] ?? null,
    cause: text("cause"),
    author: text("author"),
    created_at: new Date(msOf(row["created"]) ?? 0).toISOString(),
    expires_at: new Date(msOf(row["expires"]) ?? 0).toISOString(),
  };
}
