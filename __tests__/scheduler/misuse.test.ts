/** What a scheduler says to a call that makes no sense: an error with a code, which names the argument and its value. */
import { describe, expect, it } from "vitest";
import { type Agent, FakeClock, MemoryStore, Scheduler, type SchedulerOptions } from "../../src/index.js";
import { thrownBy } from "../thrown-by.js";
import { agent, cron, every, scene, START } from "./scene.js";

/** A call as a program without types makes it. */
type Call = (scheduler: Scheduler) => unknown;
type AnyScheduler = Record<string, (...given: readonly unknown[]) => unknown>;

const call =
  (method: unknown, ...given: readonly unknown[]): Call =>
  (scheduler) =>
    (scheduler as unknown as AnyScheduler)[String(method)]?.(...given);

const codeOf = async (act: () => unknown): Promise<unknown> => {
  try {
    const result = await act();
    return (result as { readonly code?: unknown } | undefined)?.code;
  } catch (error) {
    return (error as { readonly code?: unknown }).code;
  }
};

const day = { from: "2026-02-01T00:00:00Z", to: "2026-02-02T00:00:00Z" };

/** Every method that asks for an agent, with the arguments that follow it. */
const CONTROLS: readonly (readonly [method: string, ...rest: readonly unknown[]])[] = [
  ["trigger", "x"],
  ["pause", "x"],
  ["resume", "x"],
  ["enable", "x"],
  ["disable", "x"],
  ["hint", "x", { interval: "5m" }],
  ["clearHints", "x"],
  ["backfill", "x", day],
  ["cancelBackfill", "x"],
];

describe.each(CONTROLS)("%s", (method, schedule, ...rest) => {
  it("of a scheduler that does not run has the code NOT_RUNNING, before the start and after the stop", async () => {
    const { scheduler } = scene();
    const act = (): unknown => call(method, "a", schedule, ...rest)(scheduler);
    expect(await codeOf(act)).toBe("NOT_RUNNING");
    await scheduler.start([agent("a", { x: every("1h") })]);
    await scheduler.stop();
    expect(await codeOf(act)).toBe("NOT_RUNNING");
  });

  it("of an unknown agent or schedule has the code UNKNOWN_SCHEDULE, and changes nothing", async () => {
    const { scheduler, clock, store } = scene();
    await scheduler.start([agent("a", { x: every("1h") }), { name: "empty" }]);
    await clock.advance("1s");
    const before = await store.read({ agent: "a", schedule: "x" });
    for (const [name, other] of [
      ["b", schedule],
      ["a", "y"],
      [undefined, schedule],
      [null, null],
      [{}, "x"],
      ["a", 5],
    ])
      expect(await codeOf(() => call(method, name, other, ...rest)(scheduler))).toBe("UNKNOWN_SCHEDULE");
    // An agent can be paused before it has a schedule.
    const ofEmpty = method === "pause" || method === "resume" ? undefined : "UNKNOWN_SCHEDULE";
    expect(await codeOf(() => call(method, "empty", undefined, ...rest)(scheduler))).toBe(ofEmpty);
    expect(await store.read({ agent: "a", schedule: "x" })).toEqual(before);
  });
});

describe("a call with a wrong value", () => {
  it.each<[string, Call, string]>([
    [
      "a time that is null",
      call("pause", "a", "x", null),
      "Invalid until null: expected a Date, an ISO time or",
    ],
    ["a time that is true", call("pause", "a", "x", true), "Invalid until true"],
    ["a time that is an object", call("pause", "a", "x", { until: "2027-01-01" }), "Invalid until an object"],
    ["a duration in place of a time", call("pause", "a", "x", "1h"), 'Invalid until "1h"'],
    ["a time beyond the year 9999", call("pause", "a", "x", 8.64e15), "Invalid until 8640000000000000"],
    ["no hint", call("hint", "a", "x"), "Invalid hint undefined: expected an object such as"],
    ["a hint that is text", call("hint", "a", "x", "5m"), 'Invalid hint "5m"'],
    ["a hint of milliseconds", call("hint", "a", "x", { interval: 5_000 }), 'such as "5m", got 5000'],
    ["a reason that is not text", call("hint", "a", "x", { interval: "5m", reason: 5 }), "Invalid reason 5"],
    ["no period", call("backfill", "a", "c"), "Invalid backfill undefined: expected an object such as"],
    ["a period without an end", call("backfill", "a", "c", { ...day, to: null }), "Invalid to null"],
    [
      "an interval to run again",
      call("backfill", "a", "x", day),
      "Only cron schedules have slots to run again",
    ],
    [
      "a listener that is no function",
      call("on", "job:finished", 5),
      "Invalid listener 5: expected a function",
    ],
    [
      "an unknown event",
      call("on", "job:ended", () => {}),
      'Invalid event "job:ended": expected one of job:finished,',
    ],
    [
      "a timeout in place of options",
      call("stop", 5_000),
      "Invalid options 5000: expected an object such as",
    ],
    ["null in place of options", call("stop", null), "Invalid options null"],
  ])("is refused: %s", async (_, act, message) => {
    const { scheduler, clock, store } = scene();
    await scheduler.start([agent("a", { x: every("1h"), c: cron("0 3 * * *") })]);
    await clock.advance("1s");
    const before = await store.read({ agent: "a", schedule: "x" });
    const error: unknown = await (async () => act(scheduler))().catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({
      name: expect.stringMatching(/^(Scheduler|IntervalParse)Error$/) as string,
      code: expect.stringMatching(/^(INVALID_ARGUMENT|INTERVAL_PARSE_ERROR)$/) as string,
      message: expect.stringContaining(message) as string,
    });
    expect(await store.read({ agent: "a", schedule: "x" })).toEqual(before);
    expect(scheduler.getStatus()).toBe("running");
  });

  it.each([
    ["null", null, "Invalid options null"],
    ["text", "now", 'Invalid options "now"'],
    ["a prompt that is a number", { prompt: 5 }, "Invalid prompt 5"],
    ["data without JSON", { data: () => 1 }, "not a JSON value"],
  ])("is refused by trigger in its result: %s", async (_, options, message) => {
    const { scheduler, clock } = scene();
    await scheduler.start([agent("a", { x: every("1h") })]);
    await clock.advance("1s");
    expect(await call("trigger", "a", "x", options)(scheduler)).toEqual({
      success: false,
      code: "INVALID_ARGUMENT",
      error: expect.stringContaining(message) as string,
    });
  });

  it("that lasts longer than times go ends at the last one: a hint of a billion days", async () => {
    const { scheduler, state } = scene();
    await scheduler.start([agent("a", { x: every("1h") })]);
    await scheduler.hint("a", "x", { interval: "5m", ttl: "999999999d" });
    expect((await state("a", "x")).hint).toMatchObject({ expires_at: "9999-12-31T23:59:59.999Z" });
  });
});

