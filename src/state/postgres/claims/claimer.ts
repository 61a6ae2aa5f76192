/**
 * Claims slots for one node. The database decides which slots the node gets; claims whose leases have ended are ended here
 * first. Renewals are in claim-renewals.ts, the ends of jobs in writes/job-finisher.ts.
 */
import { messageOf } from "../../../errors.js";
import type { Logger } from "../../../logger.js";
import { AsyncLock } from "../../../async-lock.js";
import { givenBack, interruption } from "../../claim-rules.js";
import { type InterruptedJob, logInterrupted } from "../../interrupted-jobs.js";
import { interruptedRecord } from "../../job-log/interrupted-record.js";
import type { Claim, ClaimRefusal, ClaimToken, DueSlots, ScheduleKey } from "../../store.js";
import { claimOf, readReply, readRefusal } from "./claim-reply.js";
import type { ScheduleRequest } from "../../mailbox.js";
import { columnText } from "../rows/column-text.js";
import type { Statements } from "../connection/database.js";
import type { DatabaseClock } from "../connection/database-clock.js";
import type { LostJob } from "../jobs/job-rows.js";
import type { PostgresJobLog } from "../jobs/postgres-job-log.js";
import { DeferredSlots, NO_POLLS } from "./deferred-slots.js";
import { readRow, ROW_COLUMNS, type StateRow } from "../rows/state-row.js";
import type { StateWriter } from "../writes/state-writer.js";

export interface ClaimerOptions {
  readonly database: Statements;
  readonly writer: StateWriter;
  readonly time: DatabaseClock;
  readonly jobs: Pick<PostgresJobLog, "presumeInterrupted" | "presumeLost">;
  readonly logger: Logger;
  readonly leaseMs: number;
  /** How long a claim may be held without a renewal, in milliseconds. */
  readonly holdMs: number;
}

export interface ClaimedSlots extends DueSlots {
  /** The number of the latest change that came from outside the nodes. */
  readonly latestChange: number;
}

/** What fits into one statement and its reply; the next call claims the rest. */
const MOST_CLAIMS = 2_000;
const MOST_EXPIRED = 1_000;

export class Claimer {
  readonly #options: ClaimerOptions;
  readonly #lease: string;
  /** Claims are made one at a time, beside writes: neither waits for the other. */
  readonly #lock = new AsyncLock();
  readonly #deferred = new DeferredSlots();
  /** The defined schedules by the ids of their rows. */
  #schedules: ReadonlyMap<number, ScheduleKey> = new Map();
  /** The tokens of claims that were received and have not ended, as numbers to save memory. */
  readonly #received = new Set<number>();
  /**
   * Until then, on the monotonic clock, the database may name this node as the holder of claims whose replies were lost. A
   * whole lease, because a statement may be carried out after its time-out.
   */
  #searchUntilMs = -Infinity;

  constructor(options: ClaimerOptions) {
    this.#options = options;
    this.#lease = `${options.leaseMs} milliseconds`;
  }

  /** Replaces the schedules that may be claimed. No earlier poll could see the new ones. */
  define(schedules: ReadonlyMap<number, ScheduleKey>): void {
    this.#schedules = schedules;
    this.#deferred.forget();
  }

  /** Acts when no claim is being made, and before any later one. */
  alone<Result>(act: () => Promise<Result>): Promise<Result> {
    return this.#lock.take(act);
  }

