import { describe, expect, it, onTestFinished } from "vitest";
import { RunModel } from "../../../src/cli/run/run-model.js";
import { LiveView } from "../../../src/cli/run/live-view.js";
import { SPIN_MS } from "../../../src/cli/run/view.js";
import type { FleetSchedule } from "../../../src/cli/fleet/fleet.js";
import { Output } from "../../../src/cli/output.js";
import { type Clock, FakeClock, type JobRecord } from "../../../src/index.js";
import { FakeHost } from "./fake-host.js";
import { JOB, NOON, scheduled } from "./run-view.js";
import { VirtualScreen } from "./virtual-screen.js";

interface Stage {
  readonly view: LiveView;
  readonly clock: FakeClock;
  readonly host: FakeHost;
  readonly screen: VirtualScreen;
  readonly talked: string[];
  readonly start: () => void;
  readonly startJob: () => void;
  readonly endJob: (parts?: Partial<JobRecord>) => void;
  /** How long a frame takes to be written. */
  readonly writing: { ms: number };
  /** What the store returns from now on. */
  readonly store: { schedules: readonly FleetSchedule[]; isBroken: boolean; readMs: number; reads: number };
}

async function stage(areMessagesOnTerminal = true): Promise<Stage> {
  const clock = new FakeClock(NOON);
  // Time that goes by while something is written.
  const writing = { ms: 0, spentMs: 0 };
  const viewClock: Clock = {
    now: () => clock.now(),
    monotonic: () => clock.monotonic() + writing.spentMs,
    sleep: (ms, signal) => clock.sleep(ms, signal),
    wakeAfter: (ms, wake) => clock.wakeAfter(ms, wake),
  };
  const host = new FakeHost();
  const screen = new VirtualScreen(100, 24);
  const talked: string[] = [];
  const stdout = {
    isTTY: true,
    columns: 100,
    write: (text: string | Uint8Array) => {
      screen.write(String(text));
      writing.spentMs += writing.ms;
    },
  };
  const stderr = { write: (text: string | Uint8Array) => talked.push(String(text)) };
  const context = {
    stdout,
    stderr,
    env: { NO_COLOR: "1" },
    cwd: "/",
    clock,
    signal: new AbortController().signal,
  };
  const model = new RunModel(clock, ".rota");
  const store = {
    schedules: [scheduled("a/x")] as readonly FleetSchedule[],
    isBroken: false,
    readMs: 0,
    reads: 0,
  };
  const view = new LiveView({
    output: new Output(context, true),
    clock: viewClock,
    isQuiet: false,
    definitionOf: () => undefined,
    host,
    stdout,
    areMessagesOnTerminal,
    model,
    readSchedules: async () => {
      store.reads++;
      if (store.readMs > 0) await clock.sleep(store.readMs);
      if (store.isBroken) throw new Error("closed");
      return store.schedules;
    },
  });
  onTestFinished(() => view.close());
  const job = {
    id: JOB,
    agent: "a",
    schedule: "x",
    status: "running",
    source: null,
    attempt: 1,
  } as JobRecord;
  const report = (notice: Parameters<LiveView["report"]>[0]): void => {
    model.apply(notice);
    view.report(notice);
  };
  return {
    view,
    clock,
    host,
    screen,
    talked,
    store,
    writing,
    start: () => report({ event: "scheduler:started", details: { startedAt: NOON } }),
    startJob: () => report({ event: "job:started", details: { job } }),
    endJob: (parts = {}) =>
      report({
        event: "job:finished",
        details: { job: { ...job, status: "completed", duration_ms: 20, ...parts } },
      }),
  };
}

async function started(areMessagesOnTerminal = true): Promise<Stage> {
  const scene = await stage(areMessagesOnTerminal);
  scene.start();
  await scene.clock.advance(0);
  return scene;
}

