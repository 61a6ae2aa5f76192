/**
 * Bugs to be caught: each is a change to the text of a source file, made to a copy of src/ that is then simulated. A text
 * that is not found exactly once fails, so that a bug cannot silently stop being one when the sources change.
 */
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { transformWithOxc } from "vite";
import type { Rota } from "./simulation.js";

export interface PlantedBug {
  readonly name: string;
  /** A life in which it shows, where that takes long to find. Others are tried after it. */
  readonly seed?: number;
  /** By file, what is replaced by what. */
  readonly edits: readonly (readonly [file: string, from: string, to: string])[];
  /** The guarantees that it breaks, one of which has to be the first that is noticed. */
  readonly breaks: readonly string[];
}

export const PLANTED_BUGS: readonly PlantedBug[] = [
  {
    name: "the loop awaits its jobs",
    edits: [
      [
        "scheduler/loop/pass.ts",
        "    if (skipped.length > 0) await this.#planner.noteWaiting(",
        "    while (this.#jobs.size > 0) await this.#context.clock.sleep(10);\n    if (skipped.length > 0) await this.#planner.noteWaiting(",
      ],
    ],
    breaks: ["nobody delays another", "what may run runs at once"],
  },
  {
    name: "completing checks no token",
    edits: [
      [
        "state/owner/claim-queue.ts",
        "    return this.#held.find(claim);\n",
        "    return this.#entries.get(claim)?.heldBy ?? this.#held.find(claim);\n",
      ],
      [
        "state/owner/claim-queue.ts",
        "    const held = this.#held.find(claim);\n",
        "    const held = this.#entries.get(claim)?.heldBy ?? this.#held.find(claim);\n",
      ],
    ],
    breaks: ["one live claim"],
  },
  {
    name: "what a crash left running stays blocked",
    edits: [
      [
        "state/owner/operations.ts",
        'state.status !== "running" && state.claim == null',
        "state !== undefined",
      ],
      [
        "state/claim-rules.ts",
        'state.status === "disabled") return undefined;\n  return Math',
        'state.status === "disabled" || state.status === "running") return undefined;\n  return Math',
      ],
    ],
    breaks: ["nothing stays blocked", "what may run runs at once"],
  },
  {
    name: "a claim that is not held is taken for a running job",
    edits: [
      [
        "state/claim-rules.ts",
        "if (state.claim == null || isHeld(state.claim.token)) return state;",
        "if (isHeld !== undefined) return state;",
      ],
    ],
    breaks: ["nothing stays blocked"],
  },
  {
    name: "a claim that is not held when the store closes counts as interrupted",
    edits: [
      [
        "state/memory/memory-store.ts",
        "if (this.#isOpen) await this.free",
        "if (!this.#isOpen) await this.free",
      ],
    ],
    breaks: ["stop waits until all is recorded", "counters return to zero"],
  },
  {
    name: "capacity is forgotten within one pass",
    edits: [["state/owner/claim-queue.ts", "hasRoom(taking) && hasCapacity(due.agent)", "hasRoom(taking)"]],
    breaks: ["capacity of an agent"],
  },
  {
    name: "claims written during a stop are started",
    seed: 9,
    edits: [
      [
        "scheduler/jobs/job-starter.ts",
        "const entry = mayStart() ? roster.find(claim) : undefined;",
        "const entry = roster.find(claim);",
      ],
    ],
    breaks: ["nothing starts after stop"],
  },
  {
    name: "an idle pass does not see that the clock was set back",
    edits: [
      [
        "scheduler/loop/pass.ts",
        "idleMs <= this.#aheadMs || this.#setBackMs() >= SMALLEST_SET_BACK_MS",
        "idleMs <= this.#aheadMs",
      ],
    ],
    breaks: ["no silence"],
  },
  {
    name: "a wake during a pass is lost",
    edits: [
      ["scheduler/loop/wakeable-loop.ts", "news to it.\n    if (this.#isWoken) return;\n", "news to it.\n"],
    ],
    breaks: ["what may run runs at once"],
  },
  {
    name: "what comes due during a pass waits for the next check",
    edits: [
      [
        "scheduler/loop/pass.ts",
        "return Math.max(0, Math.min(dueInMs(), longestMs));",
        "return dueInMs() <= 0 && !mayHaveMore ? longestMs : Math.max(0, Math.min(dueInMs(), longestMs));",
      ],
    ],
    breaks: ["what may run runs at once"],
  },
  {
    name: "leases are not renewed",
    edits: [
      [
        "scheduler/claims/held-claims.ts",
        "renewals.map(({ claim }) => store.renew(claim))",
        "renewals.map(() => Promise.resolve(store !== undefined))",
      ],
      [
        "scheduler/jobs/job-starter.ts",
        "running?.isCompleting === false && running.mayGoOnUnder(claim)",
        "running === null",
      ],
    ],
    breaks: ["no schedule twice at once", "one start per slot", "waiting is not lateness"],
  },
  {
    name: "an interval counts from the start",
    edits: [
      ["scheduler/jobs/job-completer.ts", "completedAt: finishedAt,", "completedAt: running.startedAt,"],
    ],
    breaks: ["an interval counts from completion"],
  },
  {
    name: "a trigger forgets the fleet's limit",
    edits: [["scheduler/loop/pass.ts", '      if (this.isFull) return "full";\n', ""]],
    breaks: ["capacity of the fleet"],
  },
  {
    name: "a slot is dropped silently at capacity",
    edits: [
      [
        "scheduler/planning/planner.ts",
        '      if (verdict.action !== "plan") this.skip(key, reason, slot);\n',
        "",
      ],
      [
        "scheduler/planning/planner.ts",
        '"when_busy" in schedule && schedule.when_busy === "skip" && !isAskedFor(source)',
        "!isAskedFor(source)",
      ],
    ],
    breaks: ["every slot is accounted for"],
  },
  {
    name: "a slot that is dropped is planned again for the same moment",
    seed: 55,
    edits: [
      [
        "scheduler/planning/state-after-job.ts",
        "last_started_at: at, last_completed_at: at }",
        "last_started_at: state.last_started_at, last_completed_at: state.last_completed_at ?? at }",
      ],
    ],
    breaks: ["what may run runs at once", "nobody delays another", "a busy agent drops its slot"],
  },
  {
    name: "plans are made for the definition that was",
    edits: [
      [
        "scheduler/planning/planner.ts",
        "    this.#context.roster = roster;\n",
        "    void Promise.resolve().then(async () => {\n      for (let i = 0; i < 50; i++) await Promise.resolve();\n      this.#context.roster = roster;\n    });\n",
      ],
    ],
    breaks: ["no silence", "agents change at the next pass", "cron starts are on the grid"],
  },
  {
    name: "what is gone keeps its plan",
    edits: [
      [
        "scheduler/planning/planner.ts",
        "gone.map((key) => ({ key, write: () => this.#unplan(key) }))",
        "gone.slice(0, 0).map((key) => ({ key, write: () => this.#unplan(key) }))",
      ],
    ],
    breaks: ["agents change at the next pass"],
  },
  {
    name: "a completion overwrites that its schedule was disabled",
    edits: [
      [
        "state/claim-rules.ts",
        '  const end: ScheduleStatePatch = {\n    status: state.status === "disabled" ? "disabled" : "idle",',
        '  const end: ScheduleStatePatch = {\n    status: state.status === undefined ? "disabled" : "idle",',
      ],
    ],
    breaks: ["no acknowledged update is lost"],
  },
  {
    name: "a completion is given up after one failed write",
    seed: 24,
    edits: [
      [
        "scheduler/claims/held-claims.ts",
        "(!this.isOpen && --triesLeft <= 0)",
        "--triesLeft < TRIES_AFTER_STOP",
      ],
    ],
    breaks: [
      "nothing stays blocked",
      "one start per slot",
      "one final status per job",
      "counters return to zero",
    ],
  },
  {
    name: "a job that failed frees no capacity",
    edits: [
      [
        "scheduler/jobs/job-starter.ts",
        "      outcome = failureOf(error, job.isAborted);\n",
        "      if (!job.isAborted) return;\n      outcome = failureOf(error, job.isAborted);\n",
      ],
    ],
    breaks: ["counters", "nothing stays blocked"],
  },
  {
    name: "lateness is judged when a slot is claimed",
    edits: [
      [
        "state/owner/claim-queue.ts",
        "const seenAt = seenMs >= now.getTime() ? now : new Date(seenMs);",
        "const seenAt = seenMs === 0 ? now : now;",
      ],
    ],
    breaks: ["waiting is not lateness"],
  },
  {
    name: "what is written about a slot that waits makes it late",
    seed: 16,
    edits: [
      [
        "state/owner/claim-queue.ts",
        "    if (state.next_run_at !== entry.state.next_run_at) entry.seenMs = undefined;\n",
        "    entry.seenMs = undefined;\n",
      ],
    ],
    breaks: ["waiting is not lateness"],
  },
  {
    name: "the end of a pause is run as a slot",
    edits: [
      [
        "scheduler/planning/due-slot.ts",
        '  if (source === "paused") return { action: "plan" };\n',
        '  if (source === "paused") return { action: "run", source };\n',
      ],
    ],
    breaks: ["a pause is no slot"],
  },
  {
    name: "plans whose write failed are forgotten",
    seed: 171,
    edits: [["scheduler/planning/plan-writes.ts", "          this.#unwritten.set(name, plan);\n", ""]],
    breaks: ["no silence", "agents change at the next pass"],
  },
  {
    name: "a start is counted twice",
    edits: [["scheduler/jobs/job-starter.ts", "    this.#startCount++;\n", "    this.#startCount += 2;\n"]],
    breaks: ["counters"],
  },
  {
    name: "the end of a job is told with every try to record it",
    edits: [
      [
        "scheduler/jobs/job-completer.ts",
        "    const results = await Promise.allSettled([completing",
        '    this.#context.events.emit("job:finished", { job: job.record });\n    const results = await Promise.allSettled([completing',
      ],
    ],
    breaks: ["one final status per job"],
  },
  {
    name: "ends that could not be written together are forgotten",
    edits: [["scheduler/jobs/job-completer.ts", "      else void this.#writeAlone(job);\n", ""]],
    breaks: ["counters", "nothing stays blocked", "every end is told", "no result is lost"],
  },
  {
    name: "records that could not be closed together are taken for closed",
    edits: [
      [
        "scheduler/jobs/job-records.ts",
        "finishAll(opened.map(({ record }) => record));",
        "finishAll(opened.map(({ record }) => record)).catch(() => {});",
      ],
    ],
    breaks: ["one final status per job", "no result is lost", "every end is told"],
  },
  {
    name: "a job that has ended takes the next slot's claim for its own",
    seed: 781,
    edits: [
      [
        "scheduler/jobs/job.ts",
        "return !this.hasEnded || slot.getTime() === this.claim.slot.getTime();",
        "return slot !== undefined;",
      ],
    ],
    breaks: ["every slot is accounted for"],
  },
  {
    name: "a start that was recorded although that failed is recorded again",
    edits: [
      [
        "scheduler/jobs/job-records.ts",
        "return known?.agent === agent && known.schedule === schedule && known.slot === slot;",
        "return known === null && agent === schedule && slot === null;",
      ],
    ],
    breaks: ["every end is told", "no result is lost", "one final status per job"],
  },
  {
    name: "a clock that is set back silences everybody",
    edits: [
      [
        "scheduler/loop/pass.ts",
        "if (backMs < SMALLEST_SET_BACK_MS) return false;",
        "if (backMs < Infinity) return false;",
      ],
    ],
    breaks: ["no silence"],
  },
  {
    name: "a job ends as failed though it was cancelled",
    edits: [["scheduler/jobs/run-record.ts", 'isAborted ? "cancelled" : "failed"', '"failed"']],
    breaks: ["one final status per job"],
  },
];

