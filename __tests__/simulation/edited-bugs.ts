/**
 * Bugs planted by changing the text of a source file, in a copy of src/ that is then simulated: for code without a seam of
 * its own. A text that is not found exactly once fails, so that a bug cannot silently stop being one.
 */
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { transformWithOxc } from "vite";
import type { Catch } from "./planted-bugs.js";
import type { Rota } from "./simulation.js";

export interface EditedBug extends Catch {
  /** By file, what is replaced by what. */
  readonly edits: readonly (readonly [file: string, from: string, to: string])[];
}

export const EDITED_BUGS: readonly EditedBug[] = [
  {
    name: "a slot that is only reserved is taken for a running job",
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
    name: "what a stop finds reserved counts as interrupted",
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
    name: "a job ends as failed though it was cancelled",
    edits: [["scheduler/jobs/run-record.ts", 'isAborted ? "cancelled" : "failed"', '"failed"']],
    breaks: ["one final status per job"],
  },
];

const root = fileURLToPath(new URL("../../", import.meta.url));
const src = join(root, "src");
let copies = 0;
const scripts = new Map<string, Promise<string>>();

/** A copy of Rota with the bug in it. Beside the dependencies, so that it finds them. */
export async function withEdits({ name, edits }: EditedBug): Promise<Rota> {
  const folder = join(root, "node_modules/.cache/planted-bugs", `${process.pid}-${copies++}`);
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
