/**
 * Claims, as one node takes, renews and loses them. Who gets what is decided in the database; here it is asked, and what
 * leases have ended is cleared away first.
 */
import { messageOf } from "../../errors.js";
import type { Logger } from "../../logger.js";
import { GroupCommit } from "../group-commit.js";
import type { JobLog } from "../jobs/job-log.js";
import type { Claim, ClaimRefusal, ClaimToken, DueSlots, ScheduleKey } from "../state-store.js";
import { type ClaimAnswer, claimOf, readAnswer, readRefusal } from "./claim-answer.js";
import { ROW_COLUMNS } from "./claim-functions.js";
import { EndLost } from "./claim-operations.js";
import { columnText, textOfColumn } from "./column-text.js";
import type { Statements } from "./database.js";
import { keyColumns, msOf, readRow, type StateRow } from "./state-row.js";
import type { StateWriter } from "./state-writer.js";
import type { StoreTime } from "./store-time.js";

export interface ClaimDeskOptions {
  readonly database: Statements;
  readonly writer: StateWriter;
  readonly time: StoreTime;
  readonly jobs: JobLog;
  readonly logger: Logger;
  readonly leaseMs: number;
}

interface Renewal {
  readonly claim: ClaimToken;
  isHeld: boolean;
}

interface HeldClaim {
  readonly claim: ClaimToken;
  /** When its holder last wanted it, on the monotonic clock. */
  wantedMs: number;
}

/** A holder that has not renewed a claim for so many leases has lost it from sight, and nobody else must wait for that. */
const LEASES_BRIDGED = 4;
/** What fits into a statement and an answer; more is claimed by the next call. */
const MOST_CLAIMS = 10_000;

export class ClaimDesk {
  readonly #options: ClaimDeskOptions;
  readonly #renewals: GroupCommit<Renewal>;
  readonly #lease: string;
  /** The claims that are to be kept alive, by their tokens. */
  readonly #held = new Map<string, HeldClaim>();

  constructor(options: ClaimDeskOptions) {
    this.#options = options;
    this.#lease = `${options.leaseMs} milliseconds`;
    // In turn with all that is written, or the two would wait for each other's rows.
    this.#renewals = new GroupCommit((batch) => options.writer.alone(() => this.#renewAll(batch)));
  }

  /** To be called by who acts alone. */
  async claimDue(node: string, limit: number): Promise<DueSlots & { readonly latestChange: number }> {
    const first = await this.#ask(node, limit, false);
    if (first.expired.length === 0) return first;
    await this.endLost(node, first.expired, "its claim was not renewed in time");
    // Once: a claim that cannot be ended must not keep others from theirs.
    return this.#ask(node, limit, true);
  }

