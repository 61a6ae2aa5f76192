import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { FakeClock, FileStore, MemoryStore, type ScheduleKey } from "../../../src/index.js";
import { describeReservations } from "../../contract/reservation-contract.js";
import { stateDirectory } from "../temporary-directory.js";
import { systemError, WatchedDisk } from "../watched-disk.js";

describeReservations("memory store", (options) => new MemoryStore(options));
describeReservations("file store", (options) => new FileStore({ ...options, stateDir: stateDirectory() }));

const START = "2026-03-01T00:00:00.000Z";
const SLOT = "2026-03-01T00:00:10.000Z";
const quiet = { info() {}, warn() {}, error() {} };

interface Scene {
  readonly stateDir: string;
  readonly store: FileStore;
  readonly clock: FakeClock;
  readonly watched: WatchedDisk;
  readonly text: () => string;
}

const key = (index: number): ScheduleKey => ({ agent: `a${index}`, schedule: "x" });

/** A file store with `count` agents whose one schedule is due after ten seconds. */
async function sceneWith(count: number): Promise<Scene> {
  const stateDir = stateDirectory();
  const clock = new FakeClock(START);
  const watched = new WatchedDisk();
  const store = new FileStore({ stateDir, clock, logger: quiet }, { disk: watched.disk });
  onTestFinished(() => store.close());
  await store.open();
  const keys = Array.from({ length: count }, (_, index) => key(index));
  await Promise.all(
    keys.map((one) => store.update(one, { next_run_at: SLOT, next_run_source: "baseline-cron" })),
  );
  await store.define(keys);
  return { stateDir, store, clock, watched, text: () => readFileSync(join(stateDir, "state.yaml"), "utf8") };
}

/** Opens another store on what the file said when the process died. */
async function afterCrash(text: string, now: string): Promise<FileStore> {
  const stateDir = stateDirectory();
  writeFileSync(join(stateDir, "state.yaml"), text);
  const store = new FileStore({ stateDir, clock: new FakeClock(now), logger: quiet });
  onTestFinished(() => store.close());
  await store.open();
  return store;
}

