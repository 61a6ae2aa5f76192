/** Where everything is measured: one PostgreSQL and one Redis for all, a database and a process for each measurement. */
import { fork } from "node:child_process";
import { Client } from "pg";
import { peersNode } from "./peers.js";
import { startRedis } from "./redis.js";
import { startServer } from "./server.js";

const CHILD = new URL("./child.js", import.meta.url);
/** Who was not ready in time is tried again with more of it. */
const MOST_TRIES = 4;

export class Stage {
  #server;
  #child;

  /** Without a `url`, with the `reason` why there is none. */
  redis;

  async open() {
    this.#server = await startServer({ max_connections: 200 });
    this.redis = await startRedis();
    // What measures is ended, that fails, and everything is closed.
    for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => this.#child?.kill("SIGKILL"));
  }

  async close() {
    await this.redis.stop?.();
    await this.#server.stop();
  }

  /** What the process of one measurement sends back. */
  async measure(part, { name, contender, settings }, options) {
    const { file, needs, most = Infinity } = contender;
    const count = Math.min(options.count, most);
    const { pid } = needs === "redis" ? this.redis : this.#server;
    const all = { ...options, ...settings, count, redisUrl: this.redis.url, serverPid: pid };
    for (let tries = 1; tries <= MOST_TRIES; tries++) {
      const result = await this.#onDatabaseOfItsOwn((url) =>
        this.#answerOf(part, file, { ...all, tries, url }),
      );
      if (result.tooSlow !== true) return result;
    }
    throw new Error(`${name} was not ready in time.`);
  }

  /** The rows of the last of these statements. */
  async ask(...statements) {
    const client = new Client({ connectionString: this.#server.url });
    await client.connect();
    try {
      let rows = [];
      for (const statement of statements) ({ rows } = await client.query(statement));
      return rows;
    } finally {
      await client.end();
    }
  }

  async #onDatabaseOfItsOwn(act) {
    // What others have left to be written is not what this one costs.
    await this.ask("create database bench", "checkpoint");
    try {
      const url = new URL(this.#server.url);
      url.pathname = "/bench";
      return await act(url.href);
    } finally {
      await this.ask("drop database bench with (force)");
    }
  }

  #answerOf(part, file, options) {
    return new Promise((resolve, reject) => {
      const child = fork(CHILD, [part, file, JSON.stringify(options)], {
        execPath: peersNode(),
        env: { ...process.env, TZ: "UTC", NO_LOG_SUCCESS: "1" },
      });
      this.#child = child;
      let result;
      child.on("message", (message) => {
        result = message;
      });
      child.on("exit", (code) => {
        if (result === undefined) reject(new Error(`${file} ended with ${code} while measuring ${part}.`));
        else resolve(result);
      });
    });
  }
}
