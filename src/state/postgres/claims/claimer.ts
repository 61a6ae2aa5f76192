/**
 * Claims, as one node takes and loses them. Who gets what is decided in the database; here it is asked, and what leases
 * have ended is cleared away first. How they are kept is claim-renewals.ts.
 */
import { messageOf } from "../../../errors.js";
import type { Logger } from "../../../logger.js";
import { AsyncLock } from "../../../async-lock.js";
import { longestHoldMs } from "../../lease-length.js";
import type { Claim, ClaimRefusal, ClaimToken, ScheduleKey } from "../../store.js";
import { type ClaimAnswer, claimOf, readAnswer, readRefusal } from "./claim-reply.js";
import { EndLost } from "./claim-operations.js";
import { columnText } from "../rows/column-text.js";
import type { Statements } from "../connection/database.js";
import type { PostgresJobLog } from "../jobs/postgres-job-log.js";
import { LeftSlots } from "./deferred-slots.js";
import { NextDue, type WrittenSlots } from "./next-due.js";
import { msOf, readRow, ROW_COLUMNS, type StateRow } from "../rows/state-row.js";
import type { StateWriter } from "../writes/state-writer.js";
import type { StoreTime } from "../connection/database-clock.js";
import { UnheardClaims } from "./lost-replies.js";

export interface ClaimDeskOptions {
  readonly database: Statements;
  readonly writer: StateWriter;
  readonly time: StoreTime;
  readonly jobs: Pick<PostgresJobLog, "presumeInterrupted">;
  readonly logger: Logger;
  readonly leaseMs: number;
  /** Which of the schedules that are defined has an id. */
  readonly keyOf: (id: number) => ScheduleKey | undefined;
}

/** What fits into a statement and an answer; more is claimed by the next call. */
export const MOST_CLAIMS = 2_000;
const MOST_EXPIRED = 1_000;
export class ClaimDesk {
  readonly #options: ClaimDeskOptions;
  readonly #lease: string;
  /** Claims are made one after the other, and beside what is written: neither has to wait for the other. */
  readonly #turns = new AsyncLock();
  readonly #left = new LeftSlots();
  readonly #next = new NextDue();
  readonly #unheard: UnheardClaims;

  constructor(options: ClaimDeskOptions) {
    this.#options = options;
    this.#lease = `${options.leaseMs} milliseconds`;
    this.#unheard = new UnheardClaims(options.leaseMs);
  }

  /** Acts when nothing is being claimed, and before anything is that is asked for later. */
  alone<Result>(act: () => Promise<Result>): Promise<Result> {
    return this.#turns.take(act);
  }

