/** Another process asks the scheduler through the state: it acts once, and answers there. */
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import {
  type Claim,
  completeClaim,
  FakeClock,
  FileStore,
  type JobRecord,
  MemoryStore,
  type NewRequest,
  type RequestAnswer,
  type ScheduleKey,
} from "../../../src/index.js";
import { askScheduler } from "../../../src/scheduler/control/ask-scheduler.js";
import { EventHub } from "../../../src/scheduler/events.js";
import { type RequestedActions, Requests } from "../../../src/scheduler/control/requests.js";
import { WakeableLoop } from "../../../src/scheduler/loop/wakeable-loop.js";
import { Roster } from "../../../src/scheduler/roster.js";
import type { SchedulerContext } from "../../../src/scheduler/context.js";
import { stateDirectory } from "../../state/temporary-directory.js";
import { agent, every, scene, type Scene, type SceneOptions, START } from "../scene.js";

const X = { agent: "a", schedule: "x" };

interface Asked extends Scene {
  /** Asks from a store of its own, as another process would, while time passes. */
  ask(key: ScheduleKey, request: Omit<NewRequest, "agent" | "schedule">): Promise<RequestAnswer | undefined>;
  readonly guest: FileStore;
  readonly stateDir: string;
}

function recordOf({ agent: name, schedule, jobId }: Claim): JobRecord {
  return {
    id: jobId,
    agent: name,
    schedule,
    trigger: "manual",
    slot: START,
    source: "manual",
    attempt: 1,
    prompt: null,
    work_item: null,
    started_at: START,
    status: "running",
    finished_at: null,
    duration_ms: null,
    error: null,
    summary: null,
    exit_code: null,
    response_body: null,
  };
}

function contextOf(store: MemoryStore, clock: FakeClock): SchedulerContext {
  const log = { info: () => {}, warn: () => {}, error: () => {} };
  const events = new EventHub(() => {});
  const roster = new Roster([agent("a", { x: every("1h") })]);
  const loop = new WakeableLoop(clock);
  return { clock, store, loop, roster, log, events, random: () => 0, checkInterval: 1_000 };
}

/** Lets time pass while nobody waits for the disk, until the promise has ended. */
async function passing<Result>(
  clock: FakeClock,
  promise: Promise<Result>,
  sleepers: () => number,
): Promise<Result> {
  const race = { isOver: false };
  const ending = promise.finally(() => {
    race.isOver = true;
  });
  while (!race.isOver) {
    await vi.waitFor(() => expect(race.isOver || clock.sleeping >= sleepers()).toBe(true), {
      timeout: 20_000,
      interval: 1,
    });
    // A request waits for the disk while its caller sleeps.
    await setTimeout(10);
    await clock.advance(100);
  }
  return ending;
}

/** `x` was started at 00:00, and has ended unless it has `work`. */
async function asked(
  work?: (signal: AbortSignal, clock: FakeClock) => unknown,
  options: SceneOptions = {},
): Promise<Asked> {
  const stateDir = stateDirectory();
  const clock = new FakeClock(START);
  const stage = scene({
    ...options,
    store: new FileStore({ stateDir }),
    clock,
    work: ({ signal }) => work?.(signal, clock),
  });
  const guest = new FileStore({ stateDir, clock });
  onTestFinished(() => guest.close());
  await stage.scheduler.start([agent("a", { x: every("1h") })]);
  await vi.waitFor(() => expect(stage.jobs).toHaveLength(1));
  // A job without work has ended when its end is on disk.
  if (work === undefined) await vi.waitUntil(() => stage.scheduler.getTotalRunningJobCount() === 0);
  const ask: Asked["ask"] = (key, request) =>
    passing(
      clock,
      askScheduler(guest, key, request, { clock }),
      // The loop, the upkeep of its store, whoever asks, and a job that runs.
      () => 3 + stage.scheduler.getTotalRunningJobCount(),
    );
  return { ...stage, ask, guest, stateDir };
}