  /** To be called by who acts alone. */
  async claim(node: string, { agent, schedule }: ScheduleKey): Promise<Claim | ClaimRefusal> {
    const { database, time, writer } = this.#options;
    const { now, leaseNow } = time.parameters;
    const [fields] = await database.query({
      name: `${database.schema}.claim_one`,
      text: `select * from ${database.schema}.claim_one($1, $2, $3, $4, $5, $6)`,
      values: [node, columnText(agent), columnText(schedule), now, leaseNow, this.#lease],
    });
    if (fields === undefined) return "disabled";
    const refusal = readRefusal(fields["kind"]);
    if (refusal !== undefined) return refusal;
    const row = readRow(fields);
    writer.note([row]);
    const claim = claimOf(row);
    if (claim === undefined) return "disabled";
    this.#hold([claim]);
    return claim;
  }

  /** Renews what was claimed here and has not ended, also for a holder that is late with it. */
  async renewHeld(): Promise<void> {
    const { time, leaseMs } = this.#options;
    const longAgoMs = time.monotonic() - LEASES_BRIDGED * leaseMs;
    for (const { claim, wantedMs } of this.#held.values())
      if (wantedMs < longAgoMs) this.#held.delete(claim.token);
    const renewals = Array.from(this.#held.values(), ({ claim }): Renewal => ({ claim, isHeld: false }));
    await Promise.all(renewals.map((renewal) => this.#renewals.add(renewal)));
    for (const { claim, isHeld } of renewals) if (!isHeld) this.#held.delete(claim.token);
  }

  /** To be called with claims that have ended. */
  forget(claims: Iterable<ClaimToken>): void {
    for (const { token } of claims) this.#held.delete(token);
  }

  /** Renewals that are asked for at once share a statement. */
  async renew(claim: ClaimToken): Promise<boolean> {
    const held = this.#held.get(claim.token);
    if (held !== undefined) held.wantedMs = this.#options.time.monotonic();
    const renewal: Renewal = { claim, isHeld: false };
    await this.#renewals.add(renewal);
    return renewal.isHeld;
  }

  /** Ends what this node holds, before it signs off. To be called by who acts alone. */
  async endOwn(node: string): Promise<void> {
    const { database } = this.#options;
    const rows = await database.query({
      text: `select ${ROW_COLUMNS} from ${database.schema}.schedules s where s.token is not null and s.owner = $1`,
      values: [node],
    });
    if (rows.length > 0) await this.endLost(undefined, rows.map(readRow), "its scheduler was closed");
  }

  /** Ends claims that nobody will end, and closes the records of their jobs. */
  async endLost(node: string | undefined, rows: readonly StateRow[], reason: string): Promise<void> {
    const { writer, time, jobs, logger } = this.#options;
    const operation = new EndLost(
      rows,
      ({ owner }) => owner === node,
      () => time.now(),
    );
    // Who knows the schedule plans it anew, where its slot is gone.
    await writer.write([{ keys: rows, operation, news: ["interrupted_count"] }]);
    this.forget(operation.ended);
    const outcomes = operation.ended.map(({ jobId }) => ({
      id: jobId,
      status: "interrupted" as const,
      error: reason,
      duration_ms: null,
    }));
    try {
      await jobs.finishAll(outcomes);
    } catch (cause) {
      logger.error(`Could not close ${outcomes.length} jobs, ${reason}: ${messageOf(cause)}`);
    }
  }

  async nextDueAt(node: string, lookedAt: Date | undefined): Promise<Date | undefined> {
    const { database } = this.#options;
    const [row] = await database.query({
      name: `${database.schema}.next_due`,
      text: `select ${database.schema}.next_due($1, $2) as due_at`,
      values: [node, lookedAt?.toISOString() ?? null],
    });
    const ms = msOf(row?.["due_at"]);
    return ms === undefined ? undefined : new Date(ms);
  }

  async #ask(node: string, limit: number, isPastExpired: boolean): Promise<ClaimAnswer> {
    const { database, time, writer } = this.#options;
    const { now, leaseNow } = time.parameters;
    const rows = await database.query({
      name: `${database.schema}.claim_due`,
      text: `select * from ${database.schema}.claim_due($1, $2, $3, $4, $5, $6)`,
      values: [node, Math.floor(Math.min(limit, MOST_CLAIMS)), now, leaseNow, this.#lease, isPastExpired],
    });
    const answer = readAnswer(rows);
    writer.note(answer.claimed);
    this.#hold(answer.claims);
    if (answer.at !== undefined && time.isTheDatabases) time.heard(answer.at);
    return answer;
  }

  #hold(claims: readonly Claim[]): void {
    const wantedMs = this.#options.time.monotonic();
    for (const { agent, schedule, token } of claims)
      this.#held.set(token, { claim: { agent, schedule, token }, wantedMs });
  }

  async #renewAll(batch: readonly Renewal[]): Promise<void> {
    const { database, time, writer } = this.#options;
    const { schema } = database;
    const claims = batch.map(({ claim }) => claim);
    const rows = await database.query({
      name: `${schema}.renew`,
      text: `update ${schema}.schedules s
          set lease_until = coalesce($4, clock_timestamp()) + $5::interval, version = s.version + 1
          from unnest($1::text[], $2::text[], $3::text[]) as c(agent, schedule, token)
          where s.agent = c.agent and s.schedule = c.schedule and s.token = c.token
          returning s.agent, s.schedule, s.token, s.version`,
      values: [
        ...keyColumns(claims),
        claims.map(({ token }) => token),
        time.parameters.leaseNow,
        this.#lease,
      ],
    });
    const held = new Set<unknown>();
    for (const { agent, schedule, token, version } of rows) {
      held.add(token);
      const key = { agent: textOfColumn(String(agent)), schedule: textOfColumn(String(schedule)) };
      writer.noteVersion(key, Number(version));
    }
    for (const renewal of batch) renewal.isHeld = held.has(renewal.claim.token);
  }
}
