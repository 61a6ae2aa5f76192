import { describe, expect, it } from "vitest";
import type { JobRecord, ScheduleState } from "../../../../src/index.js";
import { cutRuns, findBreaches, idleClaimsMs, type History, standstills, takeoverMs } from "./oracle.js";
import type { SeenState } from "./state-watch.js";
import type { Run } from "./witness.js";

const START_MS = Date.parse("2026-03-01T00:00:00.000Z");
const at = (ms: number): string => new Date(START_MS + ms).toISOString();

const run = (jobId: string, slotMs: number, [from, to]: [number, number?], more: Partial<Run> = {}): Run => ({
  node: "n1",
  agent: "a",
  schedule: "x",
  slot: at(slotMs),
  attempt: 1,
  source: "baseline-interval",
  jobId,
  claimedMs: START_MS + from,
  startedMs: START_MS + from,
  endedMs: to === undefined ? undefined : START_MS + to,
  wasTold: false,
  ...more,
});

const seen = (from: number, to: number, state: Partial<ScheduleState>, schedule = "x"): SeenState => ({
  agent: "a",
  schedule,
  state: { status: "idle", ...state },
  firstMs: START_MS + from,
  lastMs: START_MS + to,
});

const claimed = (jobId: string, slotMs: number): Partial<ScheduleState> => ({
  status: "running",
  claim: { token: `token of ${jobId}`, job_id: jobId, slot: at(slotMs) },
});

const record = (id: string, slotMs: number, status: JobRecord["status"]): JobRecord =>
  ({ id, agent: "a", schedule: "x", slot: at(slotMs), attempt: 1, status }) as JobRecord;

/** One schedule that ran at 0 and will run again at 1000, looked at every 10 ms. */
const healthy: History = {
  runs: [run("j1", 0, [10, 100])],
  seen: [seen(0, 110, claimed("j1", 0)), seen(120, 500, { next_run_at: at(1_000) })],
  looks: Array.from({ length: 51 }, (_, index) => START_MS + 10 * index),
  records: [record("j1", 0, "completed")],
  outages: [],
  capacities: { a: 1 },
  untilMs: START_MS + 500,
};

const killed = { node: "n1", beforeMs: START_MS + 50, afterMs: START_MS + 60 };

