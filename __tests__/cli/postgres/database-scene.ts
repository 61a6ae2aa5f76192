/** A terminal whose commands use a new schema in the shared server. */
import { inject, onTestFinished } from "vitest";
import type { ExitCode } from "../../../src/cli/exit-codes.js";
import type { JobOutcomeRecord, NewJob } from "../../../src/state/job-log/job-log.js";
import { migrate } from "../../../src/state/postgres/schema/migrate.js";
import { PostgresStore, type PostgresStoreOptions } from "../../../src/state/postgres/index.js";
import type { ScheduleState, ScheduleStatePatch } from "../../../src/state/schedule-state.js";
import { key } from "../../state/postgres/scene.js";
import { newSchema, sharedPool, unmadeSchema } from "../../state/postgres/schema.js";
import { recordJob } from "../record-job.js";
import { FLEET } from "../scene.js";
import { Terminal, type TerminalOptions } from "../terminal.js";

export class DatabaseScene extends Terminal {
  readonly schema: string;
  readonly url: string = inject("databaseUrl");

  constructor(options: TerminalOptions = {}, schema: string = newSchema()) {
    super(options);
    this.schema = schema;
  }

  /** With tables and a configuration, before any run. */
  static async made(options: TerminalOptions = {}): Promise<DatabaseScene> {
    const scene = new DatabaseScene(options);
    scene.write(FLEET);
    await migrate(sharedPool(), scene.schema);
    return scene;
  }

  /** Without a schema in the database. */
  static unmade(): DatabaseScene {
    return new DatabaseScene({}, unmadeSchema());
  }

  /** With the tables of a newer version of Rota. */
  static async newer(): Promise<DatabaseScene> {
    const scene = DatabaseScene.unmade();
    await migrate(sharedPool(), scene.schema);
    await sharedPool().query(`insert into "${scene.schema}".migrations (number) values (99)`);
    return scene;
  }

  /** The options that name the database. */
  get where(): string[] {
    return ["--database-url", this.url, "--database-schema", this.schema];
  }

  /** The database's name in messages. */
  get location(): string {
    const { protocol, username, host, pathname } = new URL(this.url);
    return `${protocol}//${username}@${host}${pathname}, schema ${this.schema}`;
  }

  /** Calls a command on the database. */
  override run(...args: string[]): Promise<ExitCode> {
    return super.run(...args, ...this.where);
  }

  /** Calls a command without the database's options. */
  runAlone(...args: string[]): Promise<ExitCode> {
    return super.run(...args);
  }

  /** A store as a scheduler uses it, on this terminal's clock. */
  store(options: Partial<PostgresStoreOptions> = {}): PostgresStore {
    const { clock, schema } = this;
    const store = new PostgresStore({ pool: sharedPool(), schema, clock, ...options });
    onTestFinished(() => store.close());
    return store;
  }

  /** Makes all nodes late, because heartbeats do not follow this terminal's clock. */
  async silence(): Promise<void> {
    await sharedPool().query(`update "${this.schema}".nodes set seen_at = seen_at - interval '1 minute'`);
  }

  /** Whether the schema exists. */
  async isMade(): Promise<boolean> {
    const { rows } = await sharedPool().query("select from pg_namespace where nspname = $1", [this.schema]);
    return rows.length > 0;
  }

  async state(name: string, patch: ScheduleStatePatch): Promise<void> {
    await this.store().update(key(name), patch);
  }

  stateOf(name: string): Promise<ScheduleState> {
    return this.store().read(key(name));
  }

  job(job: Partial<NewJob>, end?: JobOutcomeRecord, output?: string): Promise<string> {
    return recordJob(this.store(), job, end, output);
  }
}