describe("a live view", () => {
  it("shows only messages before the scheduler runs", async () => {
    const { view, clock, screen } = await stage();
    view.message("the state was damaged", "warning");
    await clock.advance("1m");
    expect(screen.lines).toEqual([""]);
    await view.close();
    expect(screen.lines).toEqual(["the state was damaged"]);
  });

  it("is drawn once a second while no job runs", async () => {
    const { clock, screen } = await started();
    const before = screen.frames;
    await clock.advance("10s");
    expect(screen.frames - before).toBe(10);
  });

  it("is drawn eight times a second while a job runs", async () => {
    const { clock, screen, startJob } = await started();
    await clock.advance("1s");
    startJob();
    await clock.advance(0);
    const before = screen.frames;
    await clock.advance("10s");
    expect(screen.frames - before).toBe(80);
  });

  it("shows a started job at once", async () => {
    const { clock, screen, startJob } = await started();
    await clock.advance("1s");
    await clock.advance(500);
    startJob();
    await clock.advance(0);
    expect(screen.lines.some((line) => line.includes("running 0s"))).toBe(true);
  });

  it("is drawn at most eight times a second in a burst of notices", async () => {
    const { clock, screen, startJob, endJob } = await started();
    const before = screen.frames;
    for (let count = 0; count < 100; count++) {
      startJob();
      await clock.advance(5);
      endJob();
      await clock.advance(5);
    }
    expect(screen.frames - before).toBeLessThanOrEqual(9);
    expect(screen.everything.match(/a\/x {2}completed/g)?.length).toBeGreaterThan(80);
  });

  it("reads the store less often when a read takes long", async () => {
    const { clock, store, startJob, endJob } = await started();
    store.readMs = 100;
    const before = store.reads;
    for (let count = 0; count < 100; count++) {
      startJob();
      await clock.advance(50);
      endJob();
      await clock.advance(50);
    }
    expect(store.reads - before).toBeLessThanOrEqual(11);
  });

  it("is drawn less often when drawing takes long", async () => {
    const { clock, screen, writing, startJob } = await started();
    startJob();
    await clock.advance("1s");
    writing.ms = 50;
    const before = screen.frames;
    await clock.advance("10s");
    expect(screen.frames - before).toBeLessThanOrEqual(20);
  });

  it("shows changes by other processes within a second", async () => {
    const { clock, screen, store } = await started();
    store.schedules = [scheduled("a/x", { status: "disabled" })];
    await clock.advance("1s");
    expect(screen.lines.some((line) => /^a\/x +disabled/.test(line))).toBe(true);
  });

  it("keeps the last known schedules when the state cannot be read", async () => {
    const { clock, screen, store } = await started();
    store.isBroken = true;
    await clock.advance("3s");
    expect(screen.lines.some((line) => /^a\/x +idle/.test(line))).toBe(true);
    expect(screen.lines.at(-1)).toContain("up 3s");
  });

  it("is redrawn when the terminal is resized", async () => {
    const { clock, screen, host, store } = await started();
    store.schedules = Array.from({ length: 20 }, (_, index) => scheduled(`a/${index}`));
    await clock.advance("1s");
    await clock.advance(500);
    host.resize(8);
    await clock.advance(0);
    expect(screen.lines.some((line) => line.startsWith("… and 17 more"))).toBe(true);
  });

  it("prints no line for a job that found no work", async () => {
    const { view, clock, screen, startJob, endJob } = await started();
    startJob();
    view.report({ event: "schedule:skipped", details: { agent: "a", schedule: "x", reason: "no_work" } });
    endJob();
    await clock.advance("1s");
    expect(screen.everything).not.toContain("a/x  completed");
    startJob();
    endJob();
    await clock.advance("1s");
    expect(screen.everything).toContain("a/x  completed");
  });

  it("writes messages to stderr when stderr is not the terminal", async () => {
    const { view, clock, screen, talked } = await started(false);
    view.message("Reloaded", "info");
    await clock.advance("1s");
    expect(talked).toEqual(["Reloaded\n"]);
    expect(screen.everything).not.toContain("Reloaded");
  });

  it("prints messages without control characters, and keeps their indentation", async () => {
    const { view, clock, screen } = await started();
    view.message("a problem\n  3 | timezon\u001b[2J: UTC\n    | ^^^^^^^", "warning");
    await clock.advance("1s");
    expect(screen.lines.slice(0, 3)).toEqual(["a problem", "  3 | timezon\ufffd[2J: UTC", "    | ^^^^^^^"]);
  });

  it("restores the cursor when the process exits", async () => {
    const { host, screen } = await started();
    expect(screen.isCursorShown).toBe(false);
    host.exit(1);
    expect(screen.isCursorShown).toBe(true);
  });

  it("draws nothing when it is closed during a read of the store", async () => {
    const { view, clock, screen, store } = await started();
    store.readMs = 100;
    store.schedules = [scheduled("a/y")];
    await clock.advance(SPIN_MS + 50);
    const closing = view.close();
    await clock.advance("1s");
    await closing;
    expect(screen.lines).toEqual([""]);
    expect(screen.isCursorShown).toBe(true);
  });

  it("draws nothing after close, and may be closed twice", async () => {
    const { view, clock, screen, host, startJob } = await started();
    await view.close();
    await view.close();
    const before = screen.frames;
    startJob();
    await clock.advance("5s");
    expect(screen.frames).toBe(before);
    expect(host.listeners).toBe(0);
    expect(clock.sleeping).toBe(0);
  });
});