describe("a request to run a schedule", () => {
  it("starts a job now, and returns its id", async () => {
    const stage = await asked();
    const answer = await stage.ask(X, { action: "run" });
    await vi.waitFor(() => expect(stage.jobs).toHaveLength(2));
    expect(stage.jobs[1]).toMatchObject({ id: answer?.job_id, trigger: "manual", source: "manual" });
  });

  it("is removed when its reply was read", async () => {
    const stage = await asked();
    await stage.ask(X, { action: "run" });
    expect(await stage.guest.mailbox.pending()).toEqual([]);
    expect(await stage.guest.read(X)).not.toHaveProperty("request");
  });

  it("is one of many at once: each has its own reply", async () => {
    const stage = await asked((_, clock) => clock.sleep("30m"));
    await stage.clock.advance("31m");
    await vi.waitFor(() => expect(stage.scheduler.getTotalRunningJobCount()).toBe(0));
    const asking = Array.from({ length: 20 }, () =>
      askScheduler(stage.guest, X, { action: "run" }, { clock: stage.clock }),
    );
    const answers = await Promise.all(asking);
    expect(answers.filter((answer) => answer?.job_id != null)).toHaveLength(1);
    expect(answers.filter((answer) => answer?.refusal === "already_running")).toHaveLength(19);
  });

  it("starts a job although the schedule is paused", async () => {
    const stage = await asked();
    await stage.scheduler.pause("a", "x");
    expect(await stage.ask(X, { action: "run" })).toMatchObject({ job_id: expect.any(String) });
  });

  it("that is refused leaves the plan as it is", async () => {
    const stage = await asked();
    await vi.waitFor(() => expect(stage.events.at(-1)).toBe("planned a/x 01:00 baseline-interval"));
    await stage.ask(X, { action: "cancel", job_id: "job-2026-03-01-aaaaaa" });
    expect(stage.events.filter((event) => event.endsWith("01:00 baseline-interval"))).toHaveLength(1);
  });

  it("is refused while the schedule runs", async () => {
    const stage = await asked((_, clock) => clock.sleep("30m"));
    const answer = await stage.ask(X, { action: "run" });
    expect(answer).toMatchObject({ refusal: "already_running" });
    expect(stage.jobs).toHaveLength(1);
  });

  it("is refused for an unknown schedule", async () => {
    const stage = await asked();
    const answer = await stage.ask({ agent: "a", schedule: "y" }, { action: "run" });
    expect(answer).toMatchObject({ refusal: "unknown_schedule" });
  });

  it("starts no second job when it is seen again meanwhile, also by a different scheduler", async () => {
    const clock = new FakeClock(START);
    const store = new MemoryStore({ clock });
    const context = contextOf(store, clock);
    await store.mailbox.post({ ...X, action: "run" }, { ttlMs: 10_000 });
    let runs = 0;
    const run = async (): Promise<{ id: string }> => {
      runs++;
      await clock.sleep("1s");
      return { id: "job-2026-03-01-aaaaaa" };
    };
    const actions = { run, isFull: () => false, cancel: () => false, stop: () => {}, hasJob: () => false };
    const [one, other] = [new Requests(context, actions), new Requests(context, actions)];
    const answered = Promise.all([one, one, other].map((requests) => requests.look()));
    await clock.advance("1s");
    await answered;
    expect(runs).toBe(1);
  });

  it("is left by a scheduler that stops, so that a different one may accept it", async () => {
    const clock = new FakeClock(START);
    const store = new MemoryStore({ clock });
    const context = contextOf(store, clock);
    const { id } = await store.mailbox.post({ ...X, action: "run" }, { ttlMs: 10_000 });
    const requests = new Requests(context, {
      run: async () => "stopped",
      isFull: () => false,
      cancel: () => false,
      stop: () => {},
      hasJob: () => false,
    });
    await requests.look();
    expect(await store.mailbox.pending()).toMatchObject([{ request: { id } }]);
  });

  it("is refused by the only scheduler if it has no room", async () => {
    const stage = await asked((_, clock) => clock.sleep("30m"), { maxConcurrent: 1 });
    stage.scheduler.setAgents([agent("a", { x: every("1h"), y: { type: "webhook" } }, { capacity: 2 })]);
    const answer = await stage.ask({ agent: "a", schedule: "y" }, { action: "run" });
    expect(answer).toMatchObject({ refusal: "at_capacity" });
    expect(stage.clock.now().getTime() - Date.parse(START)).toBeLessThan(5_000);
  });

  it("that has expired is removed, and starts nothing", async () => {
    const stage = await asked();
    await stage.guest.mailbox.post({ ...X, action: "run" }, { ttlMs: 0 });
    await vi.waitFor(() =>
      expect(readdirSync(join(stage.stateDir, "requests"))).toEqual(["answers", "taken"]),
    );
    expect(stage.jobs).toHaveLength(1);
  });

  it("that a scheduler had taken when it was killed starts the job that was not started", async () => {
    const stateDir = stateDirectory();
    const clock = new FakeClock(START);
    const guest = new FileStore({ stateDir, clock });
    const { id } = await guest.mailbox.post({ ...X, action: "run" }, { ttlMs: 60_000 });
    await guest.mailbox.take(id);
    await guest.close();
    const stage = scene({ store: new FileStore({ stateDir }), clock });
    await stage.scheduler.start([agent("a", { x: { type: "webhook" } })]);
    await vi.waitFor(() => expect(stage.jobs).toMatchObject([{ id }]));
  });

  it("that a killed scheduler had carried out starts no second job, and is answered", async () => {
    const stateDir = stateDirectory();
    const clock = new FakeClock(START);
    const killed = new FileStore({ stateDir, clock });
    await killed.open();
    await killed.define({ schedules: [X] });
    const posted = await killed.mailbox.post({ ...X, action: "run" }, { ttlMs: 60_000 });
    await killed.mailbox.take(posted.id);
    const claim = await killed.claimFor(posted);
    if (typeof claim === "string") throw new Error(claim);
    const record = recordOf(claim);
    await killed.startJobs([record]);
    await killed.jobs.finish(record.id, { status: "completed" });
    await completeClaim(killed, claim, {});
    await killed.close();
    const stage = scene({ store: new FileStore({ stateDir }), clock });
    await stage.scheduler.start([agent("a", { x: { type: "webhook" } })]);
    const guest = new FileStore({ stateDir, clock });
    onTestFinished(() => guest.close());
    const answer = await passing(
      clock,
      guest.mailbox.waitForAnswer(posted, { clock, timeoutMs: 5_000 }),
      () => 2,
    );
    expect(answer).toEqual({ id: posted.id, job_id: posted.id });
    expect(stage.jobs).toEqual([]);
  });
});

