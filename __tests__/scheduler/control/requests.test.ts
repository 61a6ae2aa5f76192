/** Another process asks the scheduler through the state: it acts once, and answers there. */
import { describe, expect, it, onTestFinished, vi } from "vitest";
import {
  FakeClock,
  FileStore,
  MemoryStore,
  type RequestAnswer,
  type ScheduleKey,
  type ScheduleRequest,
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
  ask(
    key: ScheduleKey,
    request: Pick<ScheduleRequest, "action" | "job_id">,
  ): Promise<RequestAnswer | undefined>;
  readonly guest: FileStore;
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
    await clock.advance(100);
  }
  return ending;
}

/** `x` has run at 00:00. */
async function asked(
  work: (signal: AbortSignal, clock: FakeClock) => unknown = () => {},
  options: SceneOptions = {},
): Promise<Asked> {
  const stateDir = stateDirectory();
  const clock = new FakeClock(START);
  const stage = scene({
    ...options,
    store: new FileStore({ stateDir }),
    clock,
    work: ({ signal }) => work(signal, clock),
  });
  const guest = new FileStore({ stateDir, clock });
  onTestFinished(() => guest.close());
  await stage.scheduler.start([agent("a", { x: every("1h") })]);
  await vi.waitFor(() => expect(stage.jobs).toHaveLength(1));
  const ask: Asked["ask"] = (key, request) =>
    passing(
      clock,
      askScheduler(guest, key, request, { clock }),
      // The loop, whoever asks, and a job that runs.
      () => 2 + stage.scheduler.getTotalRunningJobCount(),
    );
  return { ...stage, ask, guest };
}

