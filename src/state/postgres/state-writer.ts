/**
 * Makes changes to states durable, those that wait for one write together in the next. Nothing is locked while it is
 * decided: rows are written only if they are still what was read, else all is decided again.
 */
import { isDeepStrictEqual } from "node:util";
import { ScheduleMap } from "../schedule-map.js";
import type { ScheduleState } from "../schedule-state.js";
import type { StateDraft } from "../state-operation.js";
import type { ScheduleKey } from "../state-store.js";
import { Turns } from "../../turns.js";
import { ROW_COLUMNS } from "./claim-functions.js";
import { type Database, isConflict, isLostReply } from "./database.js";
import { type ChangedRow, changeOf, RowDraft } from "./row-draft.js";
import { keyColumns, noRow, readRow, rowValues, type StateRow } from "./state-row.js";

export interface StateTask {
  readonly keys: readonly ScheduleKey[];
  /** May be asked again, on another draft. */
  readonly operation: { apply(draft: StateDraft & Pick<RowDraft, "versionOf">): void };
  readonly news: News;
}

/** What others hear of a change: nothing, that there was one, or what it has changed, so that they plan by it. */
export type News = "none" | "wake" | readonly (keyof ScheduleState)[];

interface Batch {
  readonly tasks: StateTask[];
  readonly written: Promise<void>;
}

const byId = (a: ChangedRow, b: ChangedRow): number => Number(a.row.id) - Number(b.row.id);

/** So many decisions in vain mean that something is wrong with more than the moment. */
const MOST_TRIES = 100;

export class StateWriter {
  readonly #database: Database;
  /** The node whose changes these are, if it is one: it need not hear of them itself. */
  readonly #node: () => string | undefined;
  readonly #turns = new Turns();
  /** Takes what comes until its turn has come. */
  #next: Batch | undefined;
  /** The rows of claims that are held here, as they were last known. */
  readonly #known = new ScheduleMap<StateRow>();

  constructor(database: Database, node: () => string | undefined) {
    this.#database = database;
    this.#node = node;
  }

