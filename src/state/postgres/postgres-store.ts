/**
 * A store that the schedulers of many machines share. PostgreSQL decides by its own clock which node claims which slot, and
 * every write is refused when its row has changed since it was read. A node frees the claim of a different node only after its lease.
 */
import { hostname } from "node:os";
import type { Clock } from "../../clock.js";
import { messageOf, quote } from "../../errors.js";
import { type Logger, processLogger } from "../../logger.js";
import type { AgentPause, PauseDecision } from "../agent-pause.js";
import { checkDefinitions, checkKey, checkName, wholeState } from "../validate-state.js";
import { invalidState, StateError } from "../errors.js";
import type { JobRecord } from "../job-log/job-log.js";
import { leaseLength, longestHoldMs } from "../lease-length.js";
import { OutsideListeners } from "../outside-listeners.js";
import { SCHEDULE_KEYS, type ScheduleState } from "../schedule-state.js";
import { ChangeOperation, checkedChange, decisionBy } from "../operations.js";
import type {
  Claim,
  ClaimRefusal,
  ClaimToken,
  DefinedSchedule,
  Definitions,
  DueSlots,
  FinishResult,
  JobFinish,
  OutsideChange,
  ScheduleChange,
  ScheduleDecision,
  ScheduleKey,
  StateStore,
} from "../store.js";
import type { ScheduleRequest } from "../mailbox.js";
import { PostgresMailbox } from "./node/postgres-mailbox.js";
import { ChangeFeed } from "./connection/change-feed.js";
import { Claimer } from "./claims/claimer.js";
import { ClaimRenewals } from "./claims/claim-renewals.js";
import { Database } from "./connection/database.js";
import { DatabaseClock } from "./connection/database-clock.js";
import { readStates } from "./rows/fleet-rows.js";
import { changePause, readPauses } from "./rows/agent-pauses.js";
import { Heartbeat } from "./node/heartbeat.js";
import { requireReadCommitted } from "./connection/isolation.js";
import { requireOwnSessions } from "./connection/own-sessions.js";
import { takeListenerSlot } from "./connection/listener-slots.js";
import { migrateDatabase } from "./schema/migrate.js";
import { checkedNodeName, NodeRegistration } from "./node/node-registration.js";
import { PostgresJobLog } from "./jobs/postgres-job-log.js";
import type { PostgresStoreOptions } from "./options.js";
import { JobFinisher } from "./writes/job-finisher.js";
import { StateWriter } from "./writes/state-writer.js";
import type { News } from "./writes/decide-write.js";

/** The plans of a large fleet are one write. */
const SHORTEST_WRITE_TIMEOUT_MS = 10_000;

/** Keys whose changes are sent to the nodes that plan a schedule, by a node on which it is manual-only. */
const CONTROLLED_KEYS: News = ["status", "paused_until", "hint"];

export class PostgresStore implements StateStore {
  readonly leaseMs: number;
  readonly holdMs: number;
  readonly nodeName: string;
  readonly jobs: PostgresJobLog;
  readonly mailbox: PostgresMailbox;
  readonly #logger: Logger;
  readonly #database: Database;
  readonly #time: DatabaseClock;
  readonly #writer: StateWriter;
  readonly #claimer: Claimer;
  readonly #renewals: ClaimRenewals;
  readonly #finisher: JobFinisher;
  readonly #listeners: OutsideListeners;
  readonly #registration: NodeRegistration;
  #definitions: Definitions = { schedules: [] };
  /** The id of this node while the store is open. */
  #node: string | undefined;
  #feed: ChangeFeed | undefined;
  #leavePool: () => void = () => {};
  #heartbeat: Heartbeat | undefined;

  constructor(options: PostgresStoreOptions = {}) {
    const { connectionString, pool, schema = "rota", clock } = options;
    const leaseMs = leaseLength(options.leaseMs);
    const logger = options.logger ?? processLogger;
    this.leaseMs = leaseMs;
    this.holdMs = longestHoldMs(leaseMs);
    this.#logger = logger;
    const time = new DatabaseClock(clock);
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
    const jobs = new PostgresJobLog({ database, clock: time, whenTimeKnown, logger, node, ...options.jobs });
    this.jobs = jobs;
    this.mailbox = new PostgresMailbox({ database, time });
    const writer = new StateWriter({
      database,
      node,
      monotonic: () => time.monotonic(),
      timeoutMs: Math.max(leaseMs / 2, SHORTEST_WRITE_TIMEOUT_MS),
    });
    this.#writer = writer;
    const name = checkedNodeName(options.nodeName) ?? `${hostname()}:${process.pid}`;
    this.nodeName = name;
    const read = (keys: readonly ScheduleKey[]): ReturnType<StateWriter["read"]> => writer.read(keys);
    this.#registration = new NodeRegistration({ database, time, jobs, logger, name, leaseMs, read });
    this.#claimer = new Claimer({ database, writer, time, jobs, logger, leaseMs, holdMs: this.holdMs });
    this.#finisher = new JobFinisher(writer, jobs);
    this.#renewals = new ClaimRenewals({ database, writer, time, leaseMs });
    this.#listeners = new OutsideListeners(logger);
  }

  /** The database's time, known from the first reply on. */
  get clock(): Clock {
    return this.#time;
  }

