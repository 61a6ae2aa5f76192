/** What a node does to be one: it says what it may run, shows that it lives, and clears away what dead ones left. */
import { messageOf } from "../../../errors.js";
import type { Logger } from "../../../logger.js";
import type { ScheduleDefinition, ScheduleKey } from "../../store.js";
import type { Statements } from "../connection/database.js";
import { DefinedSchedules } from "../rows/defined-schedules.js";
import {
  type NodeDescription,
  prepareSchedules,
  type RegisteredNode,
  registerNode,
  returnNode,
  showLife,
  writeDefinitions,
} from "./node.js";
import type { PostgresJobLog } from "../jobs/postgres-job-log.js";
import type { StateRow } from "../rows/state-row.js";
import type { StoreTime } from "../connection/database-clock.js";

export interface NodeLifeOptions {
  readonly database: Statements;
  readonly time: StoreTime;
  readonly jobs: Pick<PostgresJobLog, "closeOrphans">;
  readonly logger: Logger;
  readonly node: NodeDescription;
  readonly read: (keys: readonly ScheduleKey[]) => Promise<readonly StateRow[]>;
}

const SIGNS_IN_A_LEASE = 3;

export class NodeLife {
  readonly #options: NodeLifeOptions;
  #defined = new DefinedSchedules();
  /** When it last showed that it lives, where a clock was given. */
  #livedMs = -Infinity;

  constructor(options: NodeLifeOptions) {
    this.#options = options;
  }

  /** What it may run. */
  get defined(): DefinedSchedules {
    return this.#defined;
  }

  register(): Promise<RegisteredNode> {
    const { database, node, time } = this.#options;
    return registerNode(database, node, time.parameters.leaseNow);
  }

  /** Says what it may run, in place of all said before, and answers the rows of that in the same order. */
  async define(id: string, definitions: readonly ScheduleDefinition[]): Promise<readonly StateRow[]> {
    const { database, read } = this.#options;
    await prepareSchedules(database, definitions);
    const rows = await read(definitions);
    const defined = new DefinedSchedules(rows, definitions);
    await writeDefinitions(database, id, defined);
    this.#defined = defined;
    return rows;
  }

  /** Shows that it lives, where no heart beats: by a clock that only its owner moves. */
  async liveByGivenClock(id: string): Promise<void> {
    const { time, node } = this.#options;
    const nowMs = time.monotonic();
    if (time.isTheDatabases || nowMs < this.#livedMs + node.leaseMs / SIGNS_IN_A_LEASE) return;
    this.#livedMs = nowMs;
    await this.live(id);
  }

  async live(id: string): Promise<void> {
    const { database, time, jobs, logger, node } = this.#options;
    const { leaseNow } = time.parameters;
    if (!(await showLife(database, id, leaseNow))) {
      await returnNode(database, id, node, leaseNow);
      await writeDefinitions(database, id, this.#defined);
    }
    try {
      await jobs.closeOrphans(leaseNow);
    } catch (error) {
      logger.warn(`Could not close the jobs of nodes that are gone: ${messageOf(error)}`);
    }
  }
}