describe("a request to cancel a job", () => {
  it("cancels the job", async () => {
    const stage = await asked((signal, clock) => clock.sleep("30m", signal));
    const { id } = stage.jobs[0] ?? { id: "" };
    expect(await stage.ask(X, { action: "cancel", job_id: id })).toMatchObject({ job_id: id });
    await vi.waitFor(() => expect(stage.ended).toMatchObject([{ id, status: "cancelled" }]));
  });

  it("is refused when no such job runs", async () => {
    const stage = await asked();
    const answer = await stage.ask(X, { action: "cancel", job_id: "job-2026-03-01-aaaaaa" });
    expect(answer).toMatchObject({ refusal: "not_running" });
  });
});

describe("a request on a store that several nodes share", () => {
  class SharedStore extends MemoryStore {
    readonly holdMs = 22_500;
  }
  const JOB = "job-2026-03-01-aaaaaa";
  const CLAIM = { token: "t", job_id: JOB, slot: START };

  interface Surroundings {
    readonly key?: ScheduleKey;
    readonly here?: readonly string[];
    readonly claim?: typeof CLAIM | null;
    readonly isFull?: boolean;
    readonly run?: RequestedActions["run"];
  }

  /** What is left of a request after a scheduler has seen it that runs the jobs of `here`. */
  async function seen(
    request: Omit<NewRequest, "agent" | "schedule">,
    { key = X, here = [], claim = CLAIM, isFull = false, run = async () => ({ id: JOB }) }: Surroundings = {},
  ): Promise<{ isLeft: boolean; left: RequestAnswer | "taken" | undefined }> {
    const clock = new FakeClock(START);
    const store = new SharedStore({ clock });
    const context = contextOf(store, clock);
    await store.update(key, { claim });
    const posted = await store.mailbox.post({ ...key, ...request }, { ttlMs: 10_000 });
    const cancel = (jobId: string): boolean => here.includes(jobId);
    const requests = new Requests(context, {
      run,
      isFull: () => isFull,
      cancel,
      stop: () => {},
      hasJob: cancel,
    });
    await requests.look();
    await requests.close();
    const isLeft = (await store.mailbox.pending()).length > 0;
    return { isLeft, left: await store.mailbox.withdraw(posted) };
  }

  it("to run a schedule is left to a node that has the schedule", async () => {
    expect(await seen({ action: "run" }, { key: { agent: "b", schedule: "x" } })).toMatchObject({
      isLeft: true,
    });
    expect(await seen({ action: "run" })).toMatchObject({ isLeft: false, left: { job_id: JOB } });
  });

  it("to run a schedule is left by a full node, with the reason", async () => {
    const left = { isLeft: true, left: { refusal: "at_capacity" } };
    expect(await seen({ action: "run" }, { isFull: true })).toMatchObject(left);
    // It has become full since it looked.
    expect(await seen({ action: "run" }, { run: async () => "full" })).toMatchObject(left);
  });

  it("to run a schedule is refused at once when its agent is at capacity over all nodes", async () => {
    const left = { refusal: "at_capacity" };
    expect(await seen({ action: "run" }, { run: async () => "at_capacity" })).toMatchObject({
      isLeft: false,
      left,
    });
  });

  it("to cancel a job is accepted by a full node too", async () => {
    const cancel = { action: "cancel", job_id: JOB } as const;
    expect(await seen(cancel, { here: [JOB], isFull: true })).toMatchObject({ left: { job_id: JOB } });
  });

  it("to cancel a job is left to the node that runs it", async () => {
    const cancel = { action: "cancel", job_id: JOB } as const;
    expect(await seen(cancel)).toMatchObject({ isLeft: true });
    expect(await seen(cancel, { here: [JOB] })).toMatchObject({ isLeft: false, left: { job_id: JOB } });
  });

  it("to cancel a job that no node runs is refused by the node that sees it", async () => {
    const left = { refusal: "not_running" };
    expect(await seen({ action: "cancel", job_id: JOB }, { claim: null })).toMatchObject({ left });
    expect(await seen({ action: "cancel", job_id: "job-2026-03-01-bbbbbb" })).toMatchObject({ left });
  });
});

