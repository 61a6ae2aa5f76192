/** A job that is triggered with a prompt, data and a key, in this process. */
import { describe, expect, it } from "vitest";
import { type Agent, FakeClock, FileStore, type RuntimeJob, MemoryStore } from "../../../src/index.js";
import { stateDirectory } from "../../state/temporary-directory.js";
import { GatedStore } from "../gated-store.js";
import { agent, scene, type Scene, START } from "../scene.js";

const HOOK = { hook: { type: "webhook", prompt: "Answer {{from.name}}: {{text}}" } } as const;

interface Seen {
  readonly prompt: string;
  readonly data: unknown;
  readonly attempt: number;
}

async function started(store = new MemoryStore()): Promise<Scene & { seen: Seen[]; agents: Agent[] }> {
  const seen: Seen[] = [];
  const run = ({ prompt, data, attempt }: RuntimeJob): void => void seen.push({ prompt, data, attempt });
  const agents = [agent("a", HOOK, { run })];
  const stage = scene({ store, onTrigger: undefined });
  await stage.scheduler.start(agents);
  return { ...stage, seen, agents };
}

describe("a job that is triggered with a prompt and data", () => {
  it("gets both, and its record keeps them with the trigger and its cause", async () => {
    const { scheduler, seen, settle } = await started();
    const data = { from: { name: "Ada" }, text: "hi", list: [1, { two: 2 }] };
    const result = await scheduler.trigger("a", "hook", {
      data,
      trigger: "webhook",
      cause: "a push",
      author: "octocat",
    });
    await settle();
    expect(seen).toEqual([{ prompt: "Answer Ada: hi", data, attempt: 1 }]);
    expect(await scheduler.jobs.get(result.jobId ?? "")).toMatchObject({
      status: "completed",
      trigger: "webhook",
      source: "manual",
      prompt: "Answer Ada: hi",
      data,
      cause: "octocat: a push",
    });
  });

  it("has the prompt of its trigger instead of its schedule's", async () => {
    const { scheduler, seen, settle } = await started();
    await scheduler.trigger("a", "hook", { prompt: "Only this." });
    await settle();
    expect(seen).toEqual([{ prompt: "Only this.", data: null, attempt: 1 }]);
  });

  it("runs though the scheduler is stopped before its start is recorded", async () => {
    const store = new GatedStore();
    const { scheduler, seen } = await started(store);
    const gate = store.hold("startJobs");
    const { jobId = "" } = await scheduler.trigger("a", "hook", { prompt: "Only this." });
    await gate.reached;
    const stopped = scheduler.stop();
    gate.open();
    await stopped;
    expect(seen).toEqual([{ prompt: "Only this.", data: null, attempt: 1 }]);
    expect(await scheduler.jobs.get(jobId)).toMatchObject({ status: "completed" });
  });

  it("does not run when it is cancelled before its start is recorded", async () => {
    const store = new GatedStore();
    const { scheduler, seen, settle } = await started(store);
    const gate = store.hold("startJobs");
    const { jobId = "" } = await scheduler.trigger("a", "hook", { prompt: "Only this." });
    await gate.reached;
    expect(scheduler.cancel(jobId)).toBe(true);
    gate.open();
    await settle();
    expect(seen).toEqual([]);
    expect(await scheduler.jobs.get(jobId)).toMatchObject({ status: "cancelled" });
  });

  it("without them has neither, and its record has no keys for them", async () => {
    const { scheduler, seen, settle } = await started();
    const { jobId = "" } = await scheduler.trigger("a", "hook");
    await settle();
    expect(seen).toEqual([{ prompt: "Answer {{from.name}}: {{text}}", data: null, attempt: 1 }]);
    const record = await scheduler.jobs.get(jobId);
    expect(record).toMatchObject({ trigger: "manual" });
    expect(record).not.toHaveProperty("data");
    expect(record).not.toHaveProperty("cause");
  });

  it.each([
    [
      "{{text}} {{nothing}} {{from.nothing}}|",
      { text: "{{from.name}}", from: { name: "x" } },
      "{{from.name}} {{nothing}} |",
    ],
    ["{{data}} {{payload.a}} {{ a }}", { a: 1 }, '{"a":1} 1 1'],
    ["{{0.name}} {{data.1}}", [{ name: "n" }, true], "n true"],
    ["{{data}} {{x}}", "plain", "plain {{x}}"],
    ["{{constructor}} {{a.length}} {{__proto__}}", { a: "text" }, "{{constructor}}  {{__proto__}}"],
  ])("fills %s from %j in one pass", async (prompt, data, filled) => {
    const { scheduler, seen, settle } = await started();
    await scheduler.trigger("a", "hook", { prompt, data });
    await settle();
    expect(seen).toMatchObject([{ prompt: filled }]);
  });

  it("is on disk before it starts", async () => {
    const clock = new FakeClock(START);
    const stateDir = stateDirectory();
    const found: unknown[] = [];
    const reader = new FileStore({ stateDir, clock });
    const run = async ({ jobId }: RuntimeJob): Promise<void> => void found.push(await reader.jobs.get(jobId));
    const stage = scene({ store: new FileStore({ stateDir }), clock });
    await stage.scheduler.start([agent("a", HOOK, { run })]);
    await stage.scheduler.trigger("a", "hook", { prompt: "P", data: [1] });
    await expect.poll(() => found).toMatchObject([{ status: "running", prompt: "P", data: [1] }]);
    await reader.close();
  });

  it.each([
    ["data that is no JSON", { data: 1n }, /not a JSON value/],
    ["a function as data", { data: () => 1 }, /not a JSON value/],
    ["a prompt that is too long", { prompt: "x".repeat(1_000_001) }, /1 MB/],
    ["an empty key", { key: "" }, /key/],
    ["a key that is too long", { key: "x".repeat(257) }, /key/],
    ["a prompt that is no text", { prompt: 7 as unknown as string }, /prompt/],
    ["an unknown trigger", { trigger: "cron" as unknown as "chat" }, /trigger/],
  ])("is refused for %s", async (_, options, message) => {
    const { scheduler, seen } = await started();
    const result = await scheduler.trigger("a", "hook", options);
    expect(result).toMatchObject({ success: false, code: "INVALID_ARGUMENT" });
    expect(result.error).toMatch(message);
    expect(seen).toEqual([]);
  });
});