const root = fileURLToPath(new URL("../../", import.meta.url));
const src = join(root, "src");
const scripts = new Map<string, Promise<string>>();

/** A copy of Rota with the bug in it. Beside the dependencies, so that it finds them. */
export async function withBug({ name, edits }: PlantedBug, index: number): Promise<Rota> {
  const folder = join(root, "node_modules/.cache/planted-bugs", `${process.pid}-${index}`);
  for (const file of readdirSync(src, { recursive: true, encoding: "utf8" })) {
    if (!file.endsWith(".ts")) continue;
    const text = edits
      .filter(([edited]) => join(edited) === file)
      .reduce(
        (before, [, from, to]) => replaceOnce(name, before, from, to),
        readFileSync(join(src, file), "utf8"),
      );
    const path = join(folder, file.replace(/\.ts$/, ".js"));
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, await toScript(file, text));
  }
  try {
    const load = (file: string): Promise<Record<string, unknown>> =>
      import(/* @vite-ignore */ pathToFileURL(join(folder, file)).href) as Promise<Record<string, unknown>>;
    const loaded = await Promise.all(
      [
        "scheduler/scheduler.js",
        "state/memory/memory-store.js",
        "state/postgres/postgres-store.js",
        "state/errors.js",
      ].map(load),
    );
    return Object.assign({}, ...loaded) as Rota;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function replaceOnce(name: string, text: string, from: string, to: string): string {
  if (text.split(from).length !== 2)
    throw new Error(`"${name}" finds its text not once, but ${text.split(from).length - 1} times: ${from}`);
  return text.replace(from, () => to);
}

/** Most files are the same in every copy. */
function toScript(file: string, text: string): Promise<string> {
  const known =
    scripts.get(text) ?? transformWithOxc(text, file, { sourcemap: false }).then(({ code }) => code);
  scripts.set(text, known);
  return known;
}