  claimDue(node: string, limit: number): Promise<ClaimedSlots> {
    const askedMs = this.#options.time.monotonic();
    return this.#inTurn(async () => {
      if (askedMs < this.#searchUntilMs) await this.#giveBackUnknown(node);
      const first = await this.#claimOnce(node, limit, { askedMs, isPastExpired: false });
      if (first !== undefined) return first;
      await this.#endExpired(node);
      // Once only: a claim that cannot be ended must not keep this node from all slots.
      const second = await this.#claimOnce(node, limit, { askedMs, isPastExpired: true });
      return second ?? { claims: [], skipped: [], nextDueAt: undefined, latestChange: 0 };
    });
  }

  async claim(node: string, key: ScheduleKey): Promise<Claim | ClaimRefusal> {
    const claim = await this.#claimOne(node, key);
    return claim === "answered" ? "already_running" : claim;
  }

  /** Claiming and answering the request are one transaction. */
  claimFor(node: string, request: ScheduleRequest): Promise<Claim | ClaimRefusal | "answered"> {
    return this.#claimOne(node, request, request.id);
  }

  #claimOne(node: string, key: ScheduleKey, request?: string): Promise<Claim | ClaimRefusal | "answered"> {
    const askedMs = this.#options.time.monotonic();
    return this.#inTurn(async () => {
      const { database, time, writer, leaseMs } = this.#options;
      const { now, leaseNow } = time.parameters;
      const sentMs = time.monotonic();
      const called = request === undefined ? "claim_one" : "claim_request";
      const values = [node, columnText(key.agent), columnText(key.schedule), now, leaseNow, this.#lease];
      const [reply] = await database.query({
        name: `${database.schema}.${called}`,
        text: `select ${database.schema}.${called}($1, $2, $3, $4, $5, $6${request === undefined ? "" : ", $7"}) as refusal`,
        values: request === undefined ? values : [...values, request],
        timeoutMs: leaseMs,
      });
      if (reply?.["refusal"] === "answered") return "answered";
      const refusal = readRefusal(reply?.["refusal"]);
      if (refusal !== undefined) return refusal;
      const [row] = await writer.read([key]);
      const claim = row?.owner === node ? claimOf(row) : undefined;
      // A node took it over before the row was read, because the lease had ended.
      if (row === undefined || claim === undefined || this.#isTooLate(askedMs)) return "already_running";
      this.#received.add(Number(claim.token));
      writer.note([row]);
      if (time.isTheDatabases) time.noteTime(claim.claimedAt, sentMs);
      return claim;
    });
  }

  /** One at a time, after earlier changes. A request whose reply is lost may have claimed slots all the same. */
  #inTurn<Reply>(request: () => Promise<Reply>): Promise<Reply> {
    const { changed } = this.#options.writer;
    return this.#lock.take(async () => {
      try {
        await changed;
        return await request();
      } catch (error) {
        this.#noteLost();
        throw error;
      }
    });
  }

  /** To be called when claims have ended. */
  noteEnded(claims: Iterable<ClaimToken>): void {
    for (const { token } of claims) this.#received.delete(Number(token));
  }

  /** Interrupts the claims that this node still holds, before it signs off. To be called within `alone`. */
  async endOwn(node: string): Promise<void> {
    const rows = await this.#rowsOf(node, []);
    if (rows.length > 0) await this.#endLost(undefined, rows, "its scheduler was closed");
  }

  #noteLost(): void {
    const { time, leaseMs } = this.#options;
    this.#searchUntilMs = time.monotonic() + leaseMs;
  }

  /** Gives back the claims of this node whose replies were lost: otherwise their slots would wait for the leases to end. */
  async #giveBackUnknown(node: string): Promise<void> {
    const rows = await this.#rowsOf(node, [...this.#received]);
    if (rows.length > 0) await this.#endLost(node, rows, "the reply to its claim was lost");
  }

  /** The rows of a node's claims, without the tokens in `exceptTokens`. */
  async #rowsOf(node: string, exceptTokens: readonly number[]): Promise<readonly StateRow[]> {
    const { database } = this.#options;
    const rows = await database.query({
      text: `select ${ROW_COLUMNS} from ${database.schema}.states s join ${database.schema}.schedules n on n.id = s.id
        where s.id = any(array(select unnest(l.schedules) from ${database.schema}.leases l where l.owner = $1))
          and s.lease_until is not null and s.owner = $1 and s.token <> all($2)`,
      values: [node, exceptTokens],
      isText: true,
    });
    return rows.map(readRow);
  }

  async #endExpired(node: string): Promise<void> {
    const { database, time } = this.#options;
    const rows = await database.query({
      name: `${database.schema}.expired`,
      text: `select ${ROW_COLUMNS} from ${database.schema}.states s join ${database.schema}.schedules n on n.id = s.id
        where s.id = any(array(select unnest(l.schedules) from ${database.schema}.leases l
            where l.until <= coalesce($1, clock_timestamp())))
          and s.lease_until <= coalesce($1, clock_timestamp()) limit ${MOST_EXPIRED}`,
      values: [time.parameters.leaseNow],
      isText: true,
    });
    await this.#endLost(node, rows.map(readRow), "its claim was not renewed in time");
  }

  /**
   * Ends claims whose holders will not end them, and closes the records of their jobs. The claims of `node` are given back;
   * a claim of a different node counts as interrupted.
   */
  async #endLost(node: string | undefined, rows: readonly StateRow[], reason: string): Promise<void> {
    const { writer, time, jobs, logger } = this.#options;
    const now = time.now();
    const lost = rows.flatMap((row): LostJob[] => {
      const { state, owner, id: stateId } = row;
      const record = owner === node ? undefined : interruptedRecord(row, state, { now, error: reason });
      return record === undefined ? [] : [{ record, owner, stateId, token: state.claim?.token ?? "" }];
    });
    try {
      // Before the claims end: a node that dies in between leaves them to the next, and never a job without a record.
      await jobs.presumeLost(lost);
    } catch (cause) {
      logger.error(`Could not record ${lost.length} jobs, ${reason}: ${messageOf(cause)}`);
    }
    let ids: string[] = [];
    let interrupted: InterruptedJob[] = [];
    const operation: Parameters<StateWriter["commit"]>[0]["operation"] = {
      apply(draft) {
        ids = [];
        interrupted = [];
        for (const row of rows) {
          const state = draft.read(row);
          // The claim was renewed meanwhile, or has ended.
          if (state.claim == null || draft.versionOf(row) !== row.version) continue;
          ids.push(state.claim.job_id);
          const isOwn = row.owner === node;
          if (!isOwn) interrupted.push({ ...row, jobId: state.claim.job_id });
          draft.patch(row, isOwn ? givenBack(state) : interruption(state, time.now()));
        }
      },
    };
    // The nodes that plan the schedule plan it anew where its slot is gone.
    await writer.commit({ keys: rows, operation, news: ["interrupted_count"] });
    logInterrupted(logger, interrupted, reason);
    try {
      await jobs.presumeInterrupted(ids, reason);
    } catch (cause) {
      logger.error(`Could not close the records of ${ids.length} jobs, ${reason}: ${messageOf(cause)}`);
    }
  }

  /** `undefined` when leases have ended, so that nothing was claimed. */
  async #claimOnce(
    node: string,
    limit: number,
    { askedMs, isPastExpired }: { readonly askedMs: number; readonly isPastExpired: boolean },
  ): Promise<ClaimedSlots | undefined> {
    const { database, time, writer, leaseMs } = this.#options;
    const { now, leaseNow } = time.parameters;
    const most = Math.floor(Math.min(limit, MOST_CLAIMS));
    const sentMs = time.monotonic();
    const deferred = this.#deferred.isEmpty ? undefined : this.#deferred;
    const shared = deferred?.toShare(sentMs) ?? NO_POLLS;
    const [row = {}] = await database.query({
      name: `${database.schema}.claim_due`,
      text: `select * from ${database.schema}.claim_due($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
      values: [
        node,
        most,
        now,
        leaseNow,
        this.#lease,
        isPastExpired,
        isoOf(shared.pollMs),
        shared.fromMs === Infinity ? "infinity" : isoOf(shared.fromMs),
        deferred?.polls.map(isoOf) ?? [],
      ],
      isText: true,
      // After a whole lease the claims would be lost.
      timeoutMs: leaseMs,
    });
    const context = { node, schedules: this.#schedules, deferred };
    const { atMs, claims, claimed, skipped, oldestMs, nextMs, latestChange } = readReply(row, context);
    if (atMs === undefined) return undefined;
    const hasDeferred = claims.length >= most;
    if (hasDeferred || deferred !== undefined)
      this.#deferred.notePoll({ atMs, monotonicMs: sentMs, shared, hasDeferred, oldestMs });
    const hasMore = hasDeferred && limit > most;
    const nextDueAt = hasMore ? new Date(0) : nextMs === undefined ? undefined : new Date(nextMs);
    // This process stood still for so long that the leases are about to end.
    if (this.#isTooLate(askedMs)) return { claims: [], skipped, nextDueAt, latestChange };
    for (const { token } of claims) this.#received.add(Number(token));
    writer.note(claimed);
    if (time.isTheDatabases) time.noteTime(new Date(atMs), sentMs);
    return { claims, skipped, nextDueAt, latestChange };
  }

  #isTooLate(askedMs: number): boolean {
    const { time, holdMs } = this.#options;
    const isTooLate = time.monotonic() - askedMs >= holdMs;
    if (isTooLate) this.#noteLost();
    return isTooLate;
  }
}

function isoOf(ms: number | undefined): string | null {
  return ms === undefined || !Number.isFinite(ms) ? null : new Date(ms).toISOString();
}