  claimDue(node: string, limit: number): Promise<ClaimAnswer> {
    const askedMs = this.#options.time.monotonic();
    return this.#heard(async () => {
      await this.#giveUnheardBack(node);
      const first = await this.#ask(node, limit, { askedMs, isPastExpired: false });
      if (first.atMs !== undefined) return first;
      await this.#endExpired(node);
      // Once: a claim that cannot be ended must not keep others from theirs.
      return this.#ask(node, limit, { askedMs, isPastExpired: true });
    });
  }

  claim(node: string, key: ScheduleKey): Promise<Claim | ClaimRefusal> {
    const askedMs = this.#options.time.monotonic();
    return this.#heard(() => this.#claimOne(node, key, askedMs));
  }

  async #claimOne(node: string, key: ScheduleKey, askedMs: number): Promise<Claim | ClaimRefusal> {
    const { database, time, writer } = this.#options;
    const { now, leaseNow } = time.parameters;
    const sentMs = time.monotonic();
    const [answer] = await database.query({
      name: `${database.schema}.claim_one`,
      text: `select ${database.schema}.claim_one($1, $2, $3, $4, $5, $6) as refusal`,
      values: [node, columnText(key.agent), columnText(key.schedule), now, leaseNow, this.#lease],
      timeoutMs: this.#options.leaseMs,
    });
    const refusal = readRefusal(answer?.["refusal"]);
    if (refusal !== undefined) return refusal;
    const [row] = await writer.read([key]);
    const claim = row?.owner === node ? claimOf(row) : undefined;
    // Taken away before it could be read: who asked was not in time.
    if (row === undefined || claim === undefined || this.#isTooLate(askedMs)) return "already_running";
    this.#unheard.noteHeard([claim]);
    writer.note([row]);
    if (time.isTheDatabases) time.heard(claim.claimedAt, sentMs);
    return claim;
  }

  /** One at a time. Whoever asks for claims and hears nothing may have some all the same. */
  #heard<Answer>(asking: () => Promise<Answer>): Promise<Answer> {
    const { changed } = this.#options.writer;
    return this.alone(async () => {
      try {
        await changed;
        return await asking();
      } catch (error) {
        this.#unheard.noteLost(this.#options.time.monotonic());
        throw error;
      }
    });
  }

  /** To be told of claims that have ended, whoever ended them. */
  noteEnded(claims: Iterable<ClaimToken>): void {
    this.#unheard.noteEnded(claims);
  }

  /** Ends what this node holds, before it signs off. To be called by who acts alone. */
  async endOwn(node: string): Promise<void> {
    const rows = await this.#rowsOf(node, []);
    if (rows.length > 0) await this.endLost(undefined, rows, "its scheduler was closed");
  }

  /** The claims of which nobody was told: their slots are due as before. */
  async #giveUnheardBack(node: string): Promise<void> {
    if (!this.#unheard.mayExist(this.#options.time.monotonic())) return;
    const rows = await this.#rowsOf(node, this.#unheard.heard);
    if (rows.length > 0) await this.endLost(node, rows, "its claim was never heard of");
  }

  /** The claims of a node, but for some. */
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
    await this.endLost(node, rows.map(readRow), "its claim was not renewed in time");
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
    await writer.commit({ keys: rows, operation, news: ["interrupted_count"] });
    const ids = operation.ended.map(({ jobId }) => jobId);
    try {
      await jobs.presumeInterrupted(ids, reason);
    } catch (cause) {
      logger.error(`Could not close ${ids.length} jobs, ${reason}: ${messageOf(cause)}`);
    }
  }

  /** To be called when schedules were written. */
  noteWritten(written: WrittenSlots): void {
    this.#next.noteWritten(written);
  }

  /** To be called when other schedules are defined. */
  forgetLooks(): void {
    this.#next.forget();
    this.#left.forget();
  }

  async nextDueAt(node: string, lookedAt: Date | undefined): Promise<Date | undefined> {
    const known = this.#next.at(lookedAt);
    if (known !== undefined) return known.dueAt;
    const { database } = this.#options;
    const [row] = await database.query({
      name: `${database.schema}.next_due`,
      text: `select date_part('epoch', ${database.schema}.next_due($1, $2, $3)) * 1000 as due`,
      values: [node, isoOf(lookedAt && this.#left.leftMs), isoOf(lookedAt?.getTime())],
    });
    const ms = msOf(row?.["due"]);
    return ms === undefined ? undefined : new Date(ms);
  }

  async #ask(
    node: string,
    limit: number,
    { askedMs, isPastExpired }: { readonly askedMs: number; readonly isPastExpired: boolean },
  ): Promise<ClaimAnswer> {
    const { database, time, writer, keyOf, leaseMs } = this.#options;
    const { now, leaseNow } = time.parameters;
    const most = Math.floor(Math.min(limit, MOST_CLAIMS));
    const sentMs = time.monotonic();
    this.#next.noteAsking();
    const news = this.#left.news(sentMs);
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
        isoOf(news.lookMs),
        news.fromMs === Infinity ? "infinity" : isoOf(news.fromMs),
        this.#left.looks.map(isoOf),
      ],
      isText: true,
      // Later it would be of no use.
      timeoutMs: leaseMs,
    });
    const seenMs = (dueMs: number): number | undefined => this.#left.seenMs(dueMs);
    const answer = readAnswer(row, { node, keyOf, seenMs });
    const { atMs, claims, oldestMs, hasLines, nextMs } = answer;
    if (atMs === undefined) return answer;
    const hasLeft = claims.length >= most;
    this.#left.note({ atMs, monotonicMs: sentMs, told: news, hasLeft, oldestMs });
    this.#next.noteLook({ atMs, hasLeft, hasLines, nextMs });
    // The process stood still: others may have them soon.
    if (this.#isTooLate(askedMs)) return { ...answer, claims: [], claimed: [] };
    this.#unheard.noteHeard(claims);
    writer.note(answer.claimed);
    if (time.isTheDatabases) time.heard(new Date(atMs), sentMs);
    return answer;
  }

  #isTooLate(askedMs: number): boolean {
    const { time, leaseMs } = this.#options;
    const nowMs = time.monotonic();
    const isTooLate = nowMs - askedMs >= longestHoldMs(leaseMs);
    if (isTooLate) this.#unheard.noteLost(nowMs);
    return isTooLate;
  }
}

function isoOf(ms: number | undefined): string | null {
  return ms === undefined || !Number.isFinite(ms) ? null : new Date(ms).toISOString();
}