  async open(clock?: Clock): Promise<void> {
    // Before anything is awaited: the caller may sleep by this clock meanwhile.
    if (this.#node === undefined) this.#time.adopt(clock);
    await this.#alone(async () => {
      if (this.#node !== undefined) return;
      // Before anything is written: a node must be able to listen.
      this.#leavePool = takeListenerSlot(this.#database.pool);
      try {
        await requireOwnSessions(this.#database.pool);
        await this.#openNode();
      } catch (error) {
        this.#leavePool();
        throw error;
      }
    });
  }

  /** When the database cannot be reached, the other nodes learn from the leases that this one is gone. */
  async close(): Promise<void> {
    await this.#claimer.alone(async () => {
      await this.#writer.alone(async () => {});
      const node = this.#node;
      this.#node = undefined;
      await Promise.all([this.#feed?.stop(), this.#heartbeat?.stop()]);
      this.#leavePool();
      try {
        await this.jobs.close();
        if (node !== undefined) {
          await this.#claimer.endOwn(node);
          await this.#registration.signOff(node);
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

  async define(definitions: Definitions): Promise<readonly DefinedSchedule[]> {
    checkDefinitions(definitions);
    // Copies: the caller may change its own while the store waits.
    const { agents, schedules } = structuredClone(definitions);
    return this.#alone(async () => {
      const node = this.#node;
      const rows =
        node === undefined
          ? await this.#writer.read(schedules)
          : await this.#registration.define(node, { agents, schedules });
      this.#claimer.define(this.#registration.schedules);
      this.#definitions = { agents, schedules };
      return rows.map(({ state }, index) => ({
        state: wholeState(state),
        isPlannedHere: schedules[index]?.isAutomatic !== false,
      }));
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
    const isManual = this.#node !== undefined && this.#registration.isManual(key);
    const news = isManual ? CONTROLLED_KEYS : this.#news;
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

  pauses(): Promise<ReadonlyMap<string, AgentPause>> {
    return readPauses(this.#database, this.#time.parameters.now);
  }

  async changePause(agent: string, decide: PauseDecision): Promise<AgentPause | undefined> {
    checkName("agent", agent);
    return changePause(this.#database, this.#time.parameters.now, agent, decide);
  }

  async claimDue(limit: number): Promise<DueSlots> {
    if (!(limit >= 0)) throw invalidState(`Invalid limit ${quote(limit)}: expected a number from 0.`);
    const node = this.#requireNode();
    if (!this.#time.isTheDatabases) await this.#registration.showLifeByGivenClock(node);
    const { claims, skipped, nextDueAt, latestChange } = await this.#claimer.claimDue(node, limit);
    // Notifications may be lost.
    if (this.#feed !== undefined && latestChange > this.#feed.reported) this.#feed.look();
    return { claims, skipped, nextDueAt };
  }

  async claim(key: ScheduleKey): Promise<Claim | ClaimRefusal> {
    return this.#claimer.claim(this.#requireDefined(key), key);
  }

  async claimFor(request: ScheduleRequest): Promise<Claim | ClaimRefusal | "answered"> {
    return this.#claimer.claimFor(this.#requireDefined(request), request);
  }

  /** Returns the id of this node. */
  #requireDefined(key: ScheduleKey): string {
    checkKey(key);
    const node = this.#requireNode();
    if (!this.#registration.isDefined(key))
      throw invalidState(
        `${quote(key.agent)}/${quote(key.schedule)} is not defined, so it cannot be claimed.`,
      );
    return node;
  }

  async renew(claim: ClaimToken): Promise<boolean> {
    const node = this.#requireNode();
    if (!this.#time.isTheDatabases) await this.#registration.showLifeByGivenClock(node);
    return this.#renewals.renew(claim);
  }

  async startJobs(jobs: readonly JobRecord[]): Promise<void> {
    this.#requireNode();
    await this.jobs.open(jobs);
  }

  async finishJobs(ends: readonly JobFinish[]): Promise<readonly FinishResult[]> {
    this.#requireNode();
    const results = await this.#finisher.finish(ends);
    const ended = ends.filter((_, index) => results[index]?.claim !== "failed");
    this.#claimer.noteEnded(ended.map(({ claim }) => claim));
    return results;
  }

  onChange(listener: (changes: readonly OutsideChange[]) => void): () => void {
    return this.#listeners.add(listener);
  }

  async #openNode(): Promise<void> {
    const sentMs = this.#time.monotonic();
    const { id, now, latestChange } = await this.#registration.register();
    await this.#registration.define(id, this.#definitions);
    this.#claimer.define(this.#registration.schedules);
    this.#node = id;
    const tell = (changes: readonly OutsideChange[]): void => this.#listeners.tell(changes);
    this.#feed = new ChangeFeed(
      { database: this.#database, logger: this.#logger, tell, tellRequests: () => this.mailbox.tell() },
      id,
      latestChange,
    );
    await this.#feed.start();
    await this.#registration.closeOrphans();
    if (!this.#time.isTheDatabases) return;
    this.#time.noteTime(now, sentMs);
    this.#heartbeat = new Heartbeat(this.leaseMs, () => this.#registration.showLife(id), this.#logger);
  }

  /** Acts while no claim and no write is under way. */
  #alone<Result>(act: () => Promise<Result>): Promise<Result> {
    return this.#claimer.alone(() => this.#writer.alone(act));
  }

  /** A node plans its own changes. Changes from outside are listed, so that the nodes plan by them. */
  get #news(): News {
    return this.#node === undefined ? SCHEDULE_KEYS : "wake";
  }

  #requireNode(): string {
    if (this.#node === undefined)
      throw new StateError("The store is not open: call open() first.", { code: "STATE_CLOSED" });
    return this.#node;
  }
}
