/** What Rota promises about persisted schedule state, one test a promise. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import {
  completeClaim,
  FakeClock,
  FileStore,
  getAgentScheduleStates,
  getScheduleState,
  planNextRun,
  recordOutcome,
  updateScheduleState,
} from "../../src/index.js";
import { listening } from "../state/listening.js";
import { stateDirectory } from "../state/temporary-directory.js";

const HOURLY = { agent: "reader", schedule: "hourly" };
const START = "2026-03-01T09:00:00.000Z";

describe("a schedule's state", () => {
  it("has its status, last and next run and last error after each step of a run", async () => {
    const stateDir = stateDirectory();
    const clock = new FakeClock(START);
    await using store = new FileStore({ stateDir, clock });
    await store.open();
    await store.define({ schedules: [HOURLY] });
    const shape = async (): Promise<unknown[]> => {
      const state = await getScheduleState(stateDir, "reader", "hourly");
      return [state.status, state.last_run_at, state.next_run_at, state.last_error];
    };
    await store.update(HOURLY, { next_run_at: START });
    expect(await shape()).toEqual(["idle", null, START, null]);

    const { claims } = await store.claimDue(1);
    expect(await shape()).toEqual(["running", null, START, null]);

    await clock.advance("1m");
    const completedAt = clock.now();
    for (const claim of claims) {
      const outcome = { startedAt: new Date(START), completedAt, error: "no answer" };
      const patch = recordOutcome(await store.read(claim), outcome);
      const state = { ...(await store.read(claim)), ...patch };
      const plan = planNextRun({ now: completedAt, schedule: { type: "interval", interval: "1h" }, state });
      await completeClaim(store, claim, { ...patch, next_run_at: plan.nextRunAt.toISOString() });
    }
    expect(await shape()).toEqual(["idle", START, "2026-03-01T11:01:00.000Z", "no answer"]);
  });

  it("is idle for an unknown schedule", async () => {
    expect(await getScheduleState(stateDirectory(), "nobody", "never")).toMatchObject({ status: "idle" });
  });

  it("changes only the keys of a patch, and keeps all of 50 changes at once", async () => {
    const stateDir = stateDirectory();
    await updateScheduleState(stateDir, "reader", "s7", { last_error: "stays" });
    const all = Array.from({ length: 50 }, (_, i) => i);
    await Promise.all(all.map((i) => updateScheduleState(stateDir, "reader", `s${i}`, { failure_count: i })));
    const states = await getAgentScheduleStates(stateDir, "reader");
    expect(all.map((i) => states[`s${i}`]?.failure_count)).toEqual(all);
    expect(states["s7"]).toMatchObject({ last_error: "stays" });
  });

  it("starts from scratch with a file of garbage, with a warning", async () => {
    const stateDir = stateDirectory();
    writeFileSync(join(stateDir, "state.yaml"), "%%% not: [a state");
    const { logger, warnings } = listening();
    await using store = new FileStore({ stateDir, logger });
    await store.open();
    expect(await store.read(HOURLY)).toMatchObject({ status: "idle" });
    expect(warnings).toEqual([expect.stringContaining("state.yaml")]);
  });

  it("is the same after a restart, so nothing runs early", async () => {
    const stateDir = stateDirectory();
    const clock = new FakeClock(START);
    const planned = { last_completed_at: START, next_run_at: "2026-03-01T10:00:00.000Z" };
    await using before = new FileStore({ stateDir, clock });
    await before.open();
    await before.update(HOURLY, planned);
    await before.close();

    await using after = new FileStore({ stateDir, clock });
    await after.open();
    await after.define({ schedules: [HOURLY] });
    expect(await after.read(HOURLY)).toMatchObject(planned);
    expect((await after.claimDue(1)).claims).toEqual([]);
    await clock.advance("1h");
    expect((await after.claimDue(1)).claims).toHaveLength(1);
  });

  it("that a killed process left running does not stop the next from running it", async () => {
    const stateDir = stateDirectory();
    const program = fileURLToPath(new URL("../state/processes/hold-claim.js", import.meta.url));
    const child = spawn(process.execPath, [program, stateDir], { stdio: ["ignore", "pipe", "inherit"] });
    const [jobId] = (await once(createInterface(child.stdout), "line")) as [string];
    expect(readFileSync(join(stateDir, "state.yaml"), "utf8")).toContain("status: running");
    child.kill("SIGKILL");
    await once(child, "exit");

    await using store = new FileStore({ stateDir });
    await store.open();
    await store.define({ schedules: [HOURLY] });
    expect((await store.claimDue(1)).claims).toHaveLength(1);
    expect(await store.jobs.get(jobId)).toMatchObject({ status: "interrupted" });
  });

  it("is listed for all schedules of an agent", async () => {
    const stateDir = stateDirectory();
    await updateScheduleState(stateDir, "reader", "hourly", { failure_count: 1 });
    await updateScheduleState(stateDir, "reader", "daily", { failure_count: 2 });
    expect(Object.keys(await getAgentScheduleStates(stateDir, "reader")).toSorted()).toEqual([
      "daily",
      "hourly",
    ]);
  });

  it("stays disabled across a restart, and nothing runs", async () => {
    const stateDir = stateDirectory();
    await updateScheduleState(stateDir, "reader", "hourly", { status: "disabled", next_run_at: START });
    const clock = new FakeClock(START);
    await using store = new FileStore({ stateDir, clock });
    await store.open();
    await store.define({ schedules: [HOURLY] });
    await clock.advance("10d");
    expect((await store.claimDue(1)).claims).toEqual([]);
    await store.update(HOURLY, { status: "idle" });
    expect((await store.claimDue(1)).claims).toHaveLength(1);
  });
});