describe("a request without a reply", () => {
  const RUN = { action: "run" } as const;

  it("is withdrawn when its caller has waited long enough", async () => {
    const clock = new FakeClock(START);
    const store = new MemoryStore({ clock });
    const asking = askScheduler(store, X, RUN, { clock, timeoutMs: 5_000 });
    await clock.advance("5s");
    expect(await asking).toBeUndefined();
    expect(await store.mailbox.pending()).toEqual([]);
  });

  it("is withdrawn when its caller gives up", async () => {
    const clock = new FakeClock(START);
    await using store = new FileStore({ stateDir: stateDirectory(), clock });
    const asking = askScheduler(store, X, RUN, { clock, signal: AbortSignal.timeout(20) });
    await expect(asking).rejects.toThrow(/timeout/);
    expect(await store.mailbox.pending()).toEqual([]);
  });

  it("that was left because all nodes are full is refused with that reason", async () => {
    const clock = new FakeClock(START);
    const store = new MemoryStore({ clock });
    const asking = askScheduler(store, X, RUN, { clock, timeoutMs: 5_000 });
    const [pending] = await store.mailbox.pending();
    await store.mailbox.leave(pending?.request.id ?? "", "at_capacity");
    await clock.advance("5s");
    expect(await asking).toMatchObject({ refusal: "at_capacity" });
  });

  it("that a scheduler has taken and does not answer is not taken for refused: its job may run", async () => {
    const clock = new FakeClock(START);
    const store = new MemoryStore({ clock });
    const asking = askScheduler(store, X, RUN, { clock, timeoutMs: 5_000 });
    const [pending] = await store.mailbox.pending();
    await store.mailbox.take(pending?.request.id ?? "");
    await clock.advance("5s");
    await clock.advance("5s");
    expect(await asking).toMatchObject({ refusal: "no_answer" });
  });

  it("is seen by a scheduler that starts meanwhile", async () => {
    const stateDir = stateDirectory();
    const clock = new FakeClock(START);
    await using guest = new FileStore({ stateDir, clock });
    const asking = askScheduler(guest, X, { action: "run" }, { clock });
    await vi.waitFor(() => expect(clock.sleeping).toBe(1));
    const stage = scene({ store: new FileStore({ stateDir }), clock });
    await stage.scheduler.start([agent("a", { x: { type: "webhook" } })]);
    const answer = await passing(clock, asking, () => 3);
    expect(answer).toMatchObject({ job_id: stage.jobs[0]?.id });
    expect(stage.jobs).toHaveLength(1);
  });
});

