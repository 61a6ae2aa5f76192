/**
 * The store of many schedulers on many machines: PostgreSQL decides who claims what, by its own clock, and every write
 * is fenced by what it was decided on. Only the end of a lease frees what another node runs.
 */
import type { Clock } from "../../clock.js";
import { messageOf, quote } from "../../errors.js";
import { type Logger, processLogger } from "../../logger.js";
import { checkDefinition, checkKey, checkName } from "../validate-state.js";
import { completion, givenBack } from "../claim-rules.js";
import { invalidState, StateError } from "../errors.js";
import { leaseLength } from "../lease-length.js";
import { OutsideListeners } from "../outside-listeners.js";
import { SCHEDULE_KEYS, type ScheduleState } from "../schedule-state.js";
import { ChangeOperation, checkedChange, decisionBy, type PatchRule } from "../operations.js";
import type {
  Claim,
  ClaimEnd,
  ClaimRefusal,
  ClaimToken,
  DueSlots,
  OutsideChange,
  ScheduleChange,
  ScheduleDecision,
  ScheduleDefinition,
  ScheduleKey,
  StateStore,
} from "../store.js";
import { wholeState } from "../whole-state.js";
import { ChangeFeed } from "./connection/change-feed.js";
import { ClaimDesk, MOST_CLAIMS } from "./claims/claimer.js";
import { ClaimEnds } from "./writes/claim-ends.js";
import { ClaimRenewals } from "./claims/claim-renewals.js";
import { Database } from "./connection/database.js";
import { readStates } from "./rows/fleet-rows.js";
import { Heartbeat } from "./node/heartbeat.js";
import { requireReadCommitted } from "./connection/isolation.js";
import { takeListeningPlace } from "./connection/listener-slots.js";
import { migrateDatabase } from "./schema/migrate.js";
import { checkedNodeName, signOff } from "./node/node.js";
import { NodeLife } from "./node/node-registration.js";
import { PostgresJobLog } from "./jobs/postgres-job-log.js";
import type { PostgresStoreOptions } from "./options.js";
import { StateWriter } from "./writes/state-writer.js";
import { StoreTime } from "./connection/database-clock.js";
import type { News } from "./writes/write-statement.js";

/** The plans of a large fleet are one write. */
const SHORTEST_WRITE_TIMEOUT_MS = 10_000;

/** What a node tells others of a schedule that it starts by hand only: who runs it at its times has to plan it anew. */
const CONTROLLED_KEYS: News = ["status", "paused_until", "hint"];

const asGivenBack: PatchRule = (state) => givenBack(state);

export class PostgresStore implements StateStore {
  readonly leaseMs: number;
  readonly isShared = true;
  readonly jobs: PostgresJobLog;
  readonly #logger: Logger;
  readonly #database: Database;
  readonly #time: StoreTime;
  readonly #writer: StateWriter;
  readonly #desk: ClaimDesk;
  readonly #renewals: ClaimRenewals;
  readonly #ends: ClaimEnds;
  readonly #listeners: OutsideListeners;
  readonly #life: NodeLife;
  #definitions: readonly ScheduleDefinition[] = [];
  /** The id of this node while it is open. */
  #node: string | undefined;
  #feed: ChangeFeed | undefined;
  #leavePool: () => void = () => {};
  #heartbeat: Heartbeat | undefined;

