/**
 * Receives changes that other nodes and programs make: by notification, and by a query when a notification may have been
 * lost. A broken connection is made again, with growing pauses while the database is away.
 */
import { unrefClock, wakeAfter } from "../../../clock.js";
import { messageOf } from "../../../errors.js";
import type { Fields } from "../../../fields.js";
import type { Logger } from "../../../logger.js";
import { AsyncLock } from "../../../async-lock.js";
import { SCHEDULE_KEYS, type ScheduleState } from "../../schedule-state.js";
import type { OutsideChange } from "../../store.js";
import { textOfColumn } from "../rows/column-text.js";
import type { Database, PostgresClient } from "./database.js";

export interface ChangeFeedOptions {
  readonly database: Database;
  readonly logger: Logger;
  /** Called with an empty list when a node has changed a state, because that node plans it itself. */
  readonly tell: (changes: readonly OutsideChange[]) => void;
  /** Called when there are new requests. */
  readonly tellRequests: () => void;
}

/** What a notification says that tells of an answer to a request: no node needs it. */
export const ANSWERED = "answered";
/** Stands among the keys of a change that is a new request. */
export const REQUEST_KEY = "request";

const SHORTEST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 1_000;

export class ChangeFeed {
  readonly #options: ChangeFeedOptions;
  readonly #node: string;
  readonly #lock = new AsyncLock();
  #client: PostgresClient | undefined;
  #isStopped = false;
  #pauseMs = SHORTEST_PAUSE_MS;
  #callOff: () => void = () => {};
  /** The number of the latest change that was reported, or made before this feed started. */
  reported: number;

  constructor(options: ChangeFeedOptions, node: string, latestChange: number) {
    this.#options = options;
    this.#node = node;
    this.reported = latestChange;
  }

  /** Resolves when the feed listens, or has failed to and will try again. */
  async start(): Promise<void> {
    await this.#connect();
  }

  /** From now on no change is reported. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#callOff();
    this.#drop(this.#client);
    await this.#lock.take(async () => {});
  }

  async #connect(): Promise<void> {
    const { database, logger } = this.#options;
    let client: PostgresClient | undefined;
    try {
      client = await database.pool.connect();
      // `stop` was called while this connection was being made.
      if (this.#isStopped) return client.release(true);
      const lost = (): void => this.#reconnect(client);
      client.on("error", lost);
      client.on("end", lost);
      client.on("notification", ({ payload = "" }) => this.#hear(payload));
      this.#client = client;
      await client.query({ text: `listen ${database.schema}` });
      // A listening connection alone does not keep the process running.
      client.unref?.();
      this.#pauseMs = SHORTEST_PAUSE_MS;
      this.look();
    } catch (error) {
      logger.debug?.(`Could not listen for changes: ${messageOf(error)}`);
      this.#reconnect(client);
    }
  }

  #reconnect(client: PostgresClient | undefined): void {
    if (client !== this.#client || this.#isStopped) return;
    this.#drop(client);
    this.#callOff();
    this.#callOff = wakeAfter(unrefClock, this.#pauseMs, () => void this.#connect());
    this.#pauseMs = Math.min(2 * this.#pauseMs, LONGEST_PAUSE_MS);
  }

  #drop(client: PostgresClient | undefined): void {
    if (client === undefined || client !== this.#client) return;
    this.#client = undefined;
    // Closed, not returned to the pool: it would go on listening.
    client.release(true);
  }

  #hear(payload: string): void {
    if (this.#isStopped || payload === this.#node || payload === ANSWERED) return;
    if (payload === "") this.look();
    else this.#options.tell([]);
  }

  /** Reads the changes after `reported` and reports them. */
  look(): void {
    void this.#lock.take(async () => {
      if (this.#isStopped) return;
      try {
        await this.#tellNew();
      } catch (error) {
        // The next claim reports that there are changes.
        this.#options.logger.debug?.(`Could not read changes: ${messageOf(error)}`);
      }
    });
  }

  async #tellNew(): Promise<void> {
    const { database, tell } = this.#options;
    const rows = await database.query({
      name: `${database.schema}.changes`,
      text: `select id, agent, schedule, keys from ${database.schema}.changes where id > $1 order by id`,
      values: [this.reported],
    });
    const latest = rows.at(-1);
    if (latest === undefined || this.#isStopped) return;
    this.reported = Number(latest["id"]);
    if (rows.some(isRequest)) this.#options.tellRequests();
    const changes = rows.map(changeIn).filter(({ keys }) => keys.length > 0);
    if (changes.length > 0) tell(changes);
  }
}

function isRequest({ keys }: Fields): boolean {
  return Array.isArray(keys) && keys.includes(REQUEST_KEY);
}

function changeIn({ agent, schedule, keys }: Fields): OutsideChange {
  const named: readonly unknown[] = Array.isArray(keys) ? keys : [];
  return {
    agent: textOfColumn(String(agent)),
    schedule: textOfColumn(String(schedule)),
    keys: SCHEDULE_KEYS.filter((key: keyof ScheduleState) => named.includes(key)),
  };
}
