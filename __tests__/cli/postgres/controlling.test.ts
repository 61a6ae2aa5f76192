/** Commands that change schedules in a database, and start and cancel jobs there. */
import { describe, expect, it, vi } from "vitest";
import { Scheduler } from "../../../src/index.js";
import { startScheduler } from "../running-scheduler.js";
import { DatabaseScene } from "./database-scene.js";

/** A slot that is late by less than its grace. */
const DUE = { next_run_at: "2026-03-01T11:59:59.000Z", next_run_source: "baseline-interval" } as const;

const logger = { info: () => {}, warn: () => {}, error: () => {} };

describe("commands on a database", () => {
  it("pause and resume change the state", async () => {
    const scene = await DatabaseScene.made();
    expect(await scene.run("pause", "reports/hourly", "--for", "2h")).toBe(0);
    expect(await scene.stateOf("reports/hourly")).toMatchObject({ paused_until: "2026-03-01T14:00:00.000Z" });
    expect(scene.err).toMatch(/^Paused reports\/hourly until \S+\.\n$/);
    expect(await scene.run("resume", "reports/hourly")).toBe(0);
    expect((await scene.stateOf("reports/hourly")).paused_until ?? null).toBeNull();
  });

  it("disable and enable change the state of all schedules of an agent", async () => {
    const scene = await DatabaseScene.made();
    expect(await scene.run("disable", "reports", "--json")).toBe(0);
    expect(scene.json).toHaveLength(3);
    expect(await scene.stateOf("reports/nightly")).toMatchObject({ status: "disabled" });
    expect(await scene.run("enable", "reports")).toBe(0);
    expect(await scene.stateOf("reports/nightly")).toMatchObject({ status: "idle" });
  });

  it("hint writes a hint", async () => {
    const scene = await DatabaseScene.made();
    expect(await scene.run("hint", "reports/hourly", "--interval", "1m", "--ttl", "30m")).toBe(0);
    expect((await scene.stateOf("reports/hourly")).hint).toMatchObject({
      interval: "1m",
      expires_at: "2026-03-01T12:30:00.000Z",
    });
  });
});

describe("rota jobs on a database", () => {
  it("names the node that ran each job", async () => {
    const scene = await DatabaseScene.made();
    const { call, started } = await startScheduler(scene, () => "done");
    expect(await call("trigger", "inbox/hook", "--wait")).toBe(0);
    await scene.run("nodes", "--json");
    const [node] = scene.json as { readonly name: string }[];
    expect(await scene.run("jobs")).toBe(0);
    const [titles, row] = scene.lines.map((line) => line.split(/ {2,}/));
    expect(titles?.[4]).toBe("NODE");
    expect([row?.[0], row?.[4]]).toEqual([started[0]?.id, node?.name]);
  });
});

describe("rota trigger on a database", () => {
  it("lets a node start the job, and waits for its end", async () => {
    const scene = await DatabaseScene.made();
    const { call, started } = await startScheduler(scene, async () => {
      await scene.clock.sleep("2s");
      return "all read";
    });
    expect(await call("trigger", "inbox/hook", "--wait")).toBe(0);
    expect(scene.out).toBe(`${started[0]?.id}\n`);
    expect(scene.err).toMatch(/^job-\S+ completed after 2s: all read\n$/);
  });

  it("asks the node that knows the schedule when several nodes run", async () => {
    const scene = await DatabaseScene.made();
    // This node sees the request first, and must leave it to the other.
    const stranger = new Scheduler({ store: scene.store(), clock: scene.clock, logger });
    await stranger.start([{ name: "other", schedules: { x: { type: "webhook" } }, run: () => "wrong" }]);
    const { call, started } = await startScheduler(scene, () => "done", 1);
    expect(await call("trigger", "inbox/hook")).toBe(0);
    expect(scene.out).toBe(`${started[0]?.id}\n`);
    await stranger.stop();
  });

  it("runs the job in its own process without a node, and plans the next run", async () => {
    const scene = await DatabaseScene.made();
    expect(await scene.run("trigger", "reports/hourly")).toBe(0);
    expect(scene.err).toMatch(
      /^No scheduler runs, so reports\/hourly runs in this process\.\njob-\S+ completed after /,
    );
    expect(await scene.stateOf("reports/hourly")).toMatchObject({
      status: "idle",
      next_run_at: "2026-03-01T13:00:00.000Z",
    });
    expect(await scene.run("nodes", "--json")).toBe(0);
    expect(scene.json).toEqual([]);
  });

  it("runs the job in its own process when no running node knows the schedule", async () => {
    const scene = await DatabaseScene.made();
    await startScheduler(scene, () => "done");
    expect(await scene.run("trigger", "reports/hourly", "--json")).toBe(0);
    expect(scene.json).toMatchObject({ status: "completed", trigger: "manual" });
  });

  it("runs one job of a schedule that is also due", async () => {
    const scene = await DatabaseScene.made();
    await scene.state("reports/hourly", DUE);
    expect(await scene.run("trigger", "reports/hourly")).toBe(0);
    expect(await scene.run("jobs", "--json")).toBe(0);
    expect(scene.json).toMatchObject([{ agent: "reports", trigger: "manual" }]);
  });

  it("removes the expired claim of a dead node, and runs the job", async () => {
    const scene = await DatabaseScene.made();
    const gone = scene.store();
    await gone.open();
    await gone.define({ schedules: [{ agent: "reports", schedule: "hourly" }] });
    await gone.claim({ agent: "reports", schedule: "hourly" });
    await scene.clock.advance("1m");
    await scene.silence();
    expect(await scene.run("trigger", "reports/hourly", "--json")).toBe(0);
    expect(scene.json).toMatchObject({ status: "completed" });
  });

  it("refuses a disabled schedule", async () => {
    const scene = await DatabaseScene.made();
    await scene.state("reports/hourly", { status: "disabled" });
    expect(await scene.run("trigger", "reports/hourly")).toBe(1);
    expect(scene.err).toContain("the schedule is disabled");
  });
});

describe("rota cancel on a database", () => {
  it("cancels a job that a node runs", async () => {
    const scene = await DatabaseScene.made();
    const { call, start, ended } = await startScheduler(scene, ({ signal }) =>
      scene.clock.sleep("1h", signal),
    );
    const id = await start();
    expect(await call("cancel", id)).toBe(0);
    expect(scene.err).toBe(`Cancelling ${id}.\n`);
    await vi.waitFor(() => expect(ended).toMatchObject([{ id, status: "cancelled" }]));
  });

  it("reaches the node that runs the job when several know the schedule", async () => {
    const scene = await DatabaseScene.made();
    const hook = { type: "webhook" } as const;
    const idle = new Scheduler({ store: scene.store(), clock: scene.clock, logger });
    await idle.start([{ name: "inbox", schedules: { hook }, run: () => "wrong" }]);
    const { call, start } = await startScheduler(scene, ({ signal }) => scene.clock.sleep("1h", signal), 1);
    const id = await start();
    expect(await call("cancel", id)).toBe(0);
    expect(scene.err).toBe(`Cancelling ${id}.\n`);
    await idle.stop();
  });

  it("refuses a job whose node is gone", async () => {
    const scene = await DatabaseScene.made();
    const id = await scene.job({});
    expect(await scene.run("cancel", id)).toBe(1);
    expect(scene.err).toContain("no scheduler runs. The next scheduler marks it interrupted");
  });
});
