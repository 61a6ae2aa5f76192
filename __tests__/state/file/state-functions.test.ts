import { existsSync, readdirSync, readFileSync, readlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import {
  FileStore,
  getAgentScheduleStates,
  getScheduleState,
  readFleetState,
  updateScheduleState,
  writeFleetState,
} from "../../../src/index.js";
import { listening } from "../listening.js";
import { stateDirectory } from "../temporary-directory.js";

describe("getScheduleState", () => {
  it("answers the defaults where there is no file, and makes none", async () => {
    const stateDir = join(stateDirectory(), "not-yet");
    expect(await getScheduleState(stateDir, "a", "x")).toEqual({
      status: "idle",
      last_run_at: null,
      next_run_at: null,
      last_error: null,
    });
    expect(existsSync(stateDir)).toBe(false);
  });

  it("answers what was stored, also by another", async () => {
    const stateDir = stateDirectory();
    await updateScheduleState(stateDir, "a", "x", { failure_count: 1 });
    expect(await getScheduleState(stateDir, "a", "x")).toMatchObject({ failure_count: 1 });
    const other = new FileStore({ stateDir });
    await other.update({ agent: "a", schedule: "x" }, { failure_count: 2 });
    await other.close();
    expect(await getScheduleState(stateDir, "a", "x")).toMatchObject({ failure_count: 2 });
  });

  it("tells its own logger about damage", async () => {
    const stateDir = stateDirectory();
    writeFileSync(
      join(stateDir, "state.yaml"),
      "agents:\n  a:\n    schedules:\n      x:\n        status: tired\n",
    );
    const { logger, warnings } = listening();
    expect(await getScheduleState(stateDir, "a", "x", { logger })).toMatchObject({ status: "idle" });
    expect(warnings).toEqual([expect.stringContaining('status is "tired"')]);
    expect(warnings[0]).toContain("agents.a.schedules.x (line 5)");
    expect(warnings[0]).toContain(join(stateDir, "state.yaml"));
  });

  it("tells of the same damage once", async () => {
    const stateDir = stateDirectory();
    writeFileSync(join(stateDir, "state.yaml"), "no: [yaml");
    const { logger, warnings } = listening();
    for (let i = 0; i < 3; i++) await getScheduleState(stateDir, "a", "x", { logger });
    expect(warnings).toHaveLength(1);
  });

  it("warns through Node's process warnings without a logger", async () => {
    const stateDir = stateDirectory();
    writeFileSync(join(stateDir, "state.yaml"), "no: [yaml");
    const emitWarning = vi.spyOn(process, "emitWarning").mockImplementation(() => {});
    onTestFinished(() => emitWarning.mockRestore());
    await getScheduleState(stateDir, "a", "x");
    expect(emitWarning).toHaveBeenCalledWith(expect.stringContaining("state.yaml"), "RotaWarning");
  });
});

describe("updateScheduleState", () => {
  it("makes the directory, and answers the whole state", async () => {
    const stateDir = join(stateDirectory(), "new", "place");
    await updateScheduleState(stateDir, "a", "x", { last_error: "boom" });
    expect(await updateScheduleState(stateDir, "a", "x", { status: "running" })).toMatchObject({
      status: "running",
      last_error: "boom",
    });
  });

  it("works while an owner has the directory", async () => {
    const stateDir = stateDirectory();
    await using owner = new FileStore({ stateDir });
    await owner.open();
    await updateScheduleState(stateDir, "a", "x", { paused_until: "2026-03-01T00:00:00.000Z" });
    expect(await owner.read({ agent: "a", schedule: "x" })).toMatchObject({
      paused_until: "2026-03-01T00:00:00.000Z",
    });
  });

  it("keeps working when more directories are in use than stores are kept", async () => {
    const root = stateDirectory();
    const directories = Array.from({ length: 40 }, (_, i) => join(root, `d${i}`));
    const calls = directories.map((directory, i) =>
      updateScheduleState(directory, "a", "x", { failure_count: i }),
    );
    await Promise.all(calls);
    const states = await Promise.all(directories.map((directory) => getScheduleState(directory, "a", "x")));
    expect(states.map((state) => state.failure_count)).toEqual(directories.map((_, i) => i));
  });
});

describe.skipIf(!existsSync("/proc/self/fd"))("a call that is over", () => {
  it("leaves no file open between calls", async () => {
    const stateDir = stateDirectory();
    const held = (): string[] =>
      readdirSync("/proc/self/fd").flatMap((fd) => {
        try {
          return [readlinkSync(`/proc/self/fd/${fd}`)];
        } catch {
          return [];
        }
      });
    await Promise.all([
      updateScheduleState(stateDir, "a", "x", { failure_count: 1 }),
      updateScheduleState(stateDir, "a", "y", { failure_count: 1 }),
      getScheduleState(stateDir, "a", "x"),
    ]);
    expect(held().filter((path) => path.startsWith(stateDir))).toEqual([]);
    expect(await getScheduleState(stateDir, "a", "y")).toMatchObject({ failure_count: 1 });
  });
});

describe("getAgentScheduleStates", () => {
  it("answers an agent's schedules by name", async () => {
    const stateDir = stateDirectory();
    await updateScheduleState(stateDir, "a", "x", { failure_count: 1 });
    await updateScheduleState(stateDir, "a", "constructor", { failure_count: 2 });
    await updateScheduleState(stateDir, "b", "z", { failure_count: 3 });
    const states = await getAgentScheduleStates(stateDir, "a");
    expect(Object.keys(states).toSorted()).toEqual(["constructor", "x"]);
    expect(states["x"]).toMatchObject({ status: "idle", failure_count: 1 });
  });
});

describe("the fleet", () => {
  const fleet = {
    fleet: { started_at: "2026-03-01T00:00:00.000Z", nodes: [1, "two"] },
    version: 3,
    agents: {
      a: {
        status: "idle",
        current_job: null,
        schedules: { x: { status: "disabled" as const, failure_count: 1 } },
      },
      b: { container_id: "c0ffee" },
    },
  };

  it("is read as it was written", async () => {
    const path = join(stateDirectory(), "state.yaml");
    await writeFleetState(path, fleet);
    expect(await readFleetState(path)).toEqual(fleet);
    expect(readFileSync(path, "utf8")).toContain("\n      x:\n        status: disabled\n");
  });

  it("replaces everything when it is written", async () => {
    const path = join(stateDirectory(), "state.yaml");
    await writeFleetState(path, fleet);
    await writeFleetState(path, { fleet: {}, agents: { c: {} } });
    expect(await readFleetState(path)).toEqual({ fleet: {}, agents: { c: {} } });
  });

  it("is empty where there is no file", async () => {
    expect(await readFleetState(join(stateDirectory(), "state.yaml"))).toEqual({ fleet: {}, agents: {} });
  });

  it("is refused with a wrong value, and the file stays", async () => {
    const path = join(stateDirectory(), "state.yaml");
    await writeFleetState(path, fleet);
    const bad = { fleet: {}, agents: { a: { schedules: { x: { next_run_at: "soon" } } } } };
    await expect(writeFleetState(path, bad)).rejects.toMatchObject({
      code: "INVALID_STATE",
      message: expect.stringContaining('"a"/"x": next_run_at is "soon"') as string,
    });
    expect(await readFleetState(path)).toEqual(fleet);
  });

  it("keeps what the function API stores in it", async () => {
    const stateDir = stateDirectory();
    const path = join(stateDir, "state.yaml");
    await writeFleetState(path, fleet);
    await updateScheduleState(stateDir, "a", "x", { failure_count: 9 });
    const { agents, ...rest } = await readFleetState(path);
    expect(rest).toEqual({ fleet: fleet.fleet, version: 3 });
    expect(agents["a"]).toMatchObject({ current_job: null, schedules: { x: { failure_count: 9 } } });
    expect(agents["b"]).toEqual({ container_id: "c0ffee" });
  });
});
