/**
 * A store that claims only so many at once and says that there is more: the pass goes on, asks before it starts what it
 * has, and ends when somebody waits for it.
 */
import { describe, expect, it, onTestFinished } from "vitest";
import {
  type Agent,
  type Claim,
  type ClaimRefusal,
  type DefinedSchedule,
  type Definitions,
  type DueSlots,
  FakeClock,
  type FinishResult,
  type JobFinish,
  type ScheduleKey,
} from "../../../src/index.js";
import { agent, every, once, type Scene, scene, type SceneOptions, START } from "../scene.js";
import { watch } from "../../watched-promise.js";
import { GatedStore, Signal } from "../gated-store.js";

/** Claims at most `most` at once, and says when there may be more. Keeps what was done, in its order. */
class CappedStore extends GatedStore {
  most = 3;
  /** When it says that there may be more. */
  hasMore = (claimed: number, limit: number): boolean => claimed >= this.most && limit > this.most;
  /** Called with how many questions there were, when one more is asked. */
  onAsked: (count: number) => void = () => {};
  /** "asked", "sent", "started a", "given back a", "by hand a", "defined", "passed" at the end of a pass. */
  readonly steps: string[] = [];
  /** What each question was limited to. */
  readonly limits: number[] = [];

  override async claimDue(limit: number): Promise<DueSlots> {
    this.limits.push(limit);
    this.steps.push("asked");
    this.onAsked(this.limits.length);
    await Promise.resolve();
    this.steps.push("sent");
    const due = await super.claimDue(Math.min(limit, this.most));
    const hasMore = this.hasMore(due.claims.length, limit);
    // What is left by its own limit does not wait for the caller's.
    const busy = new Set(due.claims.map((claim) => claim.agent));
    const isBusy = (slot: ScheduleKey): boolean => busy.has(slot.agent);
    const skipped = hasMore ? due.skipped.filter(isBusy) : due.skipped;
    return { ...due, skipped, nextDueAt: hasMore ? new Date(0) : undefined };
  }

  override claim(key: ScheduleKey): Promise<Claim | ClaimRefusal> {
    this.steps.push(`by hand ${key.agent}`);
    return super.claim(key);
  }

  override finishJobs(ends: readonly JobFinish[]): Promise<readonly FinishResult[]> {
    for (const { claim, keepsSlot } of ends)
      if (keepsSlot === true) this.steps.push(`given back ${claim.agent}`);
    return super.finishJobs(ends);
  }

  override define(definitions: Definitions): Promise<readonly DefinedSchedule[]> {
    this.steps.push("defined");
    return super.define(definitions);
  }
}

interface Stage extends Scene {
  readonly store: CappedStore;
  /** What was done of these kinds: "asked started a". */
  readonly seen: (...kinds: readonly string[]) => string[];
  /** The agents whose jobs were started, in their order. */
  readonly started: () => string;
  readonly givenBack: () => string;
  /**
   * Starts the scheduler, and resolves when the store has been asked for the second time. It is held back `before` it
   * claims anything, or `after` that.
   */
  readonly upToSecondQuestion: (agents: readonly Agent[], side?: "before" | "after") => Promise<Answer>;
  /** Lets everything happen that needs no time to pass. */
  readonly settle: () => Promise<void>;
  /** Resolves at the end of the first pass. */
  readonly firstPass: Promise<void>;
}

interface Answer {
  readonly give: () => Promise<void>;
}

interface StageOptions extends Omit<SceneOptions, "store"> {
  readonly isShared?: boolean;
}

