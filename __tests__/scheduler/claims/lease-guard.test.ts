/** What a scheduler does on a store that others share when it cannot renew its claims. */
import { describe, expect, it } from "vitest";
import { type Agent, type Job, type JobRecord, releaseClaim, type ScheduleKey } from "../../../src/index.js";
import { agent, every, gatedScene, type GatedScene } from "../scene.js";
import { watch } from "../../watched-promise.js";

const WORK: ScheduleKey = { agent: "a", schedule: "work" };
const GONE = new Error("the database is away");

interface Stage extends GatedScene {
  readonly agents: readonly Agent[];
  /** When jobs were told to end, and why: "00:00:30 its claim could not…". */
  readonly told: string[];
  readonly ended: JobRecord[];
}

interface StageOptions {
  readonly isShared?: boolean;
  readonly ending?: "throw" | "answer" | "go on";
}

/** A job of ten minutes that ends, as `ending` says, when it is told to. */
function stage({ isShared = true, ending = "throw" }: StageOptions = {}): Stage {
  const set = gatedScene({ leaseMs: 30_000, isShared });
  const told: string[] = [];
  const ended: JobRecord[] = [];
  set.scheduler.on("job:finished", ({ job }) => ended.push(job));
  const run = async ({ signal }: Job): Promise<unknown> => {
    signal.addEventListener("abort", () => {
      const { message } = signal.reason as Error;
      told.push(`${set.clock.time()} ${message}`);
    });
    try {
      await set.clock.sleep("10m", ending === "go on" ? undefined : signal);
    } catch (error) {
      if (ending === "throw") throw error;
    }
    return "half done";
  };
  return { ...set, told, ended, agents: [agent("a", { work: every("1h") }, { run })] };
}

/** In steps in which everything that waits gets its turn. */
async function pass({ clock }: GatedScene, seconds: number): Promise<void> {
  for (let second = 0; second < seconds; second++) await clock.advance("1s");
}

describe("a scheduler that cannot renew", () => {
  it("stops its jobs with the reason when a quarter of the lease is left", async () => {
    const set = stage();
    await set.scheduler.start(set.agents);
    await set.clock.advance("5s");
    set.store.fail("renew", GONE, 1_000);
    await pass(set, 17);
    expect(set.told).toEqual([]);
    await pass(set, 1);
    expect(set.told).toEqual([
      "00:00:22.500 its claim could not be renewed for 22500 ms, and another node may claim its slot soon: the database is away",
    ]);
  });

  it.each(["claimDue", "define", "renew"] as const)(
    "does so also while its pass hangs in the store's %s",
    async (call) => {
      const set = stage();
      await set.scheduler.start(set.agents);
      await set.clock.advance("5s");
      set.store.hold(call);
      set.store.hold("renew");
      await pass(set, 60);
      expect(set.told).toHaveLength(1);
      expect(set.told[0]).toMatch(/^00:00:22\.500 .* the store does not answer$/);
    },
  );

  it("counts from the moment before the last renewal that worked was requested", async () => {
    const set = stage();
    await set.scheduler.start(set.agents);
    await set.clock.advance("5s");
    const gate = set.store.hold("renew", "after");
    await pass(set, 10);
    await gate.reached;
    gate.open();
    await set.settle();
    set.store.fail("renew", GONE, 1_000);
    await pass(set, 60);
    // Asked at 00:00:10.
    expect(set.told[0]).toMatch(/^00:00:32\.500 /);
  });

  it("counts from the moment before the claim was requested, if it was never renewed", async () => {
    const set = stage();
    const gate = set.store.hold("claimDue", "after");
    await set.scheduler.start(set.agents);
    await gate.reached;
    await pass(set, 20);
    set.store.fail("renew", GONE, 1_000);
    gate.open();
    await pass(set, 10);
    expect(set.told[0]).toMatch(/^00:00:22\.500 /);
  });

  it("logs it once, in one line", async () => {
    const set = stage({ ending: "go on" });
    await set.scheduler.start(set.agents);
    await set.clock.advance("5s");
    set.store.fail("renew", GONE, 60);
    await pass(set, 120);
    expect(set.told).toHaveLength(1);
    expect(set.lines.filter((line) => line.startsWith("warn"))).toEqual([
      "warn: Stopping 1 job(s) whose claims could not be renewed: the database is away",
    ]);
    expect(set.lines.filter((line) => line.startsWith("error"))).toEqual([
      "error: Error during schedule check: the database is away",
    ]);
  });

  it("counts for each claim separately, also for a claim that took long", async () => {
    const set = stage();
    const [first] = set.agents;
    await set.scheduler.start([
      ...set.agents,
      {
        ...first,
        name: "b",
        schedules: { work: { type: "cron", expression: "1 0 * * *", timezone: "UTC" } },
      },
    ]);
    await pass(set, 59);
    await set.clock.advance(800);
    const gate = set.store.hold("claimDue", "after");
    // Claimed at 01:00 and known at 01:21, when the one before has just been renewed at 01:20.
    await pass(set, 21);
    set.store.hold("renew");
    gate.open();
    await pass(set, 23);
    expect(set.told.map((line) => line.slice(0, 12))).toEqual(["00:01:22.500", "00:01:42.500"]);
  });

  it("logs it once, also after a stop that its job outlasts", async () => {
    const set = stage({ ending: "go on" });
    await set.scheduler.start(set.agents);
    await set.clock.advance("5s");
    const stopping = watch(set.scheduler.stop({ timeout: 1_000 }));
    await pass(set, 2);
    expect(stopping.state).toBe("rejected");
    set.store.fail("renew", GONE, 60);
    await pass(set, 60);
    expect(set.troubles).toEqual(["the database is away"]);
  });

  it("logs each message once while no pass succeeds, and at most ten messages", async () => {
    const set = stage();
    await set.scheduler.start(set.agents);
    await set.clock.advance("1s");
    for (const message of ["refused", "starting up", "refused", "starting up"]) {
      set.store.fail("claimDue", new Error(message));
      await set.clock.advance("1s");
    }
    expect(set.troubles).toEqual(["refused", "starting up"]);
    await set.clock.advance("2s");
    for (let number = 0; number < 12; number++) {
      set.store.fail("claimDue", new Error(`refused: ${number}`));
      await set.clock.advance("1s");
    }
    expect(set.troubles).toHaveLength(2 + 10);
  });

  it("stops no job on a store with one owner, although its disk hangs", async () => {
    const set = stage({ isShared: false });
    await set.scheduler.start(set.agents);
    await set.clock.advance("5s");
    set.store.fail("renew", GONE, 60);
    await pass(set, 120);
    expect(set.told).toEqual([]);
  });
});