  /** Resolves when the changes are durable; all are made in the order of the calls. */
  commit(task: StateTask): Promise<void> {
    if (this.#next === undefined) {
      const tasks: StateTask[] = [];
      const written = this.#turns.take(() => {
        if (this.#next?.tasks === tasks) this.#next = undefined;
        return this.write(tasks);
      });
      this.#next = { tasks, written };
    }
    this.#next.tasks.push(task);
    return this.#next.written;
  }

  /** Acts when all before it has been written, and before anything that is called later. */
  alone<Result>(act: () => Promise<Result>): Promise<Result> {
    this.#next = undefined;
    return this.#turns.take(act);
  }

  /** Takes note of rows as they are now, so that what is decided on them next need not read them. */
  note(rows: Iterable<StateRow>): void {
    for (const row of rows) this.#known.set(row, row);
  }

  /** As `note`, for one of which only the version is another. */
  noteVersion(key: ScheduleKey, version: number): void {
    const row = this.#known.get(key);
    if (row?.version === version - 1) this.#known.set(key, { ...row, version });
  }

  /** The rows of these schedules; of one that has none, an empty one. */
  async read(keys: readonly ScheduleKey[]): Promise<readonly StateRow[]> {
    const { schema } = this.#database;
    const answer = await this.#database.query({
      name: `${schema}.read`,
      text: `select ${ROW_COLUMNS} from unnest($1::text[], $2::text[]) as k(agent, schedule)
        join ${schema}.schedules s on s.agent = k.agent and s.schedule = k.schedule`,
      values: keyColumns(keys),
    });
    const found = new ScheduleMap<StateRow>();
    for (const fields of answer) {
      const row = readRow(fields);
      found.set(row, row);
    }
    return keys.map((key) => found.get(key) ?? noRow(key));
  }

  /** To be called by who acts alone. */
  async write(tasks: readonly StateTask[]): Promise<void> {
    const keys = tasks.flatMap((task) => task.keys);
    const news = newsOf(tasks);
    let rows = this.#allKnown(keys) ?? (await this.read(keys));
    for (let tries = 1; ; tries++) {
      const draft = new RowDraft(rows);
      for (const { operation } of tasks) operation.apply(draft);
      const changed = draft.changed();
      try {
        if (changed.length > 0) await this.#send(changed, news);
        this.#noteWritten(changed);
        return;
      } catch (error) {
        for (const key of keys) this.#known.delete(key);
        const mayBeWritten = isLostReply(error);
        if (!(isConflict(error) || mayBeWritten) || tries >= MOST_TRIES) throw error;
        rows = await this.read(keys);
        if (mayBeWritten && isWritten(changed, rows)) return;
      }
    }
  }

  #allKnown(keys: readonly ScheduleKey[]): readonly StateRow[] | undefined {
    const rows: StateRow[] = [];
    for (const key of keys) {
      const row = this.#known.get(key);
      if (row === undefined) return undefined;
      rows.push(row);
    }
    return rows;
  }

  #noteWritten(changed: readonly ChangedRow[]): void {
    for (const { row, state, keepsClaim } of changed) {
      if (keepsClaim && this.#known.get(row) !== undefined)
        this.#known.set(row, { ...row, state, version: row.version + 1 });
      else this.#known.delete(row);
    }
  }

  /** One statement, so that all of it is made or nothing. */
  async #send(changed: readonly ChangedRow[], news: News): Promise<void> {
    const { schema, schemaName } = this.#database;
    const parts: string[] = [];
    const values: unknown[] = [];
    const call = (name: string, parameters: readonly unknown[]): void => {
      const places = parameters.map((_, index) => `$${values.length + index + 1}`);
      parts.push(`${name}(${places.join(", ")})`);
      values.push(...parameters);
    };
    // In one order everywhere, so that no two wait for each other.
    const written = changed.filter(({ row }) => row.id !== undefined).toSorted(byId);
    if (written.length > 0) call(`${schema}.write_states`, writeParameters(written));
    const added = changed.filter(({ row }) => row.id === undefined);
    if (added.length > 0) call(`${schema}.add_states`, addParameters(added));
    if (typeof news !== "string") call(`${schema}.tell_change`, tellParameters(changed, news));
    if (news !== "none") call("pg_notify", [schemaName, news === "wake" ? (this.#node() ?? "") : ""]);
    const name = `${schema}.write ${written.length > 0} ${added.length > 0} ${typeof news} ${news === "none"}`;
    await this.#database.query({ name, text: `select ${parts.join(", ")}`, values });
  }
}

/** Whether the rows are what the changes would have made of them: only the answer was lost. */
function isWritten(changed: readonly ChangedRow[], rows: readonly StateRow[]): boolean {
  const now = new ScheduleMap<StateRow>();
  for (const row of rows) now.set(row, row);
  return changed.every(({ row, state }) => {
    const found = now.get(row);
    const version = row.id === undefined ? 0 : row.version + 1;
    return found?.id !== undefined && found.version === version && areSame(found.state, state);
  });
}

/** As a row holds them: times have one notation there. */
function areSame(one: Partial<ScheduleState>, other: Partial<ScheduleState>): boolean {
  const [first, second] = [one, other].map(rowValues);
  const [firstRest, secondRest]: unknown[] = [first?.rest, second?.rest].map((rest) =>
    JSON.parse(rest ?? "{}"),
  );
  return isDeepStrictEqual({ ...first, rest: firstRest }, { ...second, rest: secondRest });
}

function writeParameters(changed: readonly ChangedRow[]): unknown[] {
  const values = changed.map(({ state }) => rowValues(state));
  return [
    changed.map(({ row }) => row.id),
    changed.map(({ row }) => row.version),
    values.map(({ status }) => status),
    values.map(({ nextRunMs }) => nextRunMs),
    values.map(({ source }) => source),
    values.map(({ pauseMs }) => pauseMs),
    changed.map(({ keepsClaim }) => keepsClaim),
    values.map(({ rest }) => rest),
  ];
}

function addParameters(changed: readonly ChangedRow[]): unknown[] {
  const values = changed.map(({ state }) => rowValues(state));
  return [
    ...keyColumns(changed.map(({ row }) => row)),
    values.map(({ status }) => status),
    values.map(({ nextRunMs }) => nextRunMs),
    values.map(({ source }) => source),
    values.map(({ pauseMs }) => pauseMs),
    values.map(({ rest }) => rest),
  ];
}

/** What the most telling of the tasks has to say. */
function newsOf(tasks: readonly StateTask[]): News {
  const all = tasks.map(({ news }) => news);
  return all.find((news) => typeof news !== "string") ?? all.find((news) => news === "wake") ?? "none";
}

function tellParameters(changed: readonly ChangedRow[], told: readonly (keyof ScheduleState)[]): unknown[] {
  const changes = changed.map(changeOf);
  const keys = changes.map((change) => change.keys.filter((key) => told.includes(key)));
  return [...keyColumns(changes), JSON.stringify(keys)];
}