describe("a scheduler that stops and waits for a job", () => {
  const TTL = { ttlMs: 600_000 };
  const stopping = async (): Promise<Scene & { jobId: string; stopped: Promise<void> }> => {
    const clock = new FakeClock(START);
    const store = new MemoryStore({ clock });
    const stage = scene({ store, clock, work: ({ signal }) => clock.sleep("1h", signal) });
    await stage.scheduler.start([agent("a", { x: every("1h") })]);
    await clock.advance("1s");
    const [job] = await store.jobs.list();
    const stopped = stage.scheduler.stop({ timeout: Infinity });
    await clock.advance("1s");
    return { ...stage, jobId: job?.id ?? "", stopped };
  };

  it("still accepts a request to cancel the job, and replies before it closes the store", async () => {
    const { store, clock, jobId, stopped } = await stopping();
    const posted = await store.mailbox.post({ ...X, action: "cancel", job_id: jobId }, TTL);
    await clock.advance("1s");
    await stopped;
    expect(await store.jobs.get(jobId)).toMatchObject({ status: "cancelled" });
    expect(await store.mailbox.withdraw(posted)).toEqual({ id: posted.id, job_id: jobId });
  });

  it("leaves a request to run for the next scheduler", async () => {
    const { store, clock, scheduler, jobId, stopped } = await stopping();
    const { id } = await store.mailbox.post({ ...X, action: "run" }, TTL);
    await clock.advance("1s");
    expect(await store.mailbox.pending()).toMatchObject([{ request: { id } }]);
    scheduler.cancel(jobId);
    await clock.advance("1s");
    await stopped;
  });

  it("accepts all requests once it is started again", async () => {
    const { store, clock, scheduler, jobId, stopped } = await stopping();
    scheduler.cancel(jobId);
    await clock.advance("1s");
    await stopped;
    await scheduler.start([agent("a", { x: every("1h") })]);
    await store.mailbox.post({ ...X, action: "run" }, TTL);
    await clock.advance("1s");
    expect(await store.jobs.list()).toHaveLength(2);
  });
});