describe("a claim on a shared store", () => {
  it("is renewed although a pass hangs elsewhere", async () => {
    const set = stage();
    await set.scheduler.start(set.agents);
    await set.clock.advance("5s");
    const gate = set.store.hold("claimDue");
    await pass(set, 120);
    expect(set.told).toEqual([]);
    gate.open();
    await pass(set, 600);
    expect(set.ended).toMatchObject([{ status: "completed", summary: "half done" }]);
  });

  it("leaves no timer behind when it has ended", async () => {
    const set = stage();
    await set.scheduler.start(set.agents);
    await set.clock.advance("5s");
    const [job] = await set.store.jobs.list();
    set.scheduler.cancel(job?.id ?? "");
    await pass(set, 1);
    await set.scheduler.stop();
    expect(set.clock.sleeping).toBe(0);
  });

  it("of a stopped job is renewed when that works again, until the job has ended", async () => {
    const set = stage({ ending: "go on" });
    await set.scheduler.start(set.agents);
    await set.clock.advance("5s");
    set.store.fail("renew", GONE, 30);
    await pass(set, 60);
    const before = set.store.count("renew");
    await pass(set, 60);
    expect(set.store.count("renew")).toBeGreaterThan(before);
    expect(set.starts).toEqual(["a 00:00"]);
  });
});

describe("a job whose slot was claimed again", () => {
  it.each([true, false])(
    "is stopped when that is noticed, on a store that is shared: %s",
    async (isShared) => {
      const set = stage({ isShared });
      await set.scheduler.start(set.agents);
      await set.clock.advance("5s");
      const { claim } = await set.store.read(WORK);
      await releaseClaim(set.store, { ...WORK, token: claim?.token ?? "", jobId: claim?.job_id ?? "" });
      expect((await set.store.claimDue(1)).claims).toHaveLength(1);
      await pass(set, 11);
      expect(set.told).toEqual([
        expect.stringMatching(/The claim was not renewed in time, and its slot was claimed again/),
      ]);
    },
  );
});

describe("a job that was stopped because its claim could not be renewed", () => {
  async function cutOff(set: Stage): Promise<void> {
    await set.scheduler.start(set.agents);
    await set.clock.advance("5s");
    set.store.fail("renew", GONE, 1_000);
    set.store.fail("claimDue", GONE, 1_000);
    await pass(set, 19);
  }

  it("is recorded as interrupted, with the reason", async () => {
    const set = stage();
    await cutOff(set);
    expect(set.ended).toMatchObject([
      {
        status: "interrupted",
        error:
          "interrupted: its claim could not be renewed for 22500 ms, and another node may claim its slot soon: the database is away",
      },
    ]);
  });

  it("leaves its slot due at once the first time, and does not count as a failure", async () => {
    const set = stage();
    await cutOff(set);
    expect(await set.store.read(WORK)).toMatchObject({
      status: "idle",
      next_run_at: "2026-03-01T00:00:22.500Z",
      next_run_source: "retry",
      retry: { slot: "2026-03-01T00:00:00.000Z", attempt: 2, trigger: "interval", source: "first-run" },
      interrupted_count: 1,
      last_error: expect.stringContaining("could not be renewed") as string,
    });
    expect(await set.store.read(WORK)).not.toHaveProperty("failure_count");
  });

  it("leaves its slot for a minute later the second time, and does not count as a failure", async () => {
    const set = stage();
    await set.store.update(WORK, { interrupted_count: 1 });
    await cutOff(set);
    expect(await set.store.read(WORK)).toMatchObject({
      next_run_at: "2026-03-01T00:01:22.500Z",
      next_run_source: "retry",
      interrupted_count: 2,
    });
    expect(await set.store.read(WORK)).not.toHaveProperty("failure_count");
  });

  it("has completed if it says so while its claim is held", async () => {
    const set = stage({ ending: "answer" });
    await cutOff(set);
    expect(set.ended).toMatchObject([{ status: "completed", summary: "half done", error: null }]);
    expect(await set.store.read(WORK)).toMatchObject({ next_run_source: "baseline-interval" });
  });

  it("is cancelled and not interrupted when it was cancelled before", async () => {
    const set = stage();
    const run = async (): Promise<never> => {
      await set.clock.sleep("40s");
      throw new Error("called off");
    };
    await set.scheduler.start([agent("a", { work: every("1h") }, { run })]);
    await set.clock.advance("5s");
    set.store.fail("renew", GONE, 20);
    const [job] = await set.store.jobs.list();
    set.scheduler.cancel(job?.id ?? "");
    await pass(set, 60);
    expect(set.ended).toMatchObject([{ status: "cancelled" }]);
  });
});
