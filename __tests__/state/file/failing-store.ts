/** A store on a disk of which any single step can be made to fail. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { expect } from "vitest";
import { FakeClock } from "../../../src/clock.js";
import { FileStore } from "../../../src/state/file/file-store.js";
import { type TemporaryDirectory, temporaryDirectory } from "../temporary-directory.js";
import { systemError, WatchedDisk } from "../watched-disk.js";

export const CODES: readonly string[] = ["ENOSPC", "EIO", "EACCES", "EROFS", "EBUSY"];
export const KEY = { agent: "a", schedule: "s" };
export const PAST = "2026-01-01T00:00:00.000Z";
/** More than a page, so that a part of it is something. */
export const TEXT: string = "x".repeat(10_000);

export class Subject implements AsyncDisposable {
  readonly #temporary: TemporaryDirectory = temporaryDirectory();
  readonly stateDir: string = join(this.#temporary.path, "state");
  readonly file: string = join(this.stateDir, "state.yaml");
  readonly watched: WatchedDisk = new WatchedDisk();
  readonly clock: FakeClock = new FakeClock();
  readonly realClock: FakeClock = new FakeClock();
  readonly errors: string[] = [];
  readonly store: FileStore;

  constructor() {
    const note = (message: string): unknown => this.errors.push(message);
    this.store = new FileStore(
      {
        stateDir: this.stateDir,
        clock: this.clock,
        logger: { debug: () => {}, info: () => {}, warn: note, error: note },
      },
      { disk: this.watched.disk, realClock: this.realClock },
    );
  }

  /** A subject that owns its directory, with a file to lose. */
  static async opened(): Promise<Subject> {
    const subject = new Subject();
    await subject.store.open();
    await subject.store.define({ schedules: [KEY] });
    await subject.store.update(KEY, { last_error: TEXT, next_run_at: PAST });
    subject.watched.steps.length = 0;
    return subject;
  }

  get bytes(): string {
    return readFileSync(this.file, "utf8");
  }

  /** From now on, the step at this place fails, and with `isLasting` every one from there on. */
  failAt(place: number, code: string, isLasting = false): void {
    this.watched.steps.length = 0;
    this.watched.before = () => {
      const at = this.watched.steps.length - 1;
      if (at === place || (isLasting && at > place)) throw systemError(code);
    };
  }

  /** From now on, the first step with this name from this place on fails: on a busy machine the lock is renewed in between. */
  failFrom(place: number, name: string, code: string): void {
    let hasFailed = false;
    this.watched.steps.length = 0;
    this.watched.before = (step) => {
      if (hasFailed || this.watched.steps.length <= place || plainStep(step) !== name) return;
      hasFailed = true;
      throw systemError(code);
    };
  }

  repair(): void {
    this.watched.before = () => {};
  }

  /** Time passes only when the call needs it to. */
  async patiently<T>(call: Promise<T>): Promise<T> {
    const ended = call.then(
      () => true,
      () => true,
    );
    for (let turn = 0; !(await Promise.race([ended, setTimeout(1, false)])); turn++)
      if (turn > 50) await this.realClock.advance(100);
    return call;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.repair();
    await this.patiently(this.store.close()).catch(() => {}); // a test has seen it fail
    this.#temporary[Symbol.dispose]();
  }
}

/** What is in a state directory, and in its lock directories. */
export function filesIn(stateDir: string): string[] {
  return readdirSync(stateDir, { recursive: true, encoding: "utf8" }).toSorted();
}

export const OPEN_FILES: readonly unknown[] = [
  "owner.lock",
  expect.stringMatching(/^owner\.lock\/[\w-]+$/),
  "state.yaml",
  "state.yaml.lock",
];

/** A step with the same name in every run. */
function plainStep(step: string): string {
  return step.replaceAll(/\d+-\d+-[0-9a-f]{12}-[0-9a-f]{24}/g, "held");
}

export async function stepsOf(
  prepare: () => Promise<Subject>,
  act: (subject: Subject) => Promise<unknown>,
): Promise<string[]> {
  await using subject = await prepare();
  await act(subject);
  return subject.watched.steps.map(plainStep);
}

export const places = (steps: readonly string[]): [string, number][] =>
  steps.map((step, place) => [step, place]);

export const update = ({ store }: Subject, failure_count: number): Promise<unknown> =>
  store.update(KEY, { failure_count });

/** When these come, the new file is safe already, or there is none to write. */
export const TOO_LATE: ReadonlySet<string> = new Set(["unlink held.old", "unlink held", "close held"]);
