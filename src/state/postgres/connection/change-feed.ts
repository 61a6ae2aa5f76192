/**
 * Hears what others have changed: by notification at once, and by looking when one may have been lost. A connection that
 * breaks is made again, with longer and longer pauses while the database is away.
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
  /** Of nothing in particular where a node has changed something, which it has planned for itself. */
  readonly tell: (changes: readonly OutsideChange[]) => void;
}

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
  /** The latest change that was told, or made before anybody listened. */
  #told: number;

  constructor(options: ChangeFeedOptions, node: string, latestChange: number) {
    this.#options = options;
    this.#node = node;
    this.#told = latestChange;
  }

  /** Resolves when it listens, or has failed to and will try again. */
  async start(): Promise<void> {
    await this.#connect();
  }

  /** Nothing is told from now on. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#callOff();
    this.#drop(this.#client);
    await this.#lock.take(async () => {});
  }

  /** To be told of the latest change there is, whenever that is heard: notifications may be lost. */
  noteLatest(change: number): void {
    if (change > this.#told) this.#look();
  }

  async #connect(): Promise<void> {
    const { database, logger } = this.#options;
    let client: PostgresClient | undefined;
    try {
      client = await database.pool.connect();
      // Stopped meanwhile: who stopped it did not know of this one.
      if (this.#isStopped) return client.release(true);
      const lost = (): void => this.#reconnect(client);
      client.on("error", lost);
      client.on("end", lost);
      client.on("notification", ({ payload = "" }) => this.#hear(payload));
      this.#client = client;
      await client.query({ text: `listen ${database.schema}` });
      // Who waits for changes keeps the process by other means, or is not to.
      client.unref?.();
      this.#pauseMs = SHORTEST_PAUSE_MS;
      this.#look();
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
    // Not for others to use: it would go on hearing.
    client.release(true);
  }

  #hear(payload: string): void {
    if (this.#isStopped || payload === this.#node) return;
    if (payload === "") this.#look();
    else this.#options.tell([]);
  }

  #look(): void {
    void this.#lock.take(async () => {
      if (this.#isStopped) return;
      try {
        await this.#tellNew();
      } catch (error) {
        // The next claim finds that there are more.
        this.#options.logger.debug?.(`Could not read what others have changed: ${messageOf(error)}`);
      }
    });
  }

  async #tellNew(): Promise<void> {
    const { database, tell } = this.#options;
    const rows = await database.query({
      name: `${database.schema}.changes`,
      text: `select id, agent, schedule, keys from ${database.schema}.changes where id > $1 order by id`,
      values: [this.#told],
    });
    const latest = rows.at(-1);
    if (latest === undefined || this.#isStopped) return;
    this.#told = Number(latest["id"]);
    tell(rows.map(changeIn));
  }
}

function changeIn({ agent, schedule, keys }: Fields): OutsideChange {
  const named: readonly unknown[] = Array.isArray(keys) ? keys : [];
  return {
    agent: textOfColumn(String(agent)),
    schedule: textOfColumn(String(schedule)),
    keys: SCHEDULE_KEYS.filter((key: keyof ScheduleState) => named.includes(key)),
  };
}
