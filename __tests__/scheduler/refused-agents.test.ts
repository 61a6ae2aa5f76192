/** Agents that can never run are refused when they are given to a scheduler, by the checks of `rota validate`. */
import { describe, expect, it } from "vitest";
import {
  type Agent,
  type AgentRuntime,
  ConfigError,
  RuntimeRegistry,
  WorkSourceManager,
  WorkSourceRegistry,
} from "../../src/index.js";
import { thrownBy } from "../thrown-by.js";
import { agent, cron, every, gatedScene, scene, type SceneOptions } from "./scene.js";

const run = (): void => {};
const schedules = { work: every("1h") };
const from = (agents: readonly unknown[]): readonly Agent[] => agents as readonly Agent[];

const WRONG = from([
  { name: "typo", shedules: schedules, run },
  { name: "cron", schedules: { nightly: cron("61 * * * *"), fine: every("1h") }, run },
  { name: "zone", schedules: { nightly: cron("0 3 * * *", { timezone: "Mars/Olympus" }) }, run },
  { name: "idle", schedules },
  { name: "shell", schedules, runtime: { type: "comand", command: ["true"] } },
  { name: "source", schedules: { work: every("1h", { work_source: { type: "directory" } } as object) }, run },
]);
const PLACES = [
  'agents[0] "typo", shedules',
  'agents[1] "cron", schedule "nightly", expression',
  'agents[2] "zone", schedule "nightly", timezone',
  'agents[3] "idle", runtime',
  'agents[4] "shell", runtime, type',
  'agents[5] "source", schedule "work", work_source, path',
];

describe("start with agents that can never run", () => {
  it("rejects with one error that lists every problem, and starts nothing", async () => {
    const { scheduler, store, clock, starts } = gatedScene();
    const error: unknown = await scheduler
      .start([agent("a"), ...WRONG].slice(1))
      .catch((thrown: unknown) => thrown);
    if (!(error instanceof ConfigError)) throw error;
    expect(error.code).toBe("INVALID_CONFIG");
    expect(error.message).toMatch(/^The list of agents has 6 problems\./);
    expect(error.problems.map(({ where }) => where)).toEqual(PLACES);
    await clock.advance("1h");
    expect([scheduler.getStatus(), store.count("open"), starts, clock.sleeping]).toEqual([
      "stopped",
      0,
      [],
      0,
    ]);
    await scheduler.start([agent("a")]);
    expect(scheduler.isRunning()).toBe(true);
  });

  it("can be called again at once", async () => {
    const { scheduler } = gatedScene();
    await expect(scheduler.start(WRONG)).rejects.toThrow("has 6 problems");
    await scheduler.start([agent("a")]);
  });
});

describe("setAgents with agents that can never run", () => {
  it("throws what start rejects with, and the agents stay", async () => {
    const { scheduler, clock, starts } = gatedScene();
    await scheduler.start([agent("a", { work: every("10s") })]);
    const error = thrownBy(() => scheduler.setAgents([agent("b"), ...WRONG]));
    expect(error).toMatchObject({ name: "ConfigError", problems: { length: 6 } });
    await clock.advance("10s");
    expect(starts).toEqual(["a 00:00", "a 00:00:10"]);
  });
});

describe('onInvalid: "skip"', () => {
  it("leaves the wrong schedules out, reports each, and runs all other schedules", async () => {
    const { scheduler, settle, runs, troubles } = gatedScene({ onInvalid: "skip" });
    await scheduler.start([...WRONG, agent("a")]);
    await settle();
    expect(runs).toEqual(["00:00 cron/fine", "00:00 a/work"]);
    expect(troubles).toEqual([
      expect.stringMatching(/^Refused schedule cron\/nightly: Invalid minute "61"/),
      expect.stringMatching(/^Refused schedule zone\/nightly: .*Mars\/Olympus/),
      expect.stringMatching(/^Refused schedule idle\/work: Nothing can run the jobs of this agent/),
      expect.stringMatching(/^Refused schedule shell\/work: Unknown type "comand".*did you mean "command"/),
      expect.stringMatching(/^Refused schedule source\/work: Missing path/),
    ]);
  });

  it("leaves out agents of which nothing can be used, and reports each", async () => {
    const { scheduler, settle, runs, troubles } = gatedScene({ onInvalid: "skip" });
    await scheduler.start(
      from([null, { name: "" }, agent("a"), agent("a"), { name: "b", schedules: 5, run }]),
    );
    await settle();
    expect(runs).toEqual(["00:00 a/work"]);
    expect(troubles).toEqual([
      expect.stringContaining("agents[0]: Invalid agents[0] without a value"),
      expect.stringContaining('agents[1] "", name: Invalid name ""'),
      expect.stringContaining('agents[3] "a", name: Two agents are named "a"'),
      expect.stringContaining('agents[4] "b", schedules: Invalid schedules 5'),
    ]);
  });

  it("lists a schedule that nothing can run with its problem, and trigger returns it", async () => {
    const { scheduler, status } = scene({ onInvalid: "skip" });
    await scheduler.start([{ name: "idle", schedules }]);
    expect(await status("idle", "work")).toMatchObject({
      nextRunAt: undefined,
      lastError: expect.stringContaining("Nothing can run") as string,
    });
    expect(await scheduler.trigger("idle")).toMatchObject({ success: false, code: "INVALID_SCHEDULE" });
  });

  it("still rejects what is not a list of agents", async () => {
    const { scheduler } = scene({ onInvalid: "skip" });
    await expect(scheduler.start("agents" as never)).rejects.toThrow("expected a list of agents");
  });

  it("is one of two values", () => {
    expect(() => scene({ onInvalid: "ignore" as "skip" })).toThrow('Invalid onInvalid "ignore"');
  });
});