describe("a key of a trigger", () => {
  it("returns the same job within 24 hours, and starts a new one after that", async () => {
    const { scheduler, seen, settle, clock } = await started();
    const options = { key: "delivery-1", data: { a: 1, b: [2] } };
    const first = await scheduler.trigger("a", "hook", options);
    await settle();
    expect(await scheduler.trigger("a", "hook", { key: "delivery-1", data: { b: [2], a: 1 } })).toEqual(
      first,
    );
    await clock.advance("23h");
    expect(await scheduler.trigger("a", "hook", options)).toEqual(first);
    await clock.advance("2h");
    const later = await scheduler.trigger("a", "hook", options);
    expect(later).toMatchObject({ success: true });
    expect(later.jobId).not.toBe(first.jobId);
    await settle();
    expect(seen).toHaveLength(2);
  });

  it("is refused with a different prompt or different data", async () => {
    const { scheduler, settle, seen } = await started();
    await scheduler.trigger("a", "hook", { key: "k", data: 1 });
    await settle();
    for (const options of [{ key: "k", data: 2 }, { key: "k" }, { key: "k", data: 1, prompt: "P" }])
      expect(await scheduler.trigger("a", "hook", options)).toMatchObject({
        success: false,
        code: "KEY_REUSED",
      });
    expect(seen).toHaveLength(1);
  });

  it("starts one job when it comes several times at once", async () => {
    const { scheduler, settle, seen } = await started();
    const results = await Promise.all(
      Array.from({ length: 5 }, () => scheduler.trigger("a", "hook", { key: "k" })),
    );
    await settle();
    expect(new Set(results.map(({ jobId }) => jobId)).size).toBe(1);
    expect(seen).toHaveLength(1);
  });

  it("of a trigger that was refused is free again", async () => {
    const { scheduler, settle } = await started();
    await scheduler.disable("a", "hook");
    expect(await scheduler.trigger("a", "hook", { key: "k" })).toMatchObject({ skipReason: "disabled" });
    await scheduler.enable("a", "hook");
    expect(await scheduler.trigger("a", "hook", { key: "k" })).toMatchObject({ success: true });
    await settle();
  });

  it("is known after a restart on files", async () => {
    const clock = new FakeClock(START);
    const stateDir = stateDirectory();
    const run = async (): Promise<unknown> => {
      const stage = scene({ store: new FileStore({ stateDir }), clock });
      await stage.scheduler.start([agent("a", HOOK)]);
      const result = await stage.scheduler.trigger("a", "hook", { key: "k", prompt: "P" });
      await stage.scheduler.stop();
      return result;
    };
    expect(await run()).toEqual(await run());
  });
});

describe("a job with a prompt and data whose process was killed", () => {
  it("runs again with them, for the same slot, as attempt 2", async () => {
    const clock = new FakeClock(START);
    const stateDir = stateDirectory();
    const killed = new FileStore({ stateDir, clock });
    await killed.open();
    const hook = { agent: "a", schedule: "hook" };
    await killed.define({ schedules: [hook] });
    const posted = await killed.mailbox.post(
      { ...hook, action: "run", prompt: "P {{x}}", data: { x: 1 }, trigger: "webhook" },
      { ttlMs: 60_000, isTaken: true },
    );
    // Killed before the job's record was written.
    await killed.claimFor(posted);
    await killed.close();
    const seen: unknown[] = [];
    const run = ({ prompt, data, attempt, key }: RuntimeJob): void =>
      void seen.push({ prompt, data, attempt, key });
    const stage = scene({ store: new FileStore({ stateDir }), clock });
    await stage.scheduler.start([agent("a", HOOK, { run })]);
    await expect
      .poll(async () => {
        await clock.advance("1s");
        return seen;
      })
      .toEqual([{ prompt: "P 1", data: { x: 1 }, attempt: 2, key: `a/hook@${START}` }]);
    await expect.poll(() => stage.ended).toMatchObject([{ trigger: "retry", prompt: "P 1", data: { x: 1 } }]);
    expect(stage.scheduler.getState().triggerCount).toBe(1);
  });
});
