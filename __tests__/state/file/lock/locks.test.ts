/** Who owns a state directory, and what becomes of its lock when the owner dies, stops, or is elsewhere. */
import { existsSync, readdirSync, readFileSync, statSync, unlinkSync, utimesSync } from "node:fs";
import { hostname } from "node:os";
import { basename, join } from "node:path";
import { describe, expect, it, vi } from "vitest";
import { FakeClock } from "../../../../src/clock.js";
import { nodeDisk } from "../../../../src/state/file/disk.js";
import { completeClaim } from "../../../../src/state/store.js";
import { StateLockedError } from "../../../../src/state/errors.js";
import { FileStore } from "../../../../src/state/file/file-store.js";
import { OwnerLock } from "../../../../src/state/file/lock/owner-lock.js";
import { thisProcess } from "../../../../src/state/file/lock/process-identity.js";
import { until } from "../../child.js";
import { forge, frozen, timed } from "./lock-fixtures.js";
import { ObedientStore } from "../obedient-store.js";
import { temporaryDirectory } from "../../temporary-directory.js";
import { systemError, WatchedDisk } from "../../watched-disk.js";

const hasProc = existsSync("/proc/self/stat");
const KEY = { agent: "a", schedule: "s" };
const PAST = "2026-01-01T00:00:00.000Z";
const LEASE_MS = 30_000;
const ELSEWHERE = "0123456789ab";

