import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import {
  completeClaim,
  FakeClock,
  FileStore,
  type FileStoreOptions,
  type OutsideChange,
  type ScheduleKey,
  type ScheduleStatePatch,
} from "../../../src/index.js";
import { describeJobFinish } from "../../contract/job-finish-contract.js";
import { describeStateStore } from "../../contract/state-store-contract.js";
import { stateDirectory } from "../temporary-directory.js";
import { systemError, WatchedDisk } from "../watched-disk.js";

describeStateStore("file store", (options) => new FileStore({ ...options, stateDir: stateDirectory() }));
describeJobFinish("file store", (options) => {
  const watched = new WatchedDisk();
  const store = new FileStore({ ...options, stateDir: stateDirectory() }, { disk: watched.disk });
  const fail = (isStep: (step: string) => boolean) => (): (() => void) => {
    let hasFailed = false;
    watched.before = (step) => {
      hasFailed ||= isStep(step);
      if (hasFailed) throw systemError("EIO");
    };
    return () => {
      watched.before = () => {};
    };
  };
  return {
    store,
    // The state is renamed into place and cannot be put back; the record stays because it cannot be cut off.
    loseReplies: fail((step) => step === "sync state" || step.startsWith("datasync ")),
    refuseWrites: fail(() => true),
  };
});

const X: ScheduleKey = { agent: "a", schedule: "x" };
const START = "2026-03-01T00:00:00.000Z";

function storeOn(
  stateDir: string,
  options: Partial<FileStoreOptions> = {},
  realClock?: FakeClock,
  watched: WatchedDisk = new WatchedDisk(),
): { store: FileStore; clock: FakeClock; watched: WatchedDisk } {
  const clock = new FakeClock(START);
  const store = new FileStore({ stateDir, clock, ...options }, { disk: watched.disk, realClock });
  onTestFinished(() => store.close());
  return { store, clock, watched };
}