function stage({ work, isShared = true, ...options }: StageOptions = {}): Stage {
  const store = new CappedStore({ isShared });
  const passed = new Signal();
  const set = scene({
    ...options,
    store,
    onTick: () => {
      store.steps.push("passed");
      passed.give();
    },
    work: (info) => {
      store.steps.push(`started ${info.agent.name}`);
      return work?.(info);
    },
  });
  // Before the scheduler is stopped, which waits for the store.
  onTestFinished(() => store.openGates());
  const seen = (...kinds: readonly string[]): string[] =>
    store.steps.filter((text) => kinds.some((kind) => text.startsWith(kind)));
  const agentsOf = (kind: string): string =>
    seen(kind)
      .map((text) => text.slice(kind.length + 1))
      .join("");
  const settle = async (): Promise<void> => {
    // Each question takes a few turns of the event loop.
    for (let turn = 0; turn < 10; turn++) await set.clock.advance(0);
  };
  return {
    ...set,
    store,
    seen,
    started: () => agentsOf("started"),
    givenBack: () => agentsOf("given back"),
    upToSecondQuestion: async (agents, side = "after") => {
      const asked = new Promise<() => void>((resolve) => {
        store.onAsked = (count) => {
          if (count !== 2) return;
          const answer = store.hold("claimDue", side);
          resolve(() => answer.open());
        };
      });
      await set.scheduler.start(agents);
      const open = await asked;
      await settle();
      return {
        give: async () => {
          open();
          await settle();
        },
      };
    },
    settle,
    firstPass: passed.promise,
  };
}

/** One agent for each letter, all due at once. */
const burst = (names: string): Agent[] => names.split("").map((name) => agent(name, { x: every("1d") }));
const idle = (name: string): Agent => agent(name, { x: once("2026-03-08T00:00:00Z") });

describe("a pass over more than the store claims at once", () => {
  it("requests the next claims before it starts the jobs of the last", async () => {
    const { scheduler, seen, settle } = stage();
    await scheduler.start(burst("abcdefg"));
    await settle();
    expect(seen("asked", "started").slice(0, 10)).toEqual([
      "asked",
      "asked",
      "started a",
      "started b",
      "started c",
      "asked",
      "started d",
      "started e",
      "started f",
      "started g",
    ]);
  });

  it("starts its jobs after the next request was sent, and not before", async () => {
    const { scheduler, seen, settle } = stage();
    await scheduler.start(burst("abcd"));
    await settle();
    expect(seen("sent", "started").slice(0, 3)).toEqual(["sent", "sent", "started a"]);
  });

  it("starts its jobs although the next reply has not come", async () => {
    const { upToSecondQuestion, started } = stage();
    await upToSecondQuestion(burst("abcd"));
    expect(started()).toBe("abc");
  });

  it("starts everything that is due, each once, before it ends", async () => {
    const { scheduler, started, firstPass } = stage();
    await scheduler.start(burst("abcdefghijklmn"));
    await firstPass;
    expect(started()).toBe("abcdefghijklmn");
  });

  it("ends when the store returns no claims, although it says that there are more", async () => {
    const { scheduler, store, settle } = stage();
    store.hasMore = () => true;
    await scheduler.start(burst("a"));
    await settle();
    expect(store.steps).toContain("passed");
  });

  it("counts the leases of claims from when it requested them", async () => {
    const clock = new FakeClock(START);
    const told: { readonly name: string; readonly atMs: number }[] = [];
    const { upToSecondQuestion, store } = stage({
      clock,
      isShared: true,
      work: ({ agent: { name }, signal }) => {
        signal.addEventListener("abort", () => told.push({ name, atMs: clock.monotonic() }));
        return clock.sleep("1h");
      },
    });
    store.hold("renew");
    const answer = await upToSecondQuestion(burst("abcdefg"));
    await clock.advance("5s");
    await answer.give();
    await clock.advance("1m");
    const firstMs = told[0]?.atMs ?? 0;
    // The third question, for the last of them, was asked when the second had been answered.
    expect(told.map(({ name, atMs }) => `${name} ${atMs - firstMs}`)).toEqual([
      ..."abcdef".split("").map((name) => `${name} 0`),
      "g 5000",
    ]);
  });

  it("requests claims once when the store does not say that there are more", async () => {
    const { scheduler, store, firstPass } = stage();
    store.hasMore = () => false;
    await scheduler.start(burst("abcdefg"));
    await firstPass;
    expect(store.limits).toHaveLength(1);
  });

  it("is followed by the next pass at once when the store did not say that there were more claims", async () => {
    const { scheduler, store, started, settle } = stage();
    store.hasMore = () => false;
    await scheduler.start(burst("abcdefg"));
    await settle();
    expect(started()).toBe("abcdefg");
  });

  it("reports slots that have to wait before it requests more claims", async () => {
    const { scheduler, clock, store, events, started, settle } = stage({ work: () => clock.sleep("1h") });
    const busy = agent("a", { x: every("1d"), y: every("1d") });
    const told: (string | undefined)[] = [];
    store.onAsked = () => told.push(events.find((event) => event.startsWith("skipped")));
    await scheduler.start([busy, ...burst("bcde")]);
    await settle();
    expect(told.slice(0, 2)).toEqual([undefined, "skipped a/y at_capacity 00:00"]);
    expect(started()).toBe("abcde");
  });
});

