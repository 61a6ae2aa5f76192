/** Schedulers on one schema whose agents are not the same, as while a fleet is being reloaded. In real time. */
import { describe, expect, inject, it, onTestFinished } from "vitest";
import { type Agent, type AgentSchedule, Scheduler, type ScheduleState } from "../../../../src/index.js";
import { PostgresStore } from "../../../../src/state/postgres/index.js";
import { until } from "../../child.js";
import { scene } from "../scene.js";
import { sharedPool } from "../schema.js";

const X = { agent: "a", schedule: "x" };
const every = (interval: string): AgentSchedule => ({ type: "interval", interval });
const WEBHOOK: AgentSchedule = { type: "webhook" };

interface Node {
  readonly scheduler: Scheduler;
  /** The job that is under way ends. */
  readonly end: () => void;
  readonly counts: { started: number; passes: number };
  readonly agent: (schedule: AgentSchedule) => Agent;
  /** Resolves when two whole passes have been made from now on. */
  readonly passed: () => Promise<void>;
}

interface Stage {
  /** A scheduler whose jobs end at once, or when they are told to. */
  readonly node: (jobs?: "short" | "long") => Node;
  readonly state: () => Promise<ScheduleState>;
  /** How often the row was written. */
  readonly version: () => Promise<number>;
  readonly changeFromOutside: (patch: Partial<ScheduleState>) => Promise<void>;
}

function stage(): Stage {
  const { schema, outsider } = scene();
  const reader = outsider({ clock: undefined });
  const logger = { info() {}, warn() {}, error() {} };
  const node: Stage["node"] = (jobs = "short") => {
    const counts = { started: 0, passes: 0 };
    let end = (): void => {};
    const run = async (): Promise<void> => {
      counts.started++;
      if (jobs === "long")
        await new Promise<void>((resolve) => {
          end = resolve;
        });
    };
    const store = new PostgresStore({ connectionString: inject("databaseUrl"), schema, logger });
    const onTick = (): unknown => counts.passes++;
    const scheduler = new Scheduler({ store, logger, checkInterval: 50, onTick });
    onTestFinished(async () => {
      end();
      await scheduler.stop({ waitForJobs: false });
    });
    return {
      scheduler,
      counts,
      end: () => end(),
      agent: (schedule) => ({ name: "a", schedules: { x: schedule }, run }),
      passed: async () => {
        // One may be under way.
        const before = counts.passes + 3;
        await until(() => counts.passes >= before);
      },
    };
  };
  return {
    node,
    state: () => reader.read(X),
    version: async () => {
      const { rows } = await sharedPool().query<{ version: string }>(
        `select version from "${schema}".states`,
      );
      return Number(rows[0]?.version);
    },
    changeFromOutside: async (patch) => void (await reader.update(X, patch)),
  };
}

describe("a schedule that one of two schedulers drops", { timeout: 60_000 }, () => {
  it("keeps its plan, and is run by the other", async () => {
    const { node, state } = stage();
    const [one, two] = [node(), node()];
    await one.scheduler.start([one.agent(every("1s"))]);
    await until(() => one.counts.started > 0);
    await two.scheduler.start([two.agent(every("1s"))]);
    one.scheduler.setAgents([]);
    await one.passed();
    const before = { one: one.counts.started, two: two.counts.started };
    await until(() => two.counts.started > before.two + 1);
    expect(one.counts.started).toBe(before.one);
    await until(async () => (await state()).next_run_source === "baseline-interval");
  });

  it("while a job of it runs there is planned when that ends, and run by the other", async () => {
    const { node } = stage();
    const [one, two] = [node("long"), node()];
    await one.scheduler.start([one.agent(every("1s"))]);
    await until(() => one.counts.started > 0);
    await two.scheduler.start([two.agent(every("1s"))]);
    one.scheduler.setAgents([]);
    await one.passed();
    one.end();
    await until(() => two.counts.started > 0);
    expect(one.counts.started).toBe(1);
  });

  it("is found planned by one that adds it again or starts later", async () => {
    const { node, state, version } = stage();
    const [one, two, three] = [node(), node(), node()];
    await one.scheduler.start([one.agent(every("1h"))]);
    await until(async () => (await state()).next_run_source === "baseline-interval");
    await two.scheduler.start([two.agent(every("1h"))]);
    const planned = { at: (await state()).next_run_at, version: await version() };
    one.scheduler.setAgents([]);
    await one.passed();
    one.scheduler.setAgents([one.agent(every("1h"))]);
    await one.passed();
    await three.scheduler.start([three.agent(every("1h"))]);
    await three.passed();
    expect({ at: (await state()).next_run_at, version: await version() }).toEqual(planned);
  });
});