describe("the oracle of a campaign", () => {
  it("finds nothing where nothing is broken", () => {
    expect(findBreaches(healthy)).toEqual([]);
  });

  it("finds a slot that was run twice", () => {
    const runs = [...healthy.runs, run("j2", 0, [150, 160], { node: "n2" })];
    const records = [...healthy.records, record("j2", 0, "completed")];
    const breaches = findBreaches({
      ...healthy,
      runs,
      records,
      seen: [seen(120, 500, { next_run_at: at(1_000) })],
    });
    expect(breaches).toContainEqual(expect.stringContaining("was run twice: j1 on n1, j2 on n2"));
  });

  it("finds more jobs of an agent than it may have", () => {
    const runs = [...healthy.runs, run("j2", 0, [50, 60], { node: "n2", schedule: "y" })];
    const records = [...healthy.records, record("j2", 0, "completed")];
    expect(findBreaches({ ...healthy, runs, records })).toEqual([expect.stringContaining("a ran 2 jobs at")]);
    expect(findBreaches({ ...healthy, runs, records, capacities: { a: 2 } })).toEqual([]);
  });

  it("finds two jobs of a schedule at a time", () => {
    const runs = [...healthy.runs, run("j2", 40, [50, 60], { node: "n2" })];
    const breaches = findBreaches({ ...healthy, runs, capacities: { a: 9 } });
    expect(breaches).toContainEqual(expect.stringContaining("a/x ran 2 jobs at"));
  });

  it("counts the job of a node that was killed until then, and no longer", () => {
    const beside = (fromMs: number): History => ({
      ...healthy,
      seen: [
        ...healthy.seen,
        seen(300, 500, { next_run_at: at(1_000), retry: { slot: at(0), attempt: 2 }, interrupted_count: 1 }),
      ],
      runs: [run("j1", 0, [10]), run("j2", 0, [fromMs, fromMs + 5], { node: "n2", schedule: "y" })],
      records: [record("j1", 0, "interrupted"), record("j2", 0, "completed")],
      outages: [killed],
    });
    expect(findBreaches(beside(40))).toEqual([expect.stringContaining("a ran 2 jobs at")]);
    expect(findBreaches(beside(70))).toEqual([]);
  });

  it("finds a slot that came due and was never run", () => {
    const states = [
      ...healthy.seen,
      seen(200, 450, { next_run_at: at(300) }),
      seen(460, 500, { next_run_at: at(900) }),
    ];
    expect(findBreaches({ ...healthy, seen: states })).toEqual([
      expect.stringContaining(`a/x lost 1 slots, and counted 0 as missed: ${at(300)}`),
    ]);
  });

  it("accepts a slot that was counted as missed", () => {
    const states = [
      ...healthy.seen,
      seen(200, 450, { next_run_at: at(300) }),
      seen(460, 500, { next_run_at: at(900), missed_count: 1 }),
    ];
    expect(findBreaches({ ...healthy, seen: states })).toEqual([]);
  });

  it("accepts a slot that was cut off and counted as such", () => {
    const states = [
      seen(0, 110, claimed("j1", 0)),
      seen(200, 400, claimed("j2", 190)),
      seen(410, 420, { next_run_at: at(405), retry: { slot: at(190), attempt: 2 }, interrupted_count: 1 }),
      seen(430, 500, claimed("j3", 190)),
    ];
    const runs = [...healthy.runs, run("j3", 190, [430, 500], { source: "retry" })];
    const records = [...healthy.records, { ...record("j3", 190, "completed"), attempt: 2 }];
    expect(findBreaches({ ...healthy, seen: states, runs, records })).toEqual([]);
  });

  it("finds a slot that was cut off and runs again as another", () => {
    const states = [
      seen(0, 110, claimed("j1", 0)),
      seen(200, 400, claimed("j2", 190)),
      seen(430, 500, claimed("j3", 405)),
    ];
    const runs = [...healthy.runs, run("j3", 405, [430, 500], { source: "retry" })];
    const records = [...healthy.records, record("j3", 405, "completed")];
    expect(findBreaches({ ...healthy, seen: states, runs, records })).toEqual([
      expect.stringContaining(`a/x lost 1 slots, and counted 0 as missed: ${at(190)}`),
    ]);
  });

  it("finds an attempt that was run twice", () => {
    const runs = [...healthy.runs, run("j2", 0, [430, 500], { source: "retry" })];
    const records = [...healthy.records, record("j2", 0, "completed")];
    expect(findBreaches({ ...healthy, runs, records })).toContainEqual(
      expect.stringContaining(`attempt 1 of a/x at ${at(0)} was run twice`),
    );
  });

  it("accepts one that was cut off twice, and waits for its third attempt", () => {
    const states = [
      seen(0, 110, claimed("j1", 0)),
      seen(200, 300, claimed("j2", 190)),
      seen(310, 320, { next_run_at: at(305), retry: { slot: at(190), attempt: 2 }, interrupted_count: 1 }),
      seen(330, 400, { ...claimed("j3", 190), interrupted_count: 1 }),
      seen(410, 500, { next_run_at: at(2_000), retry: { slot: at(190), attempt: 3 }, interrupted_count: 2 }),
    ];
    expect(findBreaches({ ...healthy, seen: states })).toEqual([]);
  });

  it("finds a slot whose job was cut off, and that was not counted as such", () => {
    const runs = [run("j1", 0, [10])];
    const records = [record("j1", 0, "interrupted")];
    expect(findBreaches({ ...healthy, runs, records, outages: [killed] })).toEqual([
      expect.stringContaining(`a/x lost 1 slots, and counted 0 as missed: ${at(0)}`),
    ]);
  });

  it("finds a schedule that no node plans", () => {
    const states = [...healthy.seen, seen(410, 500, {})];
    expect(findBreaches({ ...healthy, seen: states })).toEqual(["a/x has no next run, and nobody runs it"]);
  });

  it("finds a claim that was ended under its job", () => {
    const states = [seen(0, 40, claimed("j1", 0)), seen(50, 500, { next_run_at: at(1_000) })];
    expect(findBreaches({ ...healthy, seen: states })).toEqual([
      expect.stringContaining("j1 of a/x ran on n1 without its claim"),
    ]);
  });

  it("does not accuse anybody of what it saw while the job may have ended", () => {
    const states = [seen(0, 80, claimed("j1", 0)), seen(90, 500, { next_run_at: at(1_000) })];
    expect(findBreaches({ ...healthy, seen: states })).toEqual([]);
  });

  it("finds a record that is left running", () => {
    const records = [...healthy.records, record("j0", -100, "running")];
    expect(findBreaches({ ...healthy, records })).toEqual([
      "j0 of a/x is recorded as running, and its claim is gone",
    ]);
  });

  it("finds a result that was not recorded", () => {
    const records = [record("j1", 0, "interrupted")];
    expect(findBreaches({ ...healthy, records })).toEqual([
      "j1 of a/x did its work on n1, and is recorded as interrupted",
    ]);
  });
});

