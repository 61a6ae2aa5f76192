/** A process that is killed while it ends a job: after recovery the state and the record tell the same. */
import { appendFileSync, cpSync, existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { FakeClock } from "../../../src/clock.js";
import type { EndedJobRecord } from "../../../src/index.js";
import { FileStore } from "../../../src/state/file/file-store.js";
import { signedName } from "../../../src/state/file/lock/process-identity.js";
import { recordOutcome } from "../../../src/state/claim-rules.js";
import type { Claim, JobFinish } from "../../../src/state/store.js";
import { endedRecord, startedRecord } from "../../contract/records.js";
import { stateDirectory } from "../temporary-directory.js";
import { WatchedDisk } from "../watched-disk.js";

const KEY = { agent: "a", schedule: "x" };
const SLOT = "2026-03-01T00:00:00.000Z";
const FINISHED = "2026-03-01T00:00:01.000Z";
const NEXT = "2026-03-01T01:00:00.000Z";
const quiet = { info() {}, warn() {}, error() {} };

type Fields = Partial<EndedJobRecord>;

const record = ({ jobId }: Claim, fields: Fields = {}): EndedJobRecord =>
  endedRecord(jobId, {
    ...KEY,
    slot: SLOT,
    started_at: SLOT,
    finished_at: FINISHED,
    duration_ms: 1000,
    ...fields,
  });

/** A job that ended, and the state that its scheduler would write. */
function finishOf(claim: Claim, fields: Fields = {}): JobFinish {
  const { status, error } = record(claim, fields);
  const outcome = {
    startedAt: new Date(SLOT),
    completedAt: new Date(FINISHED),
    error: status === "completed" ? undefined : (error ?? status),
  };
  return {
    claim,
    change: (state) => ({
      ...recordOutcome(state, outcome),
      next_run_at: NEXT,
      next_run_source: "baseline-interval",
    }),
    record: record(claim, fields),
  };
}

interface Scene {
  readonly stateDir: string;
  readonly store: FileStore;
  readonly watched: WatchedDisk;
  readonly claim: Claim;
  readonly clock: FakeClock;
}

async function claimed({ isStarted = true }: { isStarted?: boolean } = {}): Promise<Scene> {
  const stateDir = stateDirectory();
  const watched = new WatchedDisk();
  const clock = new FakeClock(SLOT);
  const store = new FileStore({ stateDir, clock, logger: quiet }, { disk: watched.disk });
  await store.open();
  await store.update(KEY, { next_run_at: SLOT, next_run_source: "baseline-interval", failure_count: 2 });
  await store.define({ schedules: [KEY] });
  const [claim] = (await store.claimDue(1)).claims as [Claim];
  if (isStarted)
    await store.startJobs([startedRecord(claim.jobId, { ...KEY, slot: SLOT, started_at: SLOT })]);
  watched.steps.length = 0;
  return { stateDir, store, watched, claim, clock };
}

const isLogStep = (step: string): boolean => step.endsWith(".jsonl") || step.endsWith(" jobs");
/** The last steps of writing the record and of writing the state. */
const LAST_STEPS = [/^close \d{4}-\d\d-\d\d\.jsonl$/, /^close \d+-/];

/**
 * Ends the job, and never comes back from a step for which `isLost` holds, as if the process were killed there. Resolves
 * when nothing more happens.
 */
async function killedAt(scene: Scene, isLost: (step: string) => boolean, fields?: Fields): Promise<void> {
  const { store, watched, claim } = scene;
  const lost: string[] = [];
  const gate = new Gate();
  watched.before = async (step) => {
    if (!isLost(step)) return;
    lost.push(step);
    await gate.opened;
  };
  const finishing = store.finishJobs([finishOf(claim, fields)]).catch(() => {});
  onTestFinished(async () => {
    watched.before = () => {};
    gate.open();
    await finishing;
    await store.close();
  });
  await vi.waitFor(() => {
    const isOver = LAST_STEPS.map((last) => watched.count(last) > 0);
    const areLost = [lost.some(isLogStep), lost.some((step) => !isLogStep(step))];
    expect(isOver.map((is, index) => is || areLost[index])).toEqual([true, true]);
  });
}

class Gate {
  open: () => void = () => {};
  readonly opened: Promise<void> = new Promise((resolve) => {
    this.open = resolve;
  });
}

/** What the killed process left on disk. */
function copyOf({ stateDir }: Scene): string {
  const copy = stateDirectory();
  cpSync(join(stateDir, "state.yaml"), join(copy, "state.yaml"));
  const jobs = join(stateDir, "jobs");
  if (existsSync(jobs)) cpSync(jobs, join(copy, "jobs"), { recursive: true, force: true });
  return copy;
}

function storeOn(stateDir: string, disk?: WatchedDisk): FileStore {
  const clock = new FakeClock("2026-03-01T00:10:00.000Z");
  const store = new FileStore({ stateDir, clock, logger: quiet }, { disk: disk?.disk });
  onTestFinished(() => store.close());
  return store;
}

/** A store that opens what the killed process left on disk. */
async function nextOwner(scene: Scene): Promise<FileStore> {
  const store = storeOn(copyOf(scene));
  await store.open();
  return store;
}

const isLogWrite = (step: string): boolean => step.startsWith("write ") && step.endsWith(".jsonl");
const isStateStep = (step: string): boolean => step.includes("state.yaml");

describe.each([true, false])(
  "a process killed while it ends a job whose record was opened: %s",
  (isStarted) => {
    it("ends the schedule by the record when only that was written, and does not run it again", async () => {
      const scene = await claimed({ isStarted });
      await killedAt(scene, isStateStep);
      expect(readFileSync(join(scene.stateDir, "state.yaml"), "utf8")).toContain("status: running");
      const store = await nextOwner(scene);
      expect(await store.read(KEY)).toEqual({
        status: "idle",
        last_run_at: SLOT,
        last_started_at: SLOT,
        last_completed_at: FINISHED,
        next_run_at: null,
        last_error: null,
        failure_count: 0,
        last_job: { id: scene.claim.jobId, slot: SLOT, trigger: "interval", attempt: 1, status: "completed" },
        accounted_until: SLOT,
      });
      await store.define({ schedules: [KEY] });
      expect((await store.claimDue(10)).claims).toEqual([]);
      expect(await store.jobs.list()).toEqual([record(scene.claim)]);
    });

    it("makes the record from the state when only that was written", async () => {
      const scene = await claimed({ isStarted });
      const failed = { status: "failed", error: "no answer" } as const;
      await killedAt(scene, isLogWrite, failed);
      expect((await scene.store.read(KEY)).status).toBe("idle");
      const store = await nextOwner(scene);
      expect(await store.read(KEY)).toMatchObject({ status: "idle", next_run_at: NEXT, failure_count: 3 });
      const expected = record(scene.claim, { ...failed, source: isStarted ? "baseline-interval" : null });
      expect(await store.jobs.list()).toEqual([expected]);
    });
  },
);

describe("a process killed at any step of ending a job", () => {
  const numbers = Array.from({ length: 45 }, (_, number) => number);

  it.each(numbers)("leaves a state and a record that tell the same: step %i", async (number) => {
    const scene = await claimed();
    let count = 0;
    await killedAt(scene, () => count++ >= number);
    const store = await nextOwner(scene);
    const { status, next_run_source, last_job } = await store.read(KEY);
    const job = await store.jobs.get(scene.claim.jobId);
    const isRunAgain = next_run_source === "retry";
    expect(status).toBe("idle");
    expect({ isRunAgain, status: job?.status }).toEqual({
      isRunAgain,
      status: isRunAgain ? "interrupted" : "completed",
    });
    expect(last_job?.id).toBe(isRunAgain ? undefined : scene.claim.jobId);
  });
});

describe("a process killed before it had recorded its job", () => {
  it.each([true, false])(
    "leaves an interrupted record, made from the claim: opened %s",
    async (isStarted) => {
      const scene = await claimed({ isStarted });
      const store = await nextOwner(scene);
      expect(await store.jobs.list()).toEqual([
        record(scene.claim, {
          status: "interrupted",
          error: "interrupted: the process that ran the job ended",
          attempt: 1,
          finished_at: "2026-03-01T00:10:00.000Z",
          duration_ms: null,
        }),
      ]);
      expect(await store.read(KEY)).toMatchObject({ status: "idle", interrupted_count: 1 });
      await scene.store.close();
    },
  );

  it("has the record also when the process that recovers is killed before it has freed the claim", async () => {
    const scene = await claimed({ isStarted: false });
    const watched = new WatchedDisk();
    const copy = copyOf(scene);
    const second = storeOn(copy, watched);
    watched.before = (step) => {
      const isRecorded = watched.count(/^write .*\.jsonl$/) > 0;
      if (isRecorded && step.startsWith("rename")) throw new Error("killed");
    };
    await expect(second.open()).rejects.toThrow(": killed");
    watched.before = () => {};
    expect((await second.read(KEY)).claim?.job_id).toBe(scene.claim.jobId);
    expect((await second.jobs.get(scene.claim.jobId))?.status).toBe("interrupted");
    const third = storeOn(copy);
    await third.open();
    expect(await third.read(KEY)).toMatchObject({ next_run_source: "retry", interrupted_count: 1 });
    expect(await third.jobs.list()).toHaveLength(1);
    await scene.store.close();
  });
});

describe("a record that is open while no claim belongs to it", () => {
  it("is closed as interrupted within 5 minutes, and a job that runs stays open", async () => {
    const { store, claim, clock, stateDir } = await claimed();
    onTestFinished(() => store.close());
    const deadProcess = signedName("0".repeat(24)).replace(/^\d+-\d+/, "4194303-1");
    const id = "job-2026-03-01-zzzzzzzz";
    const orphan = { ...startedRecord(id, { ...KEY, started_at: SLOT }), process: deadProcess };
    appendFileSync(join(stateDir, "jobs", "2026-03-01.jsonl"), `${JSON.stringify(orphan)}\n`);
    await clock.advance("299s");
    expect((await store.jobs.get(id))?.status).toBe("running");
    await clock.advance("1s");
    await vi.waitFor(async () => expect((await store.jobs.get(id))?.status).toBe("interrupted"));
    expect((await store.jobs.get(claim.jobId))?.status).toBe("running");
  });
});

describe("a claim whose job ended before its process was killed", () => {
  it.each<[string, Fields, object]>([
    ["failed", { status: "failed", error: "no" }, { last_error: "no", failure_count: 3 }],
    ["timed out", { status: "timeout", error: null }, { last_error: "timeout", failure_count: 3 }],
    ["was cancelled", { status: "cancelled", error: "stop" }, { last_error: "stop", failure_count: 2 }],
  ])("leaves the state of a job that %s", async (_, fields, state) => {
    const scene = await claimed();
    await killedAt(scene, isStateStep, fields);
    const store = await nextOwner(scene);
    expect(await store.read(KEY)).toMatchObject({
      status: "idle",
      next_run_at: null,
      last_completed_at: FINISHED,
      ...state,
    });
    expect(await store.jobs.get(scene.claim.jobId)).toEqual(record(scene.claim, fields));
  });

  it("is run again when its job was interrupted", async () => {
    const scene = await claimed();
    await killedAt(scene, isStateStep, { status: "interrupted", error: "its lease ran out" });
    const store = await nextOwner(scene);
    expect(await store.read(KEY)).toMatchObject({
      status: "idle",
      next_run_source: "retry",
      interrupted_count: 1,
      last_error: "its lease ran out",
    });
  });
});

describe("a job log that hangs", () => {
  it("keeps no schedule from its next run", async () => {
    const scene = await claimed();
    await killedAt(scene, isLogWrite);
    const { store, claim } = scene;
    await store.update(KEY, { next_run_at: SLOT });
    const [next] = (await store.claimDue(1)).claims as [Claim];
    expect(next).toMatchObject({ ...KEY, slot: new Date(SLOT) });
    expect(next.jobId).not.toBe(claim.jobId);
  });
});

describe("a record that could not be written", () => {
  it("is completed by a repeated call, also after the next job of the schedule ended", async () => {
    const { store, watched, claim } = await claimed({ isStarted: false });
    onTestFinished(() => store.close());
    watched.before = (step) => {
      if (isLogWrite(step)) throw new Error("no space");
    };
    expect(await store.finishJobs([finishOf(claim)])).toMatchObject([{ claim: "ended", record: "failed" }]);
    await store.update(KEY, { next_run_at: SLOT });
    const [next] = (await store.claimDue(1)).claims as [Claim];
    expect(await store.finishJobs([finishOf(next)])).toMatchObject([{ claim: "ended", record: "failed" }]);
    watched.before = () => {};
    const done = { claim: "ended", record: "written" };
    expect(await store.finishJobs([finishOf(claim), finishOf(next)])).toEqual([done, done]);
    expect(await store.jobs.get(claim.jobId)).toEqual(record(claim));
    expect(await store.jobs.get(next.jobId)).toEqual(record(next));
  });
});

describe("a state that could not be written", () => {
  it("is told while the record is kept, and ends with a repeated call", async () => {
    const { store, watched, claim } = await claimed();
    onTestFinished(() => store.close());
    watched.before = (step) => {
      if (step.startsWith("rename ")) throw new Error("no space");
    };
    expect(await store.finishJobs([finishOf(claim)])).toMatchObject([
      { claim: "failed", record: "written", error: { code: "STATE_FILE" } },
    ]);
    watched.before = () => {};
    expect(await store.renew(claim)).toBe(true);
    expect(await store.finishJobs([finishOf(claim)])).toEqual([{ claim: "ended", record: "written" }]);
    expect(await store.read(KEY)).toMatchObject({ status: "idle", failure_count: 0 });
  });
});