describe("the slots that a file store has reserved", () => {
  it("are in the file before their time, so that claiming them writes nothing", async () => {
    const { store, clock, watched, text } = await sceneWith(3);
    await store.reserve(10, 10_000);
    expect(text().match(/status: running/g)).toHaveLength(3);
    expect(text().match(/slot: 2026-03-01T00:00:10.000Z/g)).toHaveLength(3);
    expect(text()).not.toContain("claimed_at");
    await clock.advance("10s");
    watched.steps.length = 0;
    const { claims } = await store.claimDue(10);
    expect(claims.map(({ token }) => text().includes(token))).toEqual([true, true, true]);
    expect(watched.steps).toEqual(["lstat state.yaml"]);
  });

  it("are as many as were asked for, and as the agents have capacity for", async () => {
    const { store, text } = await sceneWith(5);
    await store.reserve(2, 10_000);
    expect(text().match(/status: running/g)).toHaveLength(2);
    await store.claim(key(4));
    await store.reserve(10, 10_000);
    expect(text().match(/claimed_at/g)).toHaveLength(1);
    expect(text().match(/status: running/g)).toHaveLength(5);
    const beside = { agent: "a0", schedule: "y" };
    await store.update(beside, { next_run_at: SLOT });
    await store.define([key(0), beside]);
    await store.reserve(10, 10_000);
    expect((await store.readFleet()).agents).toMatchObject({
      a0: { schedules: { x: { status: "running" }, y: { next_run_at: SLOT } } },
    });
    expect(
      text()
        .split("\n")
        .filter((line) => line.includes("job_id")),
    ).toHaveLength(5);
  });

  it("are not written twice", async () => {
    const { store, watched } = await sceneWith(2);
    await store.reserve(10, 10_000);
    watched.steps.length = 0;
    await store.reserve(10, 10_000);
    expect(watched.steps).toEqual([]);
  });

  it("are claimed with a write when they could not be reserved", async () => {
    const { store, clock, watched, text } = await sceneWith(2);
    watched.before = (step) => {
      if (step.startsWith("rename")) throw systemError("EIO");
    };
    await expect(store.reserve(10, 10_000)).rejects.toThrow("EIO");
    watched.before = () => {};
    await clock.advance("10s");
    const { claims } = await store.claimDue(10);
    expect(claims.map(({ token }) => text().includes(token))).toEqual([true, true]);
  });

  it("can be reserved when that could not be written before", async () => {
    const { store, watched, text } = await sceneWith(2);
    watched.before = (step) => {
      if (step.startsWith("rename")) throw systemError("EIO");
    };
    await expect(store.reserve(10, 10_000)).rejects.toThrow("EIO");
    watched.before = () => {};
    await store.reserve(10, 10_000);
    expect(text().match(/status: running/g)).toHaveLength(2);
  });

  it("are claimed with a write when they come due before they have been reserved", async () => {
    const { store, clock, text } = await sceneWith(2);
    let isDue = false;
    const now = clock.now.bind(clock);
    vi.spyOn(clock, "now").mockImplementation(() => (isDue ? new Date(SLOT) : now()));
    const reserving = store.reserve(10, 10_000);
    isDue = true;
    const { claims } = await store.claimDue(10);
    expect(claims.map(({ token }) => text().includes(token))).toEqual([true, true]);
    await reserving;
    for (const claim of claims) expect(await store.complete(claim, {})).toBe(true);
    expect(text()).not.toContain("running");
  });

  it("are not written when they have changed meanwhile", async () => {
    const { store, watched, text } = await sceneWith(1);
    let reserving: Promise<void> | undefined;
    watched.before = (step) => {
      if (step.startsWith("rename")) reserving ??= store.reserve(10, 10_000);
    };
    await store.update(key(0), { failure_count: 1 });
    await reserving;
    expect(text()).not.toContain("running");
  });

  it("can be claimed and completed after a change to them could not be written", async () => {
    const { store, clock, watched, text } = await sceneWith(1);
    await store.reserve(10, 10_000);
    watched.before = (step) => {
      if (step.startsWith("rename")) throw systemError("EIO");
    };
    await expect(store.update(key(0), { failure_count: 1 })).rejects.toThrow("EIO");
    watched.before = () => {};
    expect((await store.read(key(0))).status).toBe("idle");
    await clock.advance("10s");
    const [claim] = (await store.claimDue(10)).claims;
    expect(text()).toContain(claim?.token);
    expect(claim !== undefined && (await store.complete(claim, {}))).toBe(true);
  });

  it.each([
    ["disables", "status: running", "status: disabled"],
    ["pauses", "status: running", "paused_until: 2026-03-01T00:00:10.001Z\n        status: running"],
    ["moves", "next_run_at: 2026-03-01T00:00:10.000Z", "next_run_at: 2026-03-01T00:00:10.001Z"],
  ])("are not claimed when somebody %s them in the file", async (_, before, after) => {
    const { store, clock, stateDir, text } = await sceneWith(1);
    await store.reserve(10, 10_000);
    writeFileSync(join(stateDir, "state.yaml"), text().replace(before, after));
    await clock.advance("10s");
    expect((await store.claimDue(10)).claims).toEqual([]);
  });

  it("are claimed for the time that somebody wrote into the file, also at the end of a pause", async () => {
    const { store, clock, stateDir, text } = await sceneWith(1);
    await store.update(key(0), { paused_until: SLOT, next_run_at: "2026-03-01T00:00:05.000Z" });
    await store.reserve(10, 10_000);
    writeFileSync(
      join(stateDir, "state.yaml"),
      text().replace("next_run_at: 2026-03-01T00:00:05", "next_run_at: 2026-03-01T00:00:07"),
    );
    await clock.advance("10s");
    expect((await store.claimDue(10)).claims).toMatchObject([{ slot: new Date("2026-03-01T00:00:07.000Z") }]);
  });

  it("are given back in the file while they wait for capacity", async () => {
    const { store, clock, text } = await sceneWith(2);
    await store.reserve(10, 10_000);
    await clock.advance("10s");
    expect((await store.claimDue(1)).claims).toHaveLength(1);
    await store.update({ agent: "z", schedule: "x" }, { failure_count: 1 });
    expect(text().match(/status: running/g)).toHaveLength(1);
  });

  it("are as they were when the process dies before their time", async () => {
    const { store, text } = await sceneWith(1);
    const { claim: _, ...before } = await store.read(key(0));
    await store.reserve(10, 10_000);
    const next = await afterCrash(text(), "2026-03-01T00:00:09.999Z");
    expect(await next.read(key(0))).toEqual(before);
  });

  it("were interrupted when the process died at their time or later: their jobs may have run", async () => {
    const { store, text } = await sceneWith(1);
    await store.reserve(10, 10_000);
    const next = await afterCrash(text(), SLOT);
    expect(await next.read(key(0))).toMatchObject({
      status: "idle",
      interrupted_count: 1,
      last_run_at: SLOT,
      next_run_at: SLOT,
      next_run_source: "catch-up",
    });
  });
});

describe("a store that could not be opened", () => {
  it("leaves the claims of whoever owns the directory alone", async () => {
    const stateDir = stateDirectory();
    const watched = new WatchedDisk();
    const guest = new FileStore({ stateDir, logger: quiet }, { disk: watched.disk });
    onTestFinished(() => guest.close());
    watched.before = (step) => {
      if (step === "lstat state.yaml") throw systemError("EIO");
    };
    await expect(guest.open()).rejects.toThrow("EIO");
    watched.before = () => {};
    const owner = new FileStore({ stateDir, logger: quiet });
    onTestFinished(() => owner.close());
    await owner.open();
    await owner.define([key(0)]);
    const claim = await owner.claim(key(0));
    const changed = await guest.update(key(0), { failure_count: 1 });
    expect([changed.status, changed.claim]).toEqual(["running", (await owner.read(key(0))).claim]);
    expect(typeof claim !== "string" && changed.claim?.token === claim.token).toBe(true);
  });
});
