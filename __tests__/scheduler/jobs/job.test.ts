import { describe, expect, it } from "vitest";
import type { Claim } from "../../../src/index.js";
import { Job, type JobPhase, NEXT_PHASES, triggerInfo } from "../../../src/scheduler/jobs/job.js";

const MIDNIGHT = new Date("2026-03-01T00:00:00Z");
const ONE_MINUTE_LATER = new Date("2026-03-01T00:01:00Z");

const claim = (token: string, slot: Date = MIDNIGHT): Claim => ({
  agent: "a",
  schedule: "x",
  token,
  jobId: `job-2026-03-01-${token}`,
  slot,
  source: "baseline-interval",
  attempt: 1,
  seenAt: slot,
  claimedAt: slot,
  state: { status: "running", failure_count: 2 },
});

const newJob = (): Job =>
  new Job(
    claim("one"),
    { agent: { name: "a" }, schedule: { type: "interval", interval: "1m" } },
    "baseline-interval",
    1_000,
  );

const end = (job: Job, status: "completed" | "failed" | "timeout" = "completed") =>
  job.end({ status, error: status === "completed" ? undefined : "boom" }, ONE_MINUTE_LATER, 61_000);

/** How a job comes into each phase, from its start. */
const INTO: Readonly<Record<JobPhase, (job: Job) => void>> = {
  running: () => {},
  stopping: (job) => job.stop("cancelled", "enough"),
  ended: (job) => end(job),
  settled: (job) => {
    end(job);
    job.settle();
  },
  abandoned: (job) => {
    end(job);
    job.abandon();
  },
};

/** What moves a job into a phase, and throws where that is not allowed. */
const MOVES: Readonly<Record<Exclude<JobPhase, "running" | "stopping">, (job: Job) => void>> = {
  ended: (job) => end(job),
  settled: (job) => job.settle(),
  abandoned: (job) => job.abandon(),
};

const PHASES = Object.keys(NEXT_PHASES) as JobPhase[];

describe("the phases of a job", () => {
  const pairs = PHASES.flatMap((from) =>
    (Object.keys(MOVES) as (keyof typeof MOVES)[]).map((to) => [from, to] as const),
  );

  const legal = pairs.filter(([from, to]) => NEXT_PHASES[from].includes(to));
  const illegal = pairs.filter(([from, to]) => !NEXT_PHASES[from].includes(to));

  it.each(legal)("lead from %s to %s", (from, to) => {
    const job = newJob();
    INTO[from](job);
    MOVES[to](job);
    expect(job.phase).toBe(to);
  });

  it.each(illegal)("do not lead from %s to %s", (from, to) => {
    const job = newJob();
    INTO[from](job);
    expect(() => MOVES[to](job)).toThrow(`A job that is ${from} cannot become ${to}: job-2026-03-01-one`);
    expect(job.phase).toBe(from);
  });

  it("are exactly the phases of the table", () => {
    expect(NEXT_PHASES).toEqual({
      running: ["stopping", "ended"],
      stopping: ["ended"],
      ended: ["settled", "abandoned"],
      settled: [],
      abandoned: [],
    });
  });

  it.each(PHASES)("from %s to stopping follow the table, without an error", (from) => {
    const job = newJob();
    INTO[from](job);
    const isAllowed = NEXT_PHASES[from].includes("stopping");
    expect(job.stop("cancelled", "enough")).toBe(isAllowed);
    expect(job.phase).toBe(isAllowed ? "stopping" : from);
  });
});

describe("a job that is stopped", () => {
  it("has its signal fired with the reason", () => {
    const job = newJob();
    const { signal } = job;
    job.stop("cancelled", "enough");
    expect(signal.aborted).toBe(true);
    expect((signal.reason as Error).message).toBe("enough");
  });

  it("has a signal that has fired also when it is first read later", () => {
    const job = newJob();
    job.stop("cancelled", "enough");
    expect(job.signal.aborted).toBe(true);
  });

  it("keeps the first reason", () => {
    const job = newJob();
    job.stop("cancelled", "first");
    job.stop("unrenewed", "second");
    expect((job.signal.reason as Error).message).toBe("first");
    expect(end(job, "failed").record).toMatchObject({ status: "failed", error: "boom" });
  });

  it("is interrupted when its claim could not be renewed and it did not end by itself", () => {
    const job = newJob();
    job.stop("unrenewed", "the store does not answer");
    expect(end(job, "failed").record).toMatchObject({
      status: "interrupted",
      error: "interrupted: the store does not answer",
    });
  });

  it.each(["completed", "timeout"] as const)(
    "is %s when it ended so, whatever became of its claim",
    (status) => {
      const job = newJob();
      job.stop("unrenewed", "the store does not answer");
      expect(end(job, status).record.status).toBe(status);
    },
  );
});

describe("a job whose schedule is claimed again", () => {
  const later = claim("two", ONE_MINUTE_LATER);

  it("continues under the new claim while it runs, with its own id and slot", () => {
    const job = newJob();
    expect(job.continueUnder(later)).toBe(true);
    expect(job.claim).toBe(later);
    expect(end(job).record).toMatchObject({ id: "job-2026-03-01-one", slot: MIDNIGHT.toISOString() });
  });

  it("continues under it while it is stopping", () => {
    const job = newJob();
    job.stop("cancelled", "enough");
    expect(job.continueUnder(later)).toBe(true);
  });

  it("does not continue when a different node had its slot", () => {
    const job = newJob();
    job.stop("superseded", "taken");
    expect(job.continueUnder(later)).toBe(false);
  });

  it("does not continue when a different node had its slot after it was stopped", () => {
    const job = newJob();
    job.stop("cancelled", "enough");
    job.stop("superseded", "taken");
    expect(job.continueUnder(later)).toBe(false);
  });

  it("is ended under a new claim of the same slot", () => {
    const job = newJob();
    end(job);
    expect(job.continueUnder(claim("two"))).toBe(true);
  });

  it("leaves a later slot to a new job when it has ended", () => {
    const job = newJob();
    end(job);
    expect(job.continueUnder(later)).toBe(false);
    expect(job.claim.token).toBe("one");
  });

  it.each(["settled", "abandoned"] as const)(
    "does not continue under the new claim when it is %s",
    (phase) => {
      const job = newJob();
      INTO[phase](job);
      expect(job.continueUnder(claim("two"))).toBe(false);
    },
  );
});

describe("what a host learns of a job", () => {
  it("has the names, the definition, the state and the record", () => {
    expect(triggerInfo(newJob())).toMatchObject({
      agent: { name: "a" },
      schedule: "x",
      scheduleName: "x",
      definition: { type: "interval", interval: "1m" },
      scheduleState: { status: "running", failure_count: 2 },
      jobId: "job-2026-03-01-one",
      job: { id: "job-2026-03-01-one", attempt: 1, status: "running" },
    });
  });

  it("is frozen, and so are its state and record", () => {
    const info = triggerInfo(newJob());
    expect([info, info.scheduleState, info.job].every((part) => Object.isFrozen(part))).toBe(true);
  });

  it("cannot end or stop the scheduler's own job", () => {
    const info: object = triggerInfo(newJob());
    expect("end" in info || "stop" in info || "claim" in info).toBe(false);
  });
});