describe("an option of the Scheduler", () => {
  it.each([
    [null, "Invalid options null"],
    ["state", 'Invalid options "state"'],
    [{ stateDir: "" }, 'Invalid stateDir "": expected the path of a directory'],
    [{ stateDir: 5 }, "Invalid stateDir 5"],
    [{ onTrigger: "run" }, 'Invalid onTrigger "run": expected a function'],
    [{ onTick: {} }, "Invalid onTick an object"],
    [{ sdkQuery: {} }, "Invalid sdkQuery an object"],
    [{ random: 0.5 }, "Invalid random 0.5"],
    [{ jobExecutor: {} }, "Invalid jobExecutor an object: expected an object with execute"],
    [
      { workSourceManager: {} },
      "Invalid workSourceManager an object: expected an object with getNextWorkItem",
    ],
    [{ clock: {} }, "Invalid clock an object: expected an object with now, monotonic, sleep"],
    [{ store: {} }, "Invalid store an object: expected an object with open, claimDue"],
  ])("is refused when it cannot work: %j", (options, message) => {
    expect(thrownBy(() => new Scheduler(options as SchedulerOptions))).toMatchObject({
      name: "SchedulerError",
      code: "INVALID_ARGUMENT",
      message: expect.stringContaining(message) as string,
    });
  });
});

describe("the message about something unknown", () => {
  it.each([
    ["reeder", "x", 'Agent "reeder" is not known: did you mean "reader"?'],
    ["z", "x", 'Agent "z" is not known: give it to start() or setAgents()'],
    ["reader", "hurly", 'Schedule "hurly" of agent "reader" is not known: did you mean "hourly"?'],
    ["reader", "z", 'Schedule "z" of agent "reader" is not known: it has "hourly", "daily"'],
    ["empty", undefined, 'Agent "empty" has no schedule: give it one'],
    ["empty", "z", 'Schedule "z" of agent "empty" is not known: it has none'],
  ])("of %s/%s says what there is", async (name, schedule, message) => {
    const { scheduler } = scene();
    const schedules = { hourly: every("1h"), daily: cron("@daily") };
    await scheduler.start([agent("reader", schedules), { name: "empty" }]);
    await expect(scheduler.enable(name, schedule)).rejects.toThrow(message);
    expect(await scheduler.trigger(name, schedule)).toMatchObject({
      error: message,
      code: "UNKNOWN_SCHEDULE",
    });
  });
});

describe("setAgents", () => {
  it("of a scheduler that does not run throws NOT_RUNNING", () => {
    expect(thrownBy(() => scene().scheduler.setAgents([]))).toMatchObject({ code: "NOT_RUNNING" });
  });
});

describe("a question about something unknown", () => {
  it("has an empty answer, not an error", async () => {
    const { scheduler } = scene();
    await scheduler.start([agent("a")]);
    expect(await scheduler.getSchedules("b")).toEqual([]);
    expect([scheduler.getRunningJobCount("b"), scheduler.cancel("job-2026-03-01-unknown")]).toEqual([
      0,
      false,
    ]);
    expect(await scheduler.jobs.get("job-2026-03-01-aaaaaaaa")).toBeUndefined();
    await expect(scheduler.jobs.get("../state")).rejects.toMatchObject({ code: "INVALID_STATE" });
  });
});

describe("an agent that is an object of a class", () => {
  class Reader implements Agent {
    readonly name = "reader";
    readonly schedules = { on: every("1h"), off: every("1h", { enabled: false }) };
    readonly #read: string[] = [];
    get read(): readonly string[] {
      return this.#read;
    }
    run({ schedule }: { readonly schedule: string }): void {
      this.#read.push(schedule);
    }
  }

  it("runs its jobs by its method, also where one of its schedules is switched off", async () => {
    const clock = new FakeClock(START);
    await using scheduler = new Scheduler({
      clock,
      store: new MemoryStore(),
      logger: { info() {}, warn() {}, error() {} },
    });
    const reader = new Reader();
    await scheduler.start([reader]);
    await clock.advance("1h");
    expect(reader.read).toEqual(["on", "on"]);
  });
});