describe("the limit of claims that a pass requests", () => {
  it("leaves out claims whose jobs have not started yet", async () => {
    const { scheduler, clock, store, started, settle } = stage({
      maxConcurrent: 8,
      work: () => clock.sleep("1h"),
    });
    await scheduler.start(burst("abcdefghijkl"));
    await settle();
    expect(store.limits.slice(0, 3)).toEqual([8, 5, 2]);
    expect(started()).toBe("abcdefgh");
  });

  it("is 0 when the claims use up the fleet's capacity", async () => {
    const { scheduler, clock, store, started, settle } = stage({
      maxConcurrent: 6,
      work: () => clock.sleep("1h"),
    });
    store.hasMore = (claimed) => claimed > 0;
    await scheduler.start(burst("abcdefghijkl"));
    await settle();
    expect(store.limits.slice(0, 3)).toEqual([6, 3, 0]);
    expect(started()).toBe("abcdef");
  });

  it("leaves out jobs of earlier passes that still run", async () => {
    const { scheduler, clock, store, settle } = stage({ maxConcurrent: 8, work: () => clock.sleep("1h") });
    const later = "defghijkl".split("").map((name) => agent(name, { x: once("2026-03-01T00:10:00Z") }));
    await scheduler.start([...burst("abc"), ...later]);
    await clock.advance(599_900);
    const before = store.limits.length;
    await clock.advance(100);
    await settle();
    expect(store.limits.slice(before, before + 2)).toEqual([5, 2]);
  });

  it("never exceeds the fleet's limit, while jobs end and new jobs start", async () => {
    const clock = new FakeClock(START);
    let running = 0;
    let most = 0;
    const { scheduler, started } = stage({
      clock,
      maxConcurrent: 7,
      work: async (info) => {
        most = Math.max(most, ++running);
        await clock.sleep(1_000 * (1 + (info.agent.name.charCodeAt(0) % 5)));
        running--;
      },
    });
    await scheduler.start(burst("abcdefghijklmnopqrstuvwxyz"));
    await clock.advance("1m");
    expect(started()).toHaveLength(26);
    expect(most).toBe(7);
  });
});

describe("a stop during a pass", () => {
  it("gives back the claims that arrive after it, and starts none of them", async () => {
    const { scheduler, upToSecondQuestion, started, givenBack, settle } = stage();
    const answer = await upToSecondQuestion(burst("abcdefghi"));
    const stop = watch(scheduler.stop());
    await settle();
    await answer.give();
    expect(stop).toEqual({ state: "fulfilled" });
    expect([started(), givenBack()]).toEqual(["abc", "def"]);
  });

  it("leaves their slots due, for the next start", async () => {
    const { scheduler, upToSecondQuestion, started, state, settle } = stage();
    const agents = burst("abcdef");
    const answer = await upToSecondQuestion(agents);
    const stop = scheduler.stop();
    await answer.give();
    await stop;
    expect(await state("d", "x")).toMatchObject({ status: "idle", next_run_at: START });
    await scheduler.start(agents);
    await settle();
    expect(started()).toBe("abcdef");
  });

  it("gives back claims whose jobs have not started", async () => {
    const { scheduler, store, started, givenBack, settle } = stage();
    let stop: Promise<void> | undefined;
    store.onAsked = (count) => {
      if (count === 2) stop = scheduler.stop();
    };
    await scheduler.start(burst("abcdefghi"));
    await settle();
    await stop;
    expect([started(), givenBack()]).toEqual(["", "abcdef"]);
  });

  it("requests no further claims", async () => {
    const { scheduler, store, givenBack, settle } = stage();
    const answer = store.hold("claimDue", "after");
    await scheduler.start(burst("abcdefghi"));
    await answer.reached;
    const stop = scheduler.stop();
    answer.open();
    await settle();
    await stop;
    expect(store.limits).toHaveLength(1);
    expect(givenBack()).toBe("abc");
  });
});