  constructor(options: PostgresStoreOptions = {}) {
    const { connectionString, pool, schema = "rota", clock } = options;
    const leaseMs = leaseLength(options.leaseMs);
    const logger = options.logger ?? processLogger;
    this.leaseMs = leaseMs;
    this.#logger = logger;
    const time = new StoreTime(clock);
    this.#time = time;
    const prepare = async (unprepared: Database): Promise<void> => {
      await requireReadCommitted(unprepared);
      await migrateDatabase(unprepared);
      await time.learn(unprepared);
    };
    const database = new Database({ connectionString, pool, schema, logger, prepare });
    this.#database = database;
    const whenTimeKnown = (): Promise<void> => database.prepare();
    const node = (): string | undefined => this.#node;
    this.jobs = new PostgresJobLog({ database, clock: time, whenTimeKnown, logger, node, ...options.jobs });
    const writer = new StateWriter({
      database,
      node,
      onWritten: ({ dueMs, leftMs, ended }) =>
        this.#desk.noteWritten({ dueMs, leftMs, hasEnded: ended.length > 0 }),
      monotonic: () => time.monotonic(),
      timeoutMs: Math.max(leaseMs / 2, SHORTEST_WRITE_TIMEOUT_MS),
    });
    this.#writer = writer;
    const { jobs } = this;
    const self = { name: checkedNodeName(options.nodeName), leaseMs };
    const read = (keys: readonly ScheduleKey[]): ReturnType<StateWriter["read"]> => writer.read(keys);
    this.#life = new NodeLife({ database, time, jobs, logger, node: self, read });
    this.#desk = new ClaimDesk({
      database,
      writer,
      time,
      jobs,
      logger,
      leaseMs,
      keyOf: (id) => this.#life.defined.keyOf(id),
    });
    this.#ends = new ClaimEnds(writer, jobs);
    this.#renewals = new ClaimRenewals({ database, writer, time, leaseMs });
    this.#listeners = new OutsideListeners(logger);
  }

  /** The database's time, known from the first answer on. */
  get clock(): Clock {
    return this.#time;
  }

  async open(clock?: Clock): Promise<void> {
    // At once: whoever opens it may sleep by it meanwhile.
    if (this.#node === undefined) this.#time.adopt(clock);
    await this.#alone(async () => {
      if (this.#node !== undefined) return;
      // Before anything is written: who cannot listen is no node.
      this.#leavePool = takeListeningPlace(this.#database.pool);
      try {
        await this.#openNode();
      } catch (error) {
        this.#leavePool();
        throw error;
      }
    });
  }

  /** What cannot be said any more is found out by others when its leases end. */
  async close(): Promise<void> {
    await this.#desk.alone(async () => {
      await this.#writer.alone(async () => {});
      const node = this.#node;
      this.#node = undefined;
      await Promise.all([this.#feed?.stop(), this.#heartbeat?.stop()]);
      this.#leavePool();
      try {
        await this.jobs.close();
        if (node !== undefined) {
          await this.#desk.endOwn(node);
          await signOff(this.#database, node);
        }
      } catch (error) {
        this.#logger.warn(`Could not sign off: ${messageOf(error)}`);
      }
      await this.#writer.alone(() => this.#database.close());
    });
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async define(definitions: readonly ScheduleDefinition[]): Promise<readonly ScheduleState[]> {
    for (const definition of definitions) checkDefinition(definition);
    const copies = definitions.map(({ agent, schedule, maxConcurrent, isAutomatic }) => ({
      agent,
      schedule,
      maxConcurrent,
      isAutomatic,
    }));
    return this.#alone(async () => {
      const node = this.#node;
      const rows =
        node === undefined ? await this.#writer.read(copies) : await this.#life.define(node, copies);
      this.#desk.forgetLooks();
      this.#definitions = copies;
      return rows.map(({ state }) => wholeState(state));
    });
  }

  async read(key: ScheduleKey): Promise<ScheduleState> {
    checkKey(key);
    const [row] = await this.#writer.read([key]);
    return wholeState(row?.state ?? {});
  }

  async list(agent: string): Promise<ReadonlyMap<string, ScheduleState>> {
    checkName("agent", agent);
    return (await readStates(this.#database, [agent])).get(agent) ?? new Map<string, ScheduleState>();
  }

  async update(key: ScheduleKey, change: ScheduleChange): Promise<ScheduleState> {
    checkKey(key);
    const { agent, schedule } = key;
    const operation = new ChangeOperation([{ agent, schedule }], decisionBy([checkedChange(change)]));
    const isByHand = this.#node !== undefined && this.#life.defined.isByHand(key);
    const news = isByHand ? CONTROLLED_KEYS : this.#news;
    await this.#writer.commit({ keys: [{ agent, schedule }], operation, news });
    const [state = {}] = operation.requireDone();
    return wholeState(state);
  }

  async updateAll(keys: readonly ScheduleKey[], decide: ScheduleDecision): Promise<void> {
    const checked = keys.map(({ agent, schedule }) => {
      const key = { agent, schedule };
      checkKey(key);
      return key;
    });
    const operation = new ChangeOperation(checked, decide);
    await this.#writer.commit({ keys: checked, operation, news: this.#news });
    operation.requireDone();
  }

  async claimDue(limit: number): Promise<DueSlots> {
    if (!(limit >= 0)) throw invalidState(`Invalid limit ${quote(limit)}: expected a number from 0.`);
    const node = this.#requireNode();
    await this.#life.liveByGivenClock(node);
    const { claims, skipped, latestChange } = await this.#desk.claimDue(node, limit);
    this.#feed?.noteLatest(latestChange);
    const hasMore = claims.length >= MOST_CLAIMS && limit > MOST_CLAIMS;
    return hasMore ? { claims, skipped, hasMore } : { claims, skipped };
  }

  /** Does nothing: a claim at its time is one round trip, and others could not see what was made ready here. */
  async reserve(): Promise<void> {
    this.#requireNode();
  }

  async claim(key: ScheduleKey): Promise<Claim | ClaimRefusal> {
    checkKey(key);
    const node = this.#requireNode();
    if (!this.#life.defined.has(key))
      throw invalidState(
        `${quote(key.agent)}/${quote(key.schedule)} is not defined, so it cannot be claimed.`,
      );
    return this.#desk.claim(node, key);
  }

  async renew(claim: ClaimToken): Promise<boolean> {
    await this.#life.liveByGivenClock(this.#requireNode());
    return this.#renewals.renew(claim);
  }

  async complete(claim: ClaimToken, change: ScheduleChange): Promise<boolean> {
    const [isHeld] = await this.#endAll([{ claim, change }], completion);
    return isHeld === true;
  }

  completeAll(ends: readonly ClaimEnd[]): Promise<readonly boolean[]> {
    return this.#endAll(ends, completion);
  }

  async release(claim: ClaimToken): Promise<boolean> {
    const [isHeld] = await this.#endAll([{ claim, change: {} }], asGivenBack);
    return isHeld === true;
  }

  async nextDueAt(lookedAt?: Date): Promise<Date | undefined> {
    const node = this.#node;
    return node === undefined ? undefined : this.#desk.nextDueAt(node, lookedAt);
  }

  onChange(listener: (changes: readonly OutsideChange[]) => void): () => void {
    return this.#listeners.add(listener);
  }

  async #openNode(): Promise<void> {
    const askedMs = this.#time.monotonic();
    const { id, now, latestChange } = await this.#life.register();
    await this.#life.define(id, this.#definitions);
    this.#node = id;
    const tell = (changes: readonly OutsideChange[]): void => this.#listeners.tell(changes);
    this.#feed = new ChangeFeed({ database: this.#database, logger: this.#logger, tell }, id, latestChange);
    await this.#feed.start();
    if (!this.#time.isTheDatabases) return;
    this.#time.heard(now, askedMs);
    this.#heartbeat = new Heartbeat(this.leaseMs, () => this.#life.live(id), this.#logger);
  }

  async #endAll(ends: readonly ClaimEnd[], toWrite: PatchRule): Promise<readonly boolean[]> {
    this.#requireNode();
    if (ends.length === 0) return [];
    const areHeld = await this.#ends.write(ends, toWrite);
    this.#desk.noteEnded(ends.map(({ claim }) => claim));
    return areHeld;
  }

  /** When nothing is being claimed or written. */
  #alone<Result>(act: () => Promise<Result>): Promise<Result> {
    return this.#desk.alone(() => this.#writer.alone(act));
  }

  /** A node plans for itself. What somebody else has changed, the nodes take account of. */
  get #news(): News {
    return this.#node === undefined ? SCHEDULE_KEYS : "wake";
  }

  #requireNode(): string {
    if (this.#node === undefined)
      throw new StateError("The store is not open: call open() first.", { code: "STATE_CLOSED" });
    return this.#node;
  }
}