describe("a schedule that two schedulers define differently", { timeout: 60_000 }, () => {
  it("is planned once by each that changes its mind, and not to and fro", async () => {
    const { node, state, version } = stage();
    const [one, two] = [node(), node()];
    await one.scheduler.start([one.agent(every("1h"))]);
    await until(async () => (await state()).next_run_source === "baseline-interval");
    await two.scheduler.start([two.agent(every("1h"))]);
    const before = await version();
    one.scheduler.setAgents([one.agent(every("2h"))]);
    await until(async () => (await version()) > before);
    for (let round = 0; round < 5; round++) for (const each of [one, two]) await each.passed();
    const { last_completed_at, next_run_at } = await state();
    expect(Date.parse(next_run_at ?? "") - Date.parse(last_completed_at ?? "")).toBe(2 * 3_600_000);
    expect(await version()).toBe(before + 1);
  });

  it("is planned at most once by each node when its state changes", async () => {
    const { node, state, version, changeFromOutside } = stage();
    const [one, two] = [node(), node()];
    await one.scheduler.start([one.agent(every("1h"))]);
    await until(async () => (await state()).next_run_source === "baseline-interval");
    await two.scheduler.start([two.agent(every("2h"))]);
    const before = await version();
    await changeFromOutside({ failure_count: 1 });
    for (let round = 0; round < 5; round++) for (const each of [one, two]) await each.passed();
    const settled = await version();
    expect(settled - before).toBeLessThanOrEqual(3);
    for (let round = 0; round < 5; round++) for (const each of [one, two]) await each.passed();
    expect(await version()).toBe(settled);
  });
});

describe("a schedule that waits for requests on one of two schedulers", { timeout: 60_000 }, () => {
  /** The first has it as a webhook, the second runs it every so often. */
  async function hookAnd(
    interval: string,
    jobs?: "short" | "long",
  ): Promise<Stage & { hook: Node; timer: Node }> {
    const set = stage();
    const [hook, timer] = [set.node(jobs), set.node()];
    await hook.scheduler.start([hook.agent(WEBHOOK)]);
    await timer.scheduler.start([timer.agent(every(interval))]);
    return { ...set, hook, timer };
  }

  /** One that is planned for an hour from now, and how. */
  async function planned({ state }: Stage): Promise<Partial<ScheduleState>> {
    await until(async () => (await state()).next_run_source === "baseline-interval");
    const { next_run_at, next_run_source } = await state();
    return { next_run_at, next_run_source };
  }

  it("is run by the other, each time", async () => {
    const { hook, timer } = await hookAnd("1s");
    await until(() => timer.counts.started > 2);
    expect(hook.counts.started).toBe(0);
  });

  it("keeps the plan of the other when the first starts or is reloaded", async () => {
    const set = await hookAnd("1h");
    const plan = await planned(set);
    const late = set.node();
    await late.scheduler.start([late.agent(WEBHOOK)]);
    set.hook.scheduler.setAgents([set.hook.agent({ type: "chat" })]);
    for (const each of [late, set.hook]) await each.passed();
    expect(await set.state()).toMatchObject(plan);
  });

  it("keeps the plan of the automatic node when a manual job ends", async () => {
    const set = await hookAnd("1h");
    const plan = await planned(set);
    await set.hook.scheduler.trigger("a", "x");
    await until(async () => set.hook.counts.started > 0 && (await set.state()).claim == null);
    expect(await set.state()).toMatchObject(plan);
  });

  it("is planned by a node that starts while a manual job runs", async () => {
    const { node, state } = stage();
    const [hook, timer] = [node("long"), node()];
    await hook.scheduler.start([hook.agent(WEBHOOK)]);
    await hook.scheduler.trigger("a", "x");
    await timer.scheduler.start([timer.agent(every("1h"))]);
    hook.end();
    await until(async () => (await state()).next_run_source === "baseline-interval");
    expect(timer.counts.started).toBe(1);
  });

  it("is planned by the other when it is enabled or resumed here", async () => {
    const set = await hookAnd("1h");
    await planned(set);
    await set.hook.scheduler.disable("a", "x");
    expect((await set.state()).next_run_at).toBeNull();
    await set.hook.scheduler.enable("a", "x");
    await planned(set);
    await set.timer.scheduler.pause("a", "x");
    expect((await set.state()).next_run_source).toBe("paused");
    await set.hook.scheduler.resume("a", "x");
    await planned(set);
  });

  it("is planned by the automatic node when its state changes", async () => {
    const set = await hookAnd("1h");
    await planned(set);
    await set.changeFromOutside({ failure_count: 1 });
    await until(async () => {
      const { last_completed_at, next_run_at } = await set.state();
      return Date.parse(next_run_at ?? "") - Date.parse(last_completed_at ?? "") === 2 * 3_600_000;
    });
    await set.changeFromOutside({ status: "disabled" });
    await set.changeFromOutside({ status: "idle" });
    for (const each of [set.hook, set.timer]) await each.passed();
    expect((await set.state()).next_run_source).toBe("baseline-interval");
  });
});