describe("a request to run a schedule", () => {
  it("starts a job now, and returns its id", async () => {
    const stage = await asked();
    const answer = await stage.ask(X, { action: "run" });
    expect(stage.jobs).toHaveLength(2);
    expect(stage.jobs[1]).toMatchObject({ id: answer?.job_id, trigger: "manual", source: "manual" });
  });

  it("is removed when its reply is written", async () => {
    const stage = await asked();
    const answer = await stage.ask(X, { action: "run" });
    const state = await stage.guest.read(X);
    expect(state.request).toBeUndefined();
    expect(state.request_answer).toEqual(answer);
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

  it("starts one job, however often the request is written", async () => {
    const stage = await asked();
    const request = { id: "r1", action: "run", expires_at: "2026-03-01T00:10:00.000Z" } as const;
    await stage.guest.update(X, { request });
    await vi.waitFor(async () => {
      await stage.clock.advance("1s");
      expect((await stage.guest.read(X)).request).toBeUndefined();
    });
    await stage.guest.update(X, { request });
    await stage.clock.advance("5s");
    await vi.waitFor(() => expect(stage.clock.sleeping).toBeGreaterThan(0));
    await stage.clock.advance("5s");
    expect(stage.jobs).toHaveLength(2);
  });

  it("starts no second job when it is seen again meanwhile, also by a different scheduler", async () => {
    const store = new MemoryStore();
    const clock = new FakeClock(START);
    const context = contextOf(store, clock);
    await store.update(X, { request: { id: "r1", action: "run", expires_at: "2026-03-01T00:10:00.000Z" } });
    let runs = 0;
    const run = async (): Promise<{ id: string }> => {
      runs++;
      await clock.sleep("1s");
      return { id: "job-2026-03-01-aaaaaa" };
    };
    const actions = { run, isFull: () => false, cancel: () => false, hasJob: () => false };
    const [one, other] = [new Requests(context, actions), new Requests(context, actions)];
    const change = { ...X, keys: ["request"] } as const;
    const answered = Promise.all([one, one, other].map((requests) => requests.answer([change])));
    await clock.advance("1s");
    await answered;
    expect(runs).toBe(1);
  });

  it("is left by a scheduler that stops, so that a different one may accept it", async () => {
    const store = new MemoryStore();
    const clock = new FakeClock(START);
    const context = contextOf(store, clock);
    await store.update(X, { request: { id: "r1", action: "run", expires_at: "2026-03-01T00:10:00.000Z" } });
    const requests = new Requests(context, {
      run: async () => "stopped",
      isFull: () => false,
      cancel: () => false,
      hasJob: () => false,
    });
    await requests.answer([{ ...X, keys: ["request"] }]);
    expect((await store.read(X)).request?.id).toBe("r1");
  });

  it("is refused by the only scheduler if it has no room", async () => {
    const stage = await asked((_, clock) => clock.sleep("30m"), { maxConcurrent: 1 });
    stage.scheduler.setAgents([agent("a", { x: every("1h"), y: { type: "webhook" } }, { capacity: 2 })]);
    const answer = await stage.ask({ agent: "a", schedule: "y" }, { action: "run" });
    expect(answer).toMatchObject({ refusal: "at_capacity" });
    expect(stage.clock.now().getTime() - Date.parse(START)).toBeLessThan(5_000);
  });

  it("that has expired is ignored", async () => {
    const stage = await asked();
    await stage.guest.update(X, { request: { id: "r1", action: "run", expires_at: START } });
    await vi.waitFor(() => expect(stage.clock.sleeping).toBeGreaterThan(0));
    await stage.clock.advance("1s");
    await vi.waitFor(() => expect(stage.clock.sleeping).toBeGreaterThan(0));
    await stage.clock.advance("1s");
    expect(stage.jobs).toHaveLength(1);
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
    request: Pick<ScheduleRequest, "action" | "job_id">,
    { key = X, here = [], claim = CLAIM, isFull = false, run = async () => ({ id: JOB }) }: Surroundings = {},
  ): Promise<{
    isLeft: boolean;
    refusal: string | null | undefined;
    answer: RequestAnswer | null | undefined;
  }> {
    const store = new SharedStore();
    const context = contextOf(store, new FakeClock(START));
    await store.update(key, { claim, request: { ...request, id: "r1", expires_at: "2026-03-02T00:00:00Z" } });
    const cancel = (jobId: string): boolean => here.includes(jobId);
    const requests = new Requests(context, { run, isFull: () => isFull, cancel, hasJob: cancel });
    await requests.answer([{ ...key, keys: ["request"] }]);
    const { request: left, request_answer: answer } = await store.read(key);
    return { isLeft: left != null, refusal: left?.refusal, answer };
  }

  it("to run a schedule is left to a node that has the schedule", async () => {
    expect(await seen({ action: "run" }, { key: { agent: "b", schedule: "x" } })).toMatchObject({
      isLeft: true,
    });
    expect(await seen({ action: "run" })).toMatchObject({ isLeft: false, answer: { job_id: JOB } });
  });

  it("to run a schedule is left by a full node, with the reason", async () => {
    const left = { isLeft: true, refusal: "at_capacity", answer: undefined };
    expect(await seen({ action: "run" }, { isFull: true })).toEqual(left);
    // It has become full since it took the request.
    expect(await seen({ action: "run" }, { run: async () => "full" })).toEqual(left);
  });

  it("to run a schedule is refused at once when its agent is at capacity over all nodes", async () => {
    const answer = { id: "r1", refusal: "at_capacity" };
    expect(await seen({ action: "run" }, { run: async () => "at_capacity" })).toMatchObject({ answer });
  });

  it("that is put back does not replace a newer request", async () => {
    const store = new SharedStore();
    const context = contextOf(store, new FakeClock(START));
    const request = { id: "r1", action: "run", expires_at: "2026-03-02T00:00:00Z" } as const;
    await store.update(X, { request });
    const requests = new Requests(context, {
      run: async () => {
        await store.update(X, { request: { ...request, id: "r2" } });
        return "full";
      },
      isFull: () => false,
      cancel: () => false,
      hasJob: () => false,
    });
    await requests.answer([{ ...X, keys: ["request"] }]);
    expect((await store.read(X)).request?.id).toBe("r2");
  });

  it("to cancel a job is accepted by a full node too", async () => {
    const cancel = { action: "cancel", job_id: JOB } as const;
    expect(await seen(cancel, { here: [JOB], isFull: true })).toMatchObject({ answer: { job_id: JOB } });
  });

  it("to cancel a job is left to the node that runs it", async () => {
    const cancel = { action: "cancel", job_id: JOB } as const;
    expect(await seen(cancel)).toMatchObject({ isLeft: true });
    expect(await seen(cancel, { here: [JOB] })).toMatchObject({ isLeft: false, answer: { job_id: JOB } });
  });

  it("to cancel a job that no node runs is refused by the node that sees it", async () => {
    const answer = { refusal: "not_running" };
    expect(await seen({ action: "cancel", job_id: JOB }, { claim: null })).toMatchObject({ answer });
    expect(await seen({ action: "cancel", job_id: "job-2026-03-01-bbbbbb" })).toMatchObject({ answer });
  });
});

describe("a request without a reply", () => {
  interface Waiting {
    readonly store: MemoryStore;
    readonly asking: Promise<RequestAnswer | undefined>;
    readonly pass: (duration: string) => Promise<void>;
  }

  /** It was written, and is waited for during 5 s. */
  async function waiting(): Promise<Waiting> {
    const clock = new FakeClock(START);
    const store = new MemoryStore({ clock });
    const asking = askScheduler(store, X, { action: "run" }, { clock, timeoutMs: 5_000 });
    await vi.waitFor(() => expect(clock.sleeping).toBe(1));
    return { store, asking, pass: (duration) => clock.advance(duration) };
  }

  /** As a scheduler does that is full. */
  const leave = (store: MemoryStore): Promise<unknown> =>
    store.update(X, ({ request }) =>
      request == null ? {} : { request: { ...request, refusal: "at_capacity" } },
    );

  it("is written again while its caller waits, and then removed", async () => {
    const clock = new FakeClock(START);
    await using store = new FileStore({ stateDir: stateDirectory(), clock });
    const seen = new Set<string | undefined>();
    const watched = {
      read: (key: typeof X) => store.read(key),
      update: async (key: typeof X, change: Parameters<FileStore["update"]>[1]) => {
        const state = await store.update(key, change);
        seen.add(state.request?.expires_at);
        return state;
      },
    };
    const asking = askScheduler(watched, X, { action: "run" }, { clock, timeoutMs: 5_000 });
    const answer = await passing(clock, asking, () => 1);
    expect(answer).toBeUndefined();
    expect([...seen]).toEqual([
      "2026-03-01T00:00:04.000Z",
      "2026-03-01T00:00:06.000Z",
      "2026-03-01T00:00:08.000Z",
      undefined,
    ]);
    expect((await store.read(X)).request).toBeUndefined();
  });

  it("that was accepted is not written again", async () => {
    const clock = new FakeClock(START);
    const store = new MemoryStore({ clock });
    const asking = askScheduler(store, X, { action: "run" }, { clock, timeoutMs: 5_000 });
    await vi.waitFor(() => expect(clock.sleeping).toBe(1));
    await store.update(X, { request: null });
    const states: unknown[] = [];
    for (let second = 0; second < 5; second++) {
      await clock.advance("1s");
      states.push((await store.read(X)).request);
    }
    expect(states).toEqual(Array.from({ length: 5 }, () => undefined));
    expect(await asking).toBeUndefined();
  });

  it("that was left because all nodes are full is refused with that reason", async () => {
    const { store, asking, pass } = await waiting();
    for (let second = 0; second < 5; second++) {
      await leave(store);
      await pass("1s");
    }
    expect(await asking).toEqual({ id: expect.any(String) as string, refusal: "at_capacity" });
    expect((await store.read(X)).request).toBeUndefined();
  });

  it("that was left once, by a node that is silent since, is not taken for refused", async () => {
    const { store, asking, pass } = await waiting();
    await leave(store);
    await pass("5s");
    expect(await asking).toBeUndefined();
  });

  it("that was left and then accepted is not taken for refused: its job may run", async () => {
    const { store, asking, pass } = await waiting();
    await leave(store);
    // It was written again since.
    await pass("3s");
    await store.update(X, { request: null });
    await pass("2s");
    expect(await asking).toBeUndefined();
  });

  it("is seen by a scheduler that starts meanwhile", async () => {
    const stateDir = stateDirectory();
    const clock = new FakeClock(START);
    await using guest = new FileStore({ stateDir, clock });
    const asking = askScheduler(guest, X, { action: "run" }, { clock });
    await vi.waitFor(() => expect(clock.sleeping).toBe(1));
    const stage = scene({ store: new FileStore({ stateDir }), clock });
    await stage.scheduler.start([agent("a", { x: { type: "webhook" } })]);
    const answer = await passing(clock, asking, () => 2);
    expect(answer).toMatchObject({ job_id: stage.jobs[0]?.id });
    expect(stage.jobs).toHaveLength(1);
  });
});

describe("a scheduler that stops and waits for a job", () => {
  const request = (action: ScheduleRequest["action"], job_id?: string): ScheduleRequest => ({
    id: "r1",
    action,
    expires_at: "2026-03-01T00:10:00.000Z",
    ...(job_id === undefined ? {} : { job_id }),
  });

  /** A store in memory that hears of a request as if somebody else had made it. */
  class Asked extends MemoryStore {
    async ask(made: ScheduleRequest): Promise<void> {
      await this.update(X, { request: made });
      this.noteOutsideChanges([{ ...X, keys: ["request"] }]);
    }
  }

  const stopping = async (): Promise<Scene & { store: Asked; jobId: string; stopped: Promise<void> }> => {
    const store = new Asked();
    const clock = new FakeClock(START);
    const stage = scene({ store, clock, work: ({ signal }) => clock.sleep("1h", signal) });
    await stage.scheduler.start([agent("a", { x: every("1h") })]);
    await clock.advance("1s");
    const [job] = await store.jobs.list();
    const stopped = stage.scheduler.stop({ timeout: Infinity });
    await clock.advance("1s");
    return { ...stage, store, jobId: job?.id ?? "", stopped };
  };

  it("still accepts a request to cancel the job, and replies before it closes the store", async () => {
    const { store, clock, jobId, stopped } = await stopping();
    await store.ask(request("cancel", jobId));
    await clock.advance("1s");
    await stopped;
    expect(await store.jobs.get(jobId)).toMatchObject({ status: "cancelled" });
    expect(await store.read(X)).toMatchObject({ request_answer: { id: "r1", job_id: jobId } });
  });

  it("leaves a request to run for the next scheduler", async () => {
    const { store, clock, scheduler, jobId, stopped } = await stopping();
    await store.ask(request("run"));
    await clock.advance("1s");
    expect(await store.read(X)).toMatchObject({ request: { id: "r1" } });
    scheduler.cancel(jobId);
    await clock.advance("1s");
    await stopped;
  });

  it("accepts all requests once it is started again", async () => {
    const { store, clock, scheduler, stopped } = await stopping();
    void stopped.catch(() => {});
    const [job] = await store.jobs.list();
    scheduler.cancel(job?.id ?? "");
    await clock.advance("1s");
    await stopped;
    await scheduler.start([agent("a", { x: every("1h") })]);
    await store.ask(request("run"));
    await clock.advance("1s");
    expect(await store.jobs.list()).toHaveLength(2);
  });
});