describe("the state file", () => {
  it("is YAML that a person can read, in a fixed order of keys", async () => {
    const stateDir = stateDirectory();
    const { store } = storeOn(stateDir);
    await store.update(X, { last_error: "no answer: timeout", next_run_at: START });
    await store.update(X, { status: "disabled", hint: { interval: "5m", expires_at: START } });
    await store.update({ agent: "a", schedule: "on the hour" }, { failure_count: 2 });
    const [introduction, ...lines] = readFileSync(join(stateDir, "state.yaml"), "utf8").split("\n");
    expect(introduction).toMatch(/^# /);
    expect(lines).toEqual([
      "agents:",
      "  a:",
      "    schedules:",
      "      x:",
      "        status: disabled",
      "        next_run_at: 2026-03-01T00:00:00.000Z",
      '        last_error: "no answer: timeout"',
      "        hint:",
      "          interval: 5m",
      "          expires_at: 2026-03-01T00:00:00.000Z",
      '      "on the hour":',
      "        failure_count: 2",
      "# end of state",
      "",
    ]);
  });

  it("is not written when an update changes nothing", async () => {
    const { store, watched } = storeOn(stateDirectory());
    await store.update(X, { failure_count: 2 });
    expect(watched.count(/^writeFile/)).toBe(1);
    await store.update(X, { failure_count: 2 });
    expect(watched.count(/^writeFile/)).toBe(1);
  });

  it("is looked at once in a pass and not read while it stays the same", async () => {
    const { store, watched } = storeOn(stateDirectory());
    await store.open();
    await store.update(X, { next_run_at: "2026-03-02T00:00:00.000Z" });
    await store.define({ schedules: [X] });
    watched.steps.length = 0;
    await store.claimDue(10);
    expect(watched.steps).toEqual(["lstat state.yaml"]);
  });

  it("is looked at once for many who ask at the same time", async () => {
    const { store, watched } = storeOn(stateDirectory());
    await Promise.all(Array.from({ length: 100 }, () => store.read(X)));
    expect(watched.steps).toEqual(["lstat state.yaml"]);
  });

  it("is read again within a pass when it is edited in place", async () => {
    const stateDir = stateDirectory();
    const { store } = storeOn(stateDir);
    await store.open();
    await store.update(X, { next_run_at: "2026-03-02T00:00:00.000Z" });
    await store.define({ schedules: [X] });
    const path = join(stateDir, "state.yaml");
    writeFileSync(path, readFileSync(path, "utf8").replace("2026-03-02", "2026-02-28"));
    expect((await store.claimDue(10)).claims).toHaveLength(1);
  });

  it("is read before other processes have to wait for the lock", async () => {
    const stateDir = stateDirectory();
    const { store, watched } = storeOn(stateDir);
    await store.update(X, { failure_count: 1 });
    await storeOn(stateDir).store.update(X, { failure_count: 2 });
    watched.steps.length = 0;
    await store.update(X, { missed_count: 1 });
    const steps = watched.steps.filter((step) => /^(readFile|mkdir state.yaml.lock-)/.test(step));
    expect(steps).toEqual(["readFile state.yaml", expect.stringMatching(/^mkdir state.yaml.lock-/)]);
  });

  it("counts as empty after it was removed", async () => {
    const stateDir = stateDirectory();
    const { store } = storeOn(stateDir);
    await store.update(X, { failure_count: 2 });
    rmSync(join(stateDir, "state.yaml"));
    expect(await store.read(X)).not.toHaveProperty("failure_count");
  });
});

describe("a file store on a disk of this machine", () => {
  async function opened(isLocal = true): Promise<ReturnType<typeof storeOn> & { path: string }> {
    const stateDir = stateDirectory();
    const stage = storeOn(stateDir, {}, new FakeClock(START), new WatchedDisk({ isLocal }));
    await stage.store.open();
    await stage.store.update(X, { next_run_at: "2026-03-01T01:00:00.000Z" });
    await stage.store.define({ schedules: [X] });
    stage.watched.steps.length = 0;
    return { ...stage, path: join(stateDir, "state.yaml") };
  }

  it("looks at its file without waiting while that stays the same", async () => {
    const { store, clock, watched } = await opened();
    await clock.advance("4m");
    expect(await store.claimDue(10)).toEqual({
      claims: [],
      skipped: [],
      nextDueAt: new Date("2026-03-01T01:00:00.000Z"),
    });
    expect(watched.steps).toEqual(["lstatSync state.yaml"]);
  });

  it("looks at its file again after that was changed", async () => {
    const { store, path, watched } = await opened();
    writeFileSync(path, "agents: {}\n");
    expect((await store.claimDue(10)).nextDueAt).toBeUndefined();
    expect(watched.count(/^lstat state.yaml$/)).toBe(1);
  });

  it("keeps what it knows after its file was deleted, and writes it again", async () => {
    const { store, path, watched } = await opened();
    rmSync(path);
    expect((await store.claimDue(10)).nextDueAt).toEqual(new Date("2026-03-01T01:00:00.000Z"));
    await vi.waitFor(() => expect(readFileSync(path, "utf8")).toContain("2026-03-01T01:00:00.000Z"));
    expect(watched.count(/^renameSync /)).toBe(1);
  });

  it("reports from the full look that its file cannot be read", async () => {
    const { store, watched } = await opened();
    watched.before = () => {
      throw Object.assign(new Error("EIO: made to fail"), { code: "EIO" });
    };
    await expect(store.claimDue(10)).rejects.toThrow("Could not stat");
    watched.before = () => {};
  });

  it("never keeps the process waiting for a disk that may be far away", async () => {
    const { store, watched } = await opened(false);
    await store.claimDue(10);
    expect(watched.steps).toEqual(["lstat state.yaml"]);
  });

  it.each([
    ["its directory was taken over", false, "was taken over"],
    ["its directory was deleted", true, "was deleted while this process used it"],
  ])("refuses to claim once %s", async (_, isDeleted, reason) => {
    const stateDir = stateDirectory();
    const realClock = new FakeClock(START);
    const { store } = storeOn(stateDir, {}, realClock, new WatchedDisk({ isLocal: true }));
    await store.open();
    await store.update(X, { next_run_at: "2026-03-01T01:00:00.000Z" });
    await store.define({ schedules: [X] });
    rmSync(isDeleted ? stateDir : join(stateDir, "owner.lock"), { recursive: true });
    if (!isDeleted) mkdirSync(join(stateDir, "owner.lock"));
    await realClock.advance(2_100);
    await vi.waitFor(() => expect(store.claimDue(10)).rejects.toThrow(reason));
    await expect(store.claimDue(10)).rejects.toMatchObject({ code: "STATE_LOCKED", isDeleted });
  });
});

describe("a file store at rest", () => {
  it("reads the file again when its time cannot tell a later change from the last", async () => {
    const { store, watched } = storeOn(stateDirectory(), {}, new FakeClock(new Date()));
    await store.update(X, { failure_count: 1 });
    await store.rest();
    expect(watched.open).toBe(0);
    watched.steps.length = 0;
    expect(await store.read(X)).toMatchObject({ failure_count: 1 });
    expect(watched.count(/^readFile/)).toBe(1);
  });

  it("looks only, when it can", async () => {
    const realClock = new FakeClock(new Date());
    const { store, watched } = storeOn(stateDirectory(), {}, realClock);
    await store.update(X, { failure_count: 1 });
    realClock.jump("5s");
    await store.rest();
    expect(watched.open).toBe(0);
    watched.steps.length = 0;
    expect(await store.read(X)).toMatchObject({ failure_count: 1 });
    expect(watched.steps).toEqual(["lstat state.yaml"]);
  });
});

describe("a change by another store", () => {
  it("is honoured by the next claim: what was disabled does not start", async () => {
    const stateDir = stateDirectory();
    const { store } = storeOn(stateDir);
    await store.open();
    await store.update(X, { next_run_at: START });
    await store.define({ schedules: [X] });
    await storeOn(stateDir).store.update(X, { status: "disabled" });
    expect((await store.claimDue(10)).claims).toEqual([]);
    expect(await store.read(X)).toMatchObject({ status: "disabled" });
  });

  it.each<[string, ScheduleStatePatch]>([
    ["a switch-off", { status: "disabled" }],
    ["a pause", { paused_until: "2026-03-01T01:00:00.000Z" }],
    ["another plan", { next_run_at: "2026-03-01T01:00:00.000Z" }],
  ])("is honoured even when it comes between a claim and its record: %s", async (_, patch) => {
    const stateDir = stateDirectory();
    const { store, watched } = storeOn(stateDir);
    await store.open();
    await store.update(X, { next_run_at: START });
    await store.define({ schedules: [X] });
    const other = storeOn(stateDir).store;
    let isDone = false;
    watched.before = async (step) => {
      // The claim is decided; its commit is about to prepare its lock.
      if (isDone || !step.startsWith("mkdir state.yaml.lock-")) return;
      isDone = true;
      await other.update(X, patch);
    };
    expect((await store.claimDue(10)).claims).toEqual([]);
    expect(isDone).toBe(true);
    expect(await store.read(X)).toMatchObject(patch);
    await store.update(X, { status: "idle", paused_until: null, next_run_at: START });
    expect((await store.claimDue(10)).claims).toHaveLength(1);
  });

  it("is told to listeners, with the schedules it concerns, and not to those who left", async () => {
    const stateDir = stateDirectory();
    const { store } = storeOn(stateDir);
    await store.open();
    const heard = vi.fn<(changed: readonly ScheduleKey[]) => void>();
    const left = vi.fn<() => void>();
    store.onChange(heard);
    store.onChange(left)();
    await store.update(X, { failure_count: 1 });
    await storeOn(stateDir).store.update({ agent: "a", schedule: "y" }, { failure_count: 1 });
    await store.claimDue(10);
    expect(heard.mock.calls).toEqual([[[{ agent: "a", schedule: "y", keys: ["failure_count"] }]]]);
    expect(left).not.toHaveBeenCalled();
  });

  it("names exactly the keys that changed or went", async () => {
    const stateDir = stateDirectory();
    const { store } = storeOn(stateDir);
    const hint = { interval: "5m", expires_at: START };
    await store.update(X, { failure_count: 1, last_error: "no", missed_count: 2, hint });
    const heard = vi.fn<(changed: readonly OutsideChange[]) => void>();
    store.onChange(heard);
    const changed = {
      failure_count: 1,
      last_error: null,
      paused_until: START,
      hint: { ...hint, reason: "why" },
    };
    await storeOn(stateDir).store.update(X, changed);
    await store.read(X);
    expect(heard.mock.calls).toEqual([[[{ ...X, keys: ["last_error", "paused_until", "hint"] }]]]);
  });

  it("is none when it was there before the first look", async () => {
    const stateDir = stateDirectory();
    await storeOn(stateDir).store.update(X, { failure_count: 1 });
    const { store } = storeOn(stateDir);
    const heard = vi.fn<() => void>();
    store.onChange(heard);
    expect(await store.read(X)).toMatchObject({ failure_count: 1 });
    expect(heard).not.toHaveBeenCalled();
  });

  it("is one when it makes the file", async () => {
    const stateDir = stateDirectory();
    const { store } = storeOn(stateDir);
    const heard = vi.fn<() => void>();
    store.onChange(heard);
    await store.read(X);
    await storeOn(stateDir).store.update(X, { failure_count: 1 });
    await store.read(X);
    expect(heard).toHaveBeenCalledOnce();
  });

  it("reaches the other listeners when one throws", async () => {
    const stateDir = stateDirectory();
    const error = vi.fn<(message: string) => void>();
    const logger = { debug() {}, info() {}, warn() {}, error };
    const { store } = storeOn(stateDir, { logger });
    await store.open();
    const heard = vi.fn<() => void>();
    store.onChange(() => {
      throw new Error("bad listener");
    });
    store.onChange(heard);
    await storeOn(stateDir).store.update(X, { failure_count: 1 });
    await store.claimDue(10);
    expect(heard).toHaveBeenCalledOnce();
    expect(error).toHaveBeenCalledWith(expect.stringContaining("bad listener"));
  });

  it("is merged key by key with one's own", async () => {
    const stateDir = stateDirectory();
    const [one, two] = [storeOn(stateDir).store, storeOn(stateDir).store];
    await one.update(X, { failure_count: 1 });
    await Promise.all([one.update(X, { last_error: "one" }), two.update(X, { missed_count: 2 })]);
    expect(await one.read(X)).toMatchObject({ failure_count: 1, last_error: "one", missed_count: 2 });
  });
});

describe("a file store that takes over from one that died", () => {
  /** What a store leaves behind whose process is killed while it runs the schedule. */
  async function killedWhileRunning(stateDir: string, times = 1): Promise<void> {
    for (let i = 0; i < times; i++) {
      const { store } = storeOn(stateDir);
      await store.open();
      await store.define({ schedules: [X] });
      await store.update(X, { next_run_at: START, last_completed_at: START });
      const { claims } = await store.claimDue(1);
      for (const { jobId } of claims)
        await store.jobs.start({ id: jobId, agent: "a", schedule: "x", trigger: "interval" });
      const left = readFileSync(join(stateDir, "state.yaml"));
      await store.close();
      writeFileSync(join(stateDir, "state.yaml"), left);
    }
  }

  it("makes what it left running due at once, the first time", async () => {
    const stateDir = stateDirectory();
    await killedWhileRunning(stateDir);
    const { store } = storeOn(stateDir);
    await store.open();
    const state = await store.read(X);
    expect(state).toMatchObject({
      status: "idle",
      next_run_at: START,
      next_run_source: "retry",
      retry: { slot: START, attempt: 2 },
      interrupted_count: 1,
    });
    expect(state).not.toHaveProperty("claim");
    expect(state.last_error).toMatch(/interrupted/);
    await store.define({ schedules: [X] });
    expect((await store.claimDue(1)).claims).toHaveLength(1);
  });

  it("leaves its slot for a minute later when it happens again", async () => {
    const stateDir = stateDirectory();
    await killedWhileRunning(stateDir, 2);
    const { store } = storeOn(stateDir);
    await store.open();
    expect(await store.read(X)).toMatchObject({
      status: "idle",
      next_run_at: new Date(Date.parse(START) + 60_000).toISOString(),
      next_run_source: "retry",
      retry: { slot: START, attempt: 3 },
      interrupted_count: 2,
    });
  });

  it("forgets interruptions when a job completes", async () => {
    const stateDir = stateDirectory();
    await killedWhileRunning(stateDir);
    const { store } = storeOn(stateDir);
    await store.open();
    await store.define({ schedules: [X] });
    const { claims } = await store.claimDue(1);
    for (const claim of claims) await completeClaim(store, claim, {});
    expect(await store.read(X)).not.toHaveProperty("interrupted_count");
  });

  it("leaves disabled what was disabled", async () => {
    const stateDir = stateDirectory();
    await storeOn(stateDir).store.update(X, { status: "disabled" });
    const { store } = storeOn(stateDir);
    await store.open();
    expect(await store.read(X)).toMatchObject({ status: "disabled" });
  });
});

describe("a file store", () => {
  it("may be opened by two callers at once, and closed twice or unopened", async () => {
    const { store } = storeOn(stateDirectory());
    await expect(Promise.all([store.open(), store.open()])).resolves.toBeDefined();
    await expect(Promise.all([store.close(), store.close()])).resolves.toBeDefined();
    await expect(storeOn(stateDirectory()).store.close()).resolves.toBeUndefined();
  });

  it("refuses everything once it is closed", async () => {
    const { store } = storeOn(stateDirectory());
    await store.close();
    const calls = [store.read(X), store.list("a"), store.update(X, {}), store.readFleet()];
    for (const call of calls) await expect(call).rejects.toMatchObject({ code: "STATE_CLOSED" });
  });

  it("works again when it is opened again", async () => {
    const { store } = storeOn(stateDirectory());
    for (let i = 1; i <= 3; i++) {
      await store.open();
      await store.update(X, { failure_count: i });
      const { id } = await store.jobs.start({ agent: "a", trigger: "manual" });
      expect(await store.jobs.finish(id, { status: "completed" })).toBe(true);
      // An opening need not wait for the closing before it to end.
      void store.close();
    }
    await store.close();
    await expect(store.read(X)).rejects.toMatchObject({ code: "STATE_CLOSED" });
  });

  it("waits for what is under way when it is closed", async () => {
    const stateDir = stateDirectory();
    const { store } = storeOn(stateDir);
    const update = store.update(X, { failure_count: 3 });
    await store.close();
    await update;
    expect(await storeOn(stateDir).store.read(X)).toMatchObject({ failure_count: 3 });
  });

  it("waits for what waits for that, too", async () => {
    const { store, watched } = storeOn(stateDirectory());
    const updates: Promise<unknown>[] = [];
    let isSecond = false;
    watched.before = (step) => {
      // The first update is being written, so this one can only go into the next write.
      if (isSecond || !step.startsWith("writeFile")) return;
      isSecond = true;
      updates.push(store.update(X, { missed_count: 4 }));
    };
    updates.push(store.update(X, { failure_count: 3 }));
    await updates[0];
    await store.close();
    const steps = watched.steps.length;
    await Promise.all(updates);
    expect(isSecond).toBe(true);
    expect(watched.steps.length).toBe(steps);
    expect(watched.open).toBe(0);
  });

  it("leaves no handle open and no file but its own", async () => {
    const stateDir = stateDirectory();
    const { store, watched } = storeOn(stateDir);
    await store.open();
    await store.update(X, { failure_count: 3 });
    const { id } = await store.jobs.start({ agent: "a", trigger: "manual" });
    await (await store.jobs.openOutput(id)).write("still running");
    await store.close();
    expect(watched.open).toBe(0);
    expect(readdirSync(stateDir).toSorted()).toEqual(["jobs", "owner.lock", "state.yaml", "state.yaml.lock"]);
    expect(readdirSync(join(stateDir, "owner.lock"))).toEqual([]);
    expect(readdirSync(join(stateDir, "state.yaml.lock"))).toEqual([]);
  });
});