describe("a pass that continues while a caller waits for it", () => {
  it("lets a trigger start a job before all of the burst is claimed", async () => {
    const { scheduler, seen, upToSecondQuestion } = stage();
    const answer = await upToSecondQuestion([...burst("abcdefghi"), idle("z")]);
    const triggered = scheduler.trigger("z");
    await answer.give();
    expect(await triggered).toMatchObject({ success: true });
    expect(seen("asked", "by hand").slice(0, 4)).toEqual(["asked", "asked", "by hand z", "asked"]);
  });

  it("claims the rest of the burst after that, ahead as before", async () => {
    const { scheduler, seen, started, upToSecondQuestion } = stage();
    const answer = await upToSecondQuestion([...burst("abcdefghijkl"), idle("z")]);
    void scheduler.trigger("z");
    await answer.give();
    expect(started()).toBe("abcdefzghijkl");
    const rest = seen("by hand", "asked", "started");
    expect(rest.slice(rest.indexOf("started z") + 1).slice(0, 3)).toEqual(["asked", "asked", "started g"]);
  });

  it("claims the rest ahead also when the trigger could not start a job", async () => {
    const { scheduler, clock, seen, upToSecondQuestion } = stage({ work: () => clock.sleep("1h") });
    const answer = await upToSecondQuestion(burst("abcdefghijkl"));
    const triggered = scheduler.trigger("a");
    await answer.give();
    expect(await triggered).toMatchObject({ skipReason: "already_running" });
    const rest = seen("by hand", "asked", "started");
    expect(rest.slice(rest.indexOf("by hand a") + 1).slice(0, 3)).toEqual(["asked", "asked", "started g"]);
  });

  it("applies new agents before it claims more", async () => {
    const { scheduler, seen, started, upToSecondQuestion } = stage();
    const answer = await upToSecondQuestion(burst("abcdefghi"));
    scheduler.setAgents(burst("abcdefghz"));
    await answer.give();
    expect(seen("asked", "defined").slice(1, 5)).toEqual(["asked", "asked", "defined", "asked"]);
    expect(started()).toBe("abcdefghz");
  });

  it("ends before it claims more when a state was changed from outside", async () => {
    const { store, seen, started, plan, upToSecondQuestion } = stage();
    const answer = await upToSecondQuestion([...burst("abcdefghi"), idle("z")]);
    await store.changeFromOutside(
      { agent: "z", schedule: "x" },
      { next_run_at: "2026-03-02T00:00:00.000Z", next_run_source: "manual" },
    );
    await answer.give();
    expect(seen("asked", "passed").slice(0, 4)).toEqual(["asked", "asked", "passed", "asked"]);
    expect(started()).toBe("abcdefghi");
    expect(await plan("z", "x")).toBe("2026-03-02 00:00 manual");
  });
});