describe("an agent without a runtime", () => {
  const idle: Agent = { name: "idle", schedules };
  const messages: Agent = { ...idle, runtime: { type: "messages" } };
  const byFunction: Agent = { ...idle, runtime: { type: "function" } };
  const sdkQuery = async function* (): AsyncGenerator<object> {};

  it.each([
    ["onTrigger", idle, { onTrigger: () => {} }],
    ["jobExecutor", idle, { jobExecutor: { execute: () => ({ success: true }) } }],
    ["sdkQuery", idle, { sdkQuery }],
    ["sdkQuery, by its messages runtime,", messages, { sdkQuery }],
    ["onTrigger, with a function runtime,", byFunction, { onTrigger: () => {} }],
  ] as readonly [string, Agent, SceneOptions][])(
    "is fine where %s runs its jobs",
    async (_, one, options) => {
      const { scheduler } = scene(options);
      await scheduler.start([one]);
      expect(scheduler.isRunning()).toBe(true);
    },
  );

  it("is fine without schedules, or with schedules that are switched off", async () => {
    const { scheduler } = scene();
    await scheduler.start([
      { name: "a" },
      { name: "b", schedules: { work: every("1h", { enabled: false }) } },
    ]);
    expect(scheduler.isRunning()).toBe(true);
  });

  it.each([
    ["neither run nor runtime", idle, "Nothing can run the jobs of this agent: give it a runtime such as"],
    ["a messages runtime and no sdkQuery", messages, "The messages runtime needs an sdkQuery"],
    ["a function runtime and no run", byFunction, "The function runtime needs a run function"],
  ])("is refused with %s", async (_, one, message) => {
    await expect(scene().scheduler.start([one])).rejects.toThrow(message);
  });
});

describe("what a host does itself", () => {
  const docker = { type: "docker", image: "x" } as unknown as AgentRuntime;

  it("is accepted: a runtime that is registered, or that its executor reads", async () => {
    const runtimes = new RuntimeRegistry();
    runtimes.register("docker", () => ({ run: () => {} }));
    await scene({ runtimes }).scheduler.start([{ name: "a", schedules, runtime: docker }]);
    await scene({ onTrigger: () => {} }).scheduler.start([{ name: "a", schedules, runtime: docker }]);
    await expect(scene().scheduler.start([{ name: "a", schedules, runtime: docker }])).rejects.toThrow(
      'Unknown type "docker"',
    );
  });

  it("is accepted: a work source that is registered, or that its manager reads", async () => {
    const agents = (work_source: unknown): readonly Agent[] =>
      from([{ name: "a", run, schedules: { work: { ...every("1h"), work_source } } }]);
    const registry = new WorkSourceRegistry();
    registry.register("tickets", () => {
      throw new Error("not asked yet");
    });
    const manager = new WorkSourceManager({ registry });
    await scene({ workSourceManager: manager }).scheduler.start(agents({ type: "tickets", queue: 1 }));
    await expect(
      scene({ workSourceManager: manager }).scheduler.start(agents({ type: "dir" })),
    ).rejects.toThrow('Unknown type "dir"');
    const own = { getNextWorkItem: async () => ({ item: null }), reportOutcome: async () => {} };
    await scene({ workSourceManager: own }).scheduler.start(agents("the inbox"));
  });

  it("is accepted: keys of agents that it lists in agentKeys", async () => {
    const agents = from([{ name: "a", run, model: "small" }]);
    await scene({ agentKeys: ["model"] }).scheduler.start(agents);
    await expect(scene().scheduler.start(agents)).rejects.toThrow('Unknown key "model"');
  });
});

describe("a schedule with enabled: false", () => {
  it("does not run and is not listed, and a trigger says why", async () => {
    const { scheduler, clock, runs } = scene();
    await scheduler.start([
      agent("a", { off: every("1h", { enabled: false }), on: every("1h", { enabled: true }) }),
    ]);
    await clock.advance("1h");
    expect(runs).toEqual(["00:00 a/on", "01:00 a/on"]);
    expect((await scheduler.getSchedules()).map(({ schedule }) => schedule)).toEqual(["on"]);
    expect(await scheduler.trigger("a", "off")).toEqual({
      success: false,
      error: 'Schedule "off" of agent "a" has enabled: false',
      code: "UNKNOWN_SCHEDULE",
    });
  });
});