describe("a second owner", () => {
  it("is told who owns the directory: which process, where, since when", async () => {
    using temporary = temporaryDirectory();
    await using first = new ObedientStore(temporary.path);
    const startedAt = new Date();
    await first.call("open");
    await using second = new FileStore({ stateDir: temporary.path });
    const refusal: unknown = await second.open().catch((error: unknown) => error);
    expect(refusal).toBeInstanceOf(StateLockedError);
    const { owner, message, code } = refusal as StateLockedError;
    expect(code).toBe("STATE_LOCKED");
    expect(owner).toEqual({ pid: first.pid, host: hostname(), since: expect.any(Date) });
    expect(Math.abs(Number(owner?.since) - startedAt.getTime())).toBeLessThan(60_000);
    expect(message).toContain(
      `${temporary.path} is in use, by process ${first.pid} on ${hostname()} since ${owner?.since.toISOString()}`,
    );
    expect(readdirSync(join(temporary.path, "owner.lock"))).toHaveLength(1);
  });

  it("changes nothing, and claims nothing", async () => {
    using temporary = temporaryDirectory();
    const realClock = new FakeClock();
    await using first = new FileStore({ stateDir: temporary.path }, { realClock });
    await first.open();
    await first.define({ schedules: [KEY] });
    await first.update(KEY, { next_run_at: PAST });
    await first.claimDue(1);
    await using second = new FileStore({ stateDir: temporary.path }, { realClock });
    await expect(timed(realClock, second.open())).rejects.toThrow(StateLockedError);
    expect((await first.read(KEY)).status).toBe("running");
    await expect(second.claimDue(1)).rejects.toThrow("not open");
  });

  it("gets the directory when the first has closed it", async () => {
    using temporary = temporaryDirectory();
    const first = new FileStore({ stateDir: temporary.path }, frozen());
    await first.open();
    await first.close();
    await using second = new FileStore({ stateDir: temporary.path }, frozen());
    await second.open();
    expect(await second.read(KEY)).toMatchObject({ status: "idle" });
  });

  it("of many that come at once is refused, and one is not", async () => {
    using temporary = temporaryDirectory();
    const realClock = new FakeClock();
    const stores = Array.from(
      { length: 8 },
      () => new FileStore({ stateDir: temporary.path }, { realClock }),
    );
    const { result } = await timed(realClock, Promise.allSettled(stores.map((store) => store.open())));
    expect(result.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
    const reasons = result.flatMap((outcome) => (outcome.status === "rejected" ? [outcome.reason] : []));
    expect(reasons.every((reason) => reason instanceof StateLockedError)).toBe(true);
    await Promise.all(stores.map((store) => store.close()));
  });
});

describe("the lock of an owner that was killed", () => {
  it("is taken over without waiting, and what it ran is interrupted", async () => {
    using temporary = temporaryDirectory();
    await using first = new ObedientStore(temporary.path);
    await first.call("open");
    await first.call("define", { schedules: [KEY] });
    await first.call("update", KEY, { next_run_at: PAST });
    await first.call("claimDue", 1);
    await first.kill();
    await using second = new FileStore({ stateDir: temporary.path }, frozen());
    expect((await second.read(KEY)).status).toBe("running");
    await second.open();
    expect(await second.read(KEY)).toMatchObject({ status: "idle", interrupted_count: 1 });
  });

  it.skipIf(!hasProc)("is taken over without waiting when another process has its pid", async () => {
    using temporary = temporaryDirectory();
    forge(join(temporary.path, "owner.lock"), { started: "1" });
    await using store = new FileStore({ stateDir: temporary.path }, frozen());
    await store.open();
    expect(readdirSync(join(temporary.path, "owner.lock"))).toEqual([
      expect.stringContaining(`${thisProcess().pid}-${thisProcess().started}-`),
    ]);
  });
});

describe("the lock of an owner on another machine", () => {
  it("is respected while it gives signs of life, even if a process here has its pid", async () => {
    using temporary = temporaryDirectory();
    const path = join(temporary.path, "owner.lock");
    const owner = { pid: 2 ** 22 + 1, host: "elsewhere", since: new Date(PAST) };
    const file = forge(path, { pid: owner.pid, machine: ELSEWHERE }, JSON.stringify(owner));
    const clock = new FakeClock();
    const taking = OwnerLock.take(nodeDisk, path, clock, LEASE_MS);
    taking.catch(() => {});
    await until(() => clock.sleeping > 0);
    utimesSync(file, 1, 1);
    const refusal: unknown = await timed(clock, taking).catch((error: unknown) => error);
    expect(refusal).toBeInstanceOf(StateLockedError);
    expect(refusal).toMatchObject({
      owner,
      message: expect.stringContaining("on elsewhere since 2026-01-01"),
    });
    expect(existsSync(file)).toBe(true);
    expect(clock.monotonic()).toBeLessThan(1_000);
  });

  it.each([
    ["", "0"],
    [", although the time is set back meanwhile", "-1h"],
    [", and not earlier when the time is set forward", "1h"],
  ])("is taken over after 4.3 s of silence%s", async (_, jump) => {
    using temporary = temporaryDirectory();
    const path = join(temporary.path, "owner.lock");
    forge(path, { machine: ELSEWHERE });
    const clock = new FakeClock();
    const taking = OwnerLock.take(nodeDisk, path, clock, LEASE_MS);
    await until(() => clock.sleeping > 0);
    clock.jump(jump === "0" ? 0 : jump);
    const { result, tookMs } = await timed(clock, taking);
    await result.release();
    expect(tookMs).toBeGreaterThanOrEqual(4_300);
    expect(tookMs).toBeLessThan(5_000);
  });
});

describe("an owner", () => {
  it.each(["-1d", "1d"])("is not taken for dead when the time is set by %s", async (jump) => {
    using temporary = temporaryDirectory();
    const path = join(temporary.path, "owner.lock");
    const [ownClock, otherClock] = [new FakeClock(), new FakeClock()];
    const lock = await OwnerLock.take(nodeDisk, path, ownClock, LEASE_MS);
    const taking = OwnerLock.take(nodeDisk, path, otherClock, LEASE_MS);
    taking.catch(() => {});
    await until(() => otherClock.sleeping > 0);
    const [file = ""] = readdirSync(path);
    const before = statSync(join(path, file)).mtimeMs;
    ownClock.jump(jump);
    await ownClock.advance(2_100);
    await until(() => statSync(join(path, file)).mtimeMs !== before);
    await expect(timed(otherClock, taking)).rejects.toThrow(StateLockedError);
    await lock.check();
    await lock.release();
  });

  it("shows twice in every 4.3 s that it lives", async () => {
    using temporary = temporaryDirectory();
    const clock = new FakeClock();
    const lock = await OwnerLock.take(nodeDisk, join(temporary.path, "owner.lock"), clock, LEASE_MS);
    const [file = ""] = readdirSync(join(temporary.path, "owner.lock"));
    for (let sign = 0; sign < 5; sign++) {
      const before = clock.now().getTime();
      await until(() => clock.sleeping > 0);
      await clock.advance(2_100);
      await until(() => statSync(join(temporary.path, "owner.lock", file)).mtimeMs > before);
    }
    await lock.release();
    expect(clock.sleeping).toBe(0);
  });

  it("that is awake shows it then, and so need not wake up for that", async () => {
    using temporary = temporaryDirectory();
    const clock = new FakeClock();
    const watched = new WatchedDisk();
    const lock = await OwnerLock.take(watched.disk, join(temporary.path, "owner.lock"), clock, LEASE_MS);
    const [file = ""] = readdirSync(join(temporary.path, "owner.lock"));
    const shown = (): number => watched.count(/^utimes/);
    const sleepEnds: number[] = [];
    for (let second = 1; second <= 6; second++) {
      await clock.advance("1s");
      sleepEnds.push(shown());
      lock.stir();
      lock.stir();
      await until(() => clock.sleeping > 0 && shown() === Math.floor(second / 2));
    }
    // Each was given by who was awake, none by waking up.
    expect(sleepEnds).toEqual([0, 0, 1, 1, 2, 2]);
    expect(statSync(join(temporary.path, "owner.lock", file)).mtimeMs).toBe(clock.now().getTime());
    await lock.release();
    lock.stir();
    expect(clock.sleeping).toBe(0);
  });

  it("that finds its lock removed does nothing more, and says why", async () => {
    using temporary = temporaryDirectory();
    await using store = new FileStore({ stateDir: temporary.path }, frozen());
    await store.open();
    await store.define({ schedules: [KEY] });
    await store.update(KEY, { next_run_at: PAST });
    const [claim] = (await store.claimDue(1)).claims;
    const before = readFileSync(join(temporary.path, "state.yaml"));
    const [file = ""] = readdirSync(join(temporary.path, "owner.lock"));
    unlinkSync(join(temporary.path, "owner.lock", file));
    await expect(store.update(KEY, { failure_count: 1 })).rejects.toThrow("was taken over");
    await expect(claim && completeClaim(store, claim, {})).rejects.toThrow(StateLockedError);
    expect(readFileSync(join(temporary.path, "state.yaml"))).toEqual(before);
  });

  it("knows that its lock is lost once a sign of life has failed", async () => {
    using temporary = temporaryDirectory();
    const realClock = new FakeClock();
    await using store = new FileStore({ stateDir: temporary.path }, { realClock });
    await store.open();
    const [file = ""] = readdirSync(join(temporary.path, "owner.lock"));
    unlinkSync(join(temporary.path, "owner.lock", file));
    await realClock.advance(2_100);
    // The sign of life fails in its own time.
    await vi.waitFor(() => expect(store.claimDue(1)).rejects.toThrow(StateLockedError), { timeout: 30_000 });
    await expect(store.renew({ ...KEY, token: "t" })).rejects.toThrow(StateLockedError);
  });
});

describe("an owner whose event loop is busy for longer than a silence", () => {
  it.skipIf(!hasProc)("is not taken over: the second one is refused, and says by whom", async () => {
    using temporary = temporaryDirectory();
    await using busy = new ObedientStore(temporary.path);
    await busy.call("open");
    await busy.call("define", { schedules: [KEY] });
    await busy.call("update", KEY, { next_run_at: PAST });
    await busy.call("claimDue", 1);
    await busy.block(7_000);
    const blockedAt = performance.now();
    await using second = new FileStore({ stateDir: temporary.path });
    const refusal: unknown = await second.open().catch((error: unknown) => error);
    const tookMs = performance.now() - blockedAt;
    expect(refusal).toBeInstanceOf(StateLockedError);
    expect(refusal).toMatchObject({ owner: { pid: busy.pid } });
    expect(tookMs).toBeGreaterThan(4_000);
    expect(tookMs).toBeLessThan(6_500);
    const { result } = await busy.call("update", KEY, { failure_count: 1 });
    expect(result).toMatchObject({ status: "running", failure_count: 1 });
    expect(result).not.toHaveProperty("interrupted_count");
  });

  it.skipIf(!hasProc)("is refused to a second one however long it is silent", async () => {
    using temporary = temporaryDirectory();
    const path = join(temporary.path, "owner.lock");
    const file = forge(path, {}, "{}");
    for (let round = 0; round < 20; round++) {
      const clock = new FakeClock();
      await expect(timed(clock, OwnerLock.take(nodeDisk, path, clock, LEASE_MS))).rejects.toThrow(
        "is in use",
      );
      expect(clock.monotonic()).toBeGreaterThanOrEqual(4_300);
      expect(clock.monotonic()).toBeLessThan(5_000);
    }
    expect(existsSync(file)).toBe(true);
  });

  it("has a whole lease where the system does not tell whether its pid was given to a second process", async () => {
    using temporary = temporaryDirectory();
    const path = join(temporary.path, "owner.lock");
    forge(path, { started: "0" }, "{}");
    const clock = new FakeClock();
    const { result, tookMs } = await timed(clock, OwnerLock.take(nodeDisk, path, clock, LEASE_MS));
    await result.release();
    expect(tookMs).toBeGreaterThanOrEqual(30_000);
    expect(tookMs).toBeLessThan(31_000);
  });

  it.skipIf(!hasProc)(
    "has a whole lease when it is stopped, and keeps the directory if it goes on before",
    async () => {
      using temporary = temporaryDirectory();
      await using stopped = new ObedientStore(temporary.path);
      await stopped.call("open");
      await stopped.stop();
      const path = join(temporary.path, "owner.lock");
      const clock = new FakeClock();
      const taking = OwnerLock.take(nodeDisk, path, clock, LEASE_MS);
      taking.catch(() => {});
      while (clock.monotonic() < 25_000) {
        await until(() => clock.sleeping > 0);
        await clock.advance(25);
      }
      expect(readdirSync(path)).toEqual([expect.stringMatching(`^${stopped.pid}-`)]);
      stopped.goOn();
      // It shows that it lives within 2.1 s of real time.
      const refusal = taking.catch((error: unknown) => error);
      await until(async () => {
        await clock.advance(1);
        return Promise.race([refusal.then(() => true), Promise.resolve().then(() => false)]);
      });
      expect(await refusal).toBeInstanceOf(StateLockedError);
      expect((await stopped.call("update", KEY, { failure_count: 1 })).error).toBeUndefined();
    },
  );
});

describe("an owner that could not remove its lock when it closed", () => {
  it("lets the next one in after 4.3 s, although its process goes on", async () => {
    using temporary = temporaryDirectory();
    const path = join(temporary.path, "owner.lock");
    const watched = new WatchedDisk();
    const clock = new FakeClock();
    const first = await OwnerLock.take(watched.disk, path, clock, LEASE_MS);
    watched.before = (step) => {
      if (step.startsWith("unlink")) throw systemError("EIO");
    };
    await first.release();
    watched.before = () => {};
    expect(readdirSync(path)).toHaveLength(1);
    const { result, tookMs } = await timed(clock, OwnerLock.take(watched.disk, path, clock, LEASE_MS));
    await result.release();
    expect(tookMs).toBeGreaterThanOrEqual(4_300);
    expect(tookMs).toBeLessThan(5_000);
  });
});

/** Takes the directory over from one that is stopped, without waiting for real. */
async function takeOver(stateDir: string): Promise<FileStore> {
  const realClock = new FakeClock();
  const store = new FileStore({ stateDir }, { realClock });
  await timed(realClock, store.open());
  return store;
}

describe.skipIf(!hasProc)("an owner that was stopped past its lease and goes on", () => {
  it("cannot write over what the newer owner wrote", async () => {
    using temporary = temporaryDirectory();
    await using old = new ObedientStore(temporary.path);
    await old.call("open");
    await old.call("define", { schedules: [KEY] });
    await old.call("update", KEY, { next_run_at: PAST, failure_count: 1 });
    const { result } = await old.call("claimDue", 1);
    const [claim] = (result as { claims: unknown[] }).claims;
    await old.stop();
    await using store = await takeOver(temporary.path);
    await store.update(KEY, { failure_count: 2 });
    const before = readFileSync(join(temporary.path, "state.yaml"));
    old.goOn();
    for (const answer of [
      await old.call("update", KEY, { failure_count: 3 }),
      await old.call("finishJobs", [{ claim, change: { failure_count: 4 } }]),
    ])
      expect(answer.error).toMatchObject({
        name: "StateLockedError",
        message: expect.stringContaining(`by process ${process.pid} on ${hostname()} since`),
        owner: { pid: process.pid },
      });
    expect(readFileSync(join(temporary.path, "state.yaml"))).toEqual(before);
    expect((await store.read(KEY)).failure_count).toBe(2);
  });

  it.each([
    "lstat state.yaml",
    "rename state.yaml.lock",
    "locked lstat state.yaml",
    "writeFile held",
    "sync held",
    "link held.old",
    "rename state.yaml",
  ])("cannot finish a write in which it was stopped before `%s`", async (step) => {
    using temporary = temporaryDirectory();
    await using old = new ObedientStore(temporary.path);
    await old.call("open");
    await old.call("update", KEY, { failure_count: 1 });
    old.signalBefore(step, "SIGSTOP");
    const writing = old.call("update", KEY, { failure_count: 3, last_error: "old" });
    await old.stopped();
    await using store = await takeOver(temporary.path);
    await store.update(KEY, { failure_count: 2 });
    const before = readFileSync(join(temporary.path, "state.yaml"));
    old.goOn();
    expect((await writing).error).toMatchObject({ name: "StateLockedError", owner: { pid: process.pid } });
    expect(readFileSync(join(temporary.path, "state.yaml"))).toEqual(before);
    expect(await store.read(KEY)).toMatchObject({ failure_count: 2, last_error: null });
    expect(readdirSync(join(temporary.path, "state.yaml.lock"))).toEqual([]);
  });

  it("has written what it had put in place when it was stopped, and nothing after", async () => {
    using temporary = temporaryDirectory();
    await using old = new ObedientStore(temporary.path);
    await old.call("open");
    await old.call("update", KEY, { failure_count: 1 });
    old.signalBefore(`sync ${basename(temporary.path)}`, "SIGSTOP");
    const writing = old.call("update", KEY, { failure_count: 3, last_error: "old" });
    await old.stopped();
    await using store = await takeOver(temporary.path);
    await store.update(KEY, { failure_count: 2 });
    old.goOn();
    expect((await writing).error).toBeUndefined();
    expect((await old.call("update", KEY, { failure_count: 4 })).error).toMatchObject({
      code: "STATE_LOCKED",
    });
    expect(await store.read(KEY)).toMatchObject({ failure_count: 2, last_error: "old" });
  });
});