describe("a pass over a burst of jobs that end at once", () => {
  const MANY = Array.from({ length: 12_000 }, (_, i) => agent(`a${i}`, { x: every("1d") }));

  /** A store that claims 500 of them at a time. */
  function crowd(): Stage & { readonly settleAll: () => Promise<void> } {
    const set = stage();
    set.store.most = 500;
    const settleAll = async (): Promise<void> => {
      for (let turn = 0; turn < 20; turn++) await set.settle();
    };
    return { ...set, settleAll };
  }

  it("continues as long as their ends are recorded", async () => {
    const { scheduler, runs, firstPass } = crowd();
    await scheduler.start(MANY);
    await firstPass;
    expect(runs).toHaveLength(12_000);
  });

  it("stops claiming while more than 4,000 of their claims are held", async () => {
    const { scheduler, store, runs, settleAll } = crowd();
    store.hold("finishJobs");
    await scheduler.start(MANY);
    await settleAll();
    expect(runs.length).toBeGreaterThan(4_000);
    // On top of them comes what is being started, and what had been asked for already.
    expect(runs.length).toBeLessThanOrEqual(4_000 + 3 * 500);
  });

  it("does not wait for a job log that hangs: ended claims would not run again", async () => {
    const { scheduler, store, runs, settleAll } = crowd();
    store.hold("closeRecords");
    await scheduler.start(MANY);
    await settleAll();
    expect(runs).toHaveLength(12_000);
  });

  it("claims as before when the ends of as many were given up at a stop", async () => {
    const { scheduler, store, runs, clock, settleAll } = crowd();
    const gate = store.hold("finishJobs");
    await scheduler.start(MANY);
    await settleAll();
    const heldCount = runs.length;
    store.fail("finishJobs", new Error("disk full"), Infinity);
    gate.open();
    const stopping = scheduler.stop({ timeout: Infinity });
    await clock.advance("31s");
    await stopping;
    expect(scheduler.getState().unrecordedJobCount).toBe(heldCount);
    store.fail("finishJobs", new Error("disk full"), 0);
    await scheduler.start(MANY);
    await settleAll();
    expect(runs).toHaveLength(heldCount + 12_000);
  });

  it("claims the rest once they are recorded, until all have run", async () => {
    const { scheduler, store, runs, settleAll } = crowd();
    store.hold("finishJobs");
    await scheduler.start(MANY);
    await settleAll();
    store.openGates();
    await settleAll();
    expect(runs).toHaveLength(12_000);
  });
});

describe("a claim requested ahead that fails", () => {
  /** Its jobs take an hour: none that ends has the store asked again at once. */
  function failing(): Stage {
    const clock = new FakeClock(START);
    const set = stage({ clock, work: () => clock.sleep("1h") });
    set.store.onAsked = (count) => {
      if (count === 2) set.store.fail("claimDue", new Error("disk full"));
    };
    return set;
  }

  it("is reported once, like any failed pass", async () => {
    const { scheduler, clock, errors } = failing();
    await scheduler.start(burst("abcdef"));
    await clock.advance("1m");
    expect(errors).toEqual(["Error during schedule check: disk full"]);
  });

  it("does not affect the jobs claimed before, which run and are recorded", async () => {
    const { scheduler, clock, ended, started, settle } = failing();
    await scheduler.start(burst("abcdef"));
    await settle();
    expect(started()).toBe("abc");
    await clock.advance("1h");
    expect(ended.slice(0, 3).map((job) => `${job.agent} ${job.status}`)).toEqual([
      "a completed",
      "b completed",
      "c completed",
    ]);
  });

  it("delays the remaining slots until the next check, and not longer", async () => {
    const { scheduler, clock, runs } = failing();
    await scheduler.start(burst("abcde"));
    await clock.advance("1m");
    expect(runs).toEqual(["00:00 a/x", "00:00 b/x", "00:00 c/x", "00:00:01 d/x", "00:00:01 e/x"]);
  });

  it("does not disturb a stop that came meanwhile", async () => {
    const { scheduler, clock, store, errors, started, givenBack, upToSecondQuestion } = failing();
    const answer = await upToSecondQuestion(burst("abcdef"), "before");
    store.fail("claimDue", new Error("disk full"));
    const stop = watch(scheduler.stop({ timeout: 7_200_000 }));
    await answer.give();
    await clock.advance("1h");
    expect(stop).toEqual({ state: "fulfilled" });
    expect(errors).toEqual(["Error during schedule check: disk full"]);
    expect([started(), givenBack()]).toEqual(["abc", ""]);
  });
});