describe("the time that a takeover takes", () => {
  const beats = (pauses: readonly number[]): { node: string; atMs: number }[] => {
    let atMs = START_MS;
    return pauses.map((pause) => ({ node: "n2", atMs: (atMs += pause) }));
  };
  const steady = beats(Array.from({ length: 20 }, () => 50));
  const dead: History = {
    ...healthy,
    runs: [run("j1", 0, [10])],
    seen: [seen(0, 460, claimed("j1", 0)), seen(470, 500, { next_run_at: at(465) })],
  };

  it("counts from the death of the node to the last observation of its claim", () => {
    expect(takeoverMs(dead, killed, steady, 200)).toEqual([400]);
  });

  it("takes off what the survivor stood still", () => {
    // From 260, when the lease has ended, to 400.
    const stalled = beats([50, 50, 50, 50, 200, 50, 50]);
    expect(takeoverMs(dead, killed, stalled, 200)).toEqual([400 - (140 - 50)]);
  });

  it("takes nothing off for what it stood still before the lease had ended", () => {
    expect(takeoverMs(dead, killed, beats([50, 200, 50, 50, 50, 50, 50]), 200)).toEqual([400]);
  });

  it("subtracts nothing for a survivor that stood still while a second one did not", () => {
    const others = steady.map(({ atMs }) => ({ node: "n3", atMs }));
    expect(takeoverMs(dead, killed, [...beats([50, 50, 50, 50, 200, 50, 50]), ...others], 200)).toEqual([
      400,
    ]);
  });

  it("ignores claims of other nodes", () => {
    const runs = [run("j1", 0, [10, 460], { node: "n2" })];
    expect(takeoverMs({ ...dead, runs }, killed, steady, 200)).toEqual([]);
  });
});

describe("runs that were cut off", () => {
  it("are counted, and which of them ran again as the next attempt, or wait for it", () => {
    const runs = [
      run("j1", 0, [10]),
      run("j2", 0, [60, 90], { attempt: 2 }),
      run("j3", 100, [110]),
      run("j4", 200, [210]),
    ];
    const waiting = { retry: { slot: at(100), attempt: 2, trigger: "interval", source: null } } as const;
    expect(cutRuns({ runs, seen: [seen(0, 500, waiting)] })).toEqual({ cut: 3, continued: 2 });
  });
});

describe("a standstill", () => {
  it("is a pause in which a node may have lost its claims", () => {
    const beats = [0, 50, 100, 400, 450].map((ms) => ({ node: "n1", atMs: ms }));
    const others = [20, 200, 400].map((ms) => ({ node: "n2", atMs: ms }));
    expect(standstills([...beats, ...others], 1_000)).toEqual([{ node: "n1", beforeMs: 100, afterMs: 400 }]);
  });
});

describe("the time of a claim without a job", () => {
  it("is how long it was observed, and zero if its job ran", () => {
    const states = [...healthy.seen, seen(200, 300, claimed("j2", 200)), seen(310, 450, claimed("j2", 200))];
    expect(idleClaimsMs({ seen: states, runs: healthy.runs })).toEqual([250]);
  });
});
