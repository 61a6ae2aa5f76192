/** Kills a process that writes, over and over, and looks each time at what it left behind. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { expect } from "vitest";
import { parse } from "yaml";
import type { Random, ScheduleState } from "../../../src/index.js";
import { FileStore } from "../../../src/state/file/file-store.js";
import { Child, until } from "../child.js";
import { temporaryDirectory } from "../temporary-directory.js";

const COUNT = { agent: "a", schedule: "count" };
const TASK = { agent: "b.with/odd: name", schedule: "task" };

/** What the file says: the count, the last completed number, and whether the task runs. */
interface Said {
  readonly count: number;
  readonly completed: number;
  readonly status: string;
}

/** The steps in the order in which the process makes them, and what the file says after each. */
const AFTER: Readonly<Record<string, (number: number) => Said>> = {
  ready: (number) => ({ count: number, completed: number, status: "idle" }),
  updated: (number) => ({ count: number, completed: number - 1, status: "idle" }),
  claimed: (number) => ({ count: number, completed: number - 1, status: "running" }),
  completed: (number) => ({ count: number, completed: number, status: "idle" }),
};
const NEXT: Readonly<Record<string, (number: number) => Said>> = {
  ready: (number) => ({ count: number + 1, completed: number, status: "idle" }),
  updated: (number) => ({ count: number, completed: number - 1, status: "running" }),
  claimed: (number) => ({ count: number, completed: number, status: "idle" }),
  completed: (number) => ({ count: number + 1, completed: number, status: "idle" }),
};

/** Answers how many writes were acknowledged in all. */
export async function crashCycles(cycles: number, random: Random): Promise<number> {
  using temporary = temporaryDirectory();
  const stateDir = join(temporary.path, "state");
  let acknowledged = 0;
  let count = 0;
  for (let cycle = 0; cycle < cycles; cycle++) {
    await using child = new Child("write-until-killed.js", [stateDir]);
    // Some are killed while they open the store, or before.
    if (cycle % 5 === 4) await setTimeout(random() * 300);
    else await until(acknowledgements(child, Math.floor(random() * 20)));
    await setTimeout(random() * 4);
    await child.kill();
    acknowledged += child.lines.length;
    const said = await readWithoutDamage(stateDir);
    expect(possibleAfter(child.lines.at(-1), count)).toContainEqual(said);
    count = said.count;
    await expectRecovery(stateDir);
  }
  return acknowledged;
}

function acknowledgements(child: Child, number: number): () => boolean {
  return () => child.lines.length > number || child.exitCode !== null;
}

/** What the file may say after the last acknowledgement: that, and what the next write makes of it. */
function possibleAfter(line: string | undefined, count: number): unknown[] {
  if (line === undefined) return [{ count, completed: expect.any(Number), status: "idle" }];
  const [step = "", number] = line.split(" ");
  return [AFTER[step]?.(Number(number)), NEXT[step]?.(Number(number))];
}

/** Read as YAML, which is a second opinion, and as a guest. */
async function readWithoutDamage(stateDir: string): Promise<Said> {
  const warnings: string[] = [];
  const warn = (message: string): unknown => warnings.push(message);
  const logger = { debug: () => {}, info: () => {}, warn, error: warn };
  await using guest = new FileStore({ stateDir, logger });
  const count = await guest.read(COUNT);
  const task = await guest.read(TASK);
  expect(warnings).toEqual([]);
  const { agents } = parse(readFileSync(join(stateDir, "state.yaml"), "utf8")) as {
    agents: Record<string, { schedules: Record<string, ScheduleState> }>;
  };
  expect(count).toMatchObject(agents[COUNT.agent]?.schedules[COUNT.schedule] ?? {});
  expect(task).toMatchObject(agents[TASK.agent]?.schedules[TASK.schedule] ?? {});
  return { count: count.missed_count ?? 0, completed: completedNumber(task), status: task.status };
}

/** An interruption, which the last recovery wrote, is put right before the process is ready. */
function completedNumber({ last_error }: ScheduleState): number {
  return Number(last_error ?? 0);
}

async function expectRecovery(stateDir: string): Promise<void> {
  await using store = new FileStore({ stateDir });
  await store.open();
  const left = readdirSync(stateDir).filter((name) => name !== "jobs"); // there once a job has started
  expect(left.toSorted()).toEqual(["owner.lock", "state.yaml", "state.yaml.lock"]);
  expect(readdirSync(join(stateDir, "state.yaml.lock"))).toEqual([]);
  expect(readdirSync(join(stateDir, "owner.lock"))).toEqual([expect.stringMatching(`^${process.pid}-`)]);
  expect((await store.read(TASK)).status).toBe("idle");
  expect(await store.jobs.list({ status: "running" })).toEqual([]);
}
