import { getEventListeners } from "node:events";
import { afterEach, describe, expect, it, vi } from "vitest";
import { wakeAfter, withTimeout } from "../src/clock.js";
import { type Clock, FakeClock, systemClock } from "../src/index.js";

describe("systemClock", () => {
  afterEach(() => {
    vi.useRealTimers();
    vi.restoreAllMocks();
  });

  it("shows the machine's time", () => {
    const before = Date.now();
    const shown = systemClock.now().getTime();
    expect(shown).toBeGreaterThanOrEqual(before);
    expect(shown).toBeLessThanOrEqual(Date.now());
  });

  it("never ends a sleep early", async () => {
    for (const ms of [0, 1, 2.5, 7]) {
      const start = systemClock.monotonic();
      await systemClock.sleep(ms);
      expect(systemClock.monotonic() - start).toBeGreaterThanOrEqual(ms);
    }
  });

  it("sleeps on when a timer fires early", async () => {
    let elapsedMs = 0;
    vi.spyOn(performance, "now").mockImplementation(() => elapsedMs);
    vi.spyOn(globalThis, "setTimeout").mockImplementation(((act: () => void, ms: number) => {
      elapsedMs += ms - 0.4;
      setImmediate(act);
    }) as typeof setTimeout);
    await systemClock.sleep(7);
    expect(elapsedMs).toBeGreaterThanOrEqual(7);
  });

  it("treats a negative sleep as 0, without a warning", async () => {
    const warnings: Error[] = [];
    const listen = (warning: Error): number => warnings.push(warning);
    process.on("warning", listen);
    await systemClock.sleep(-5);
    await new Promise((resolve) => setImmediate(resolve));
    process.off("warning", listen);
    expect(warnings).toEqual([]);
  });

  it("lets other work run during a sleep of 0 ms", async () => {
    let worked = false;
    setImmediate(() => (worked = true));
    await systemClock.sleep(1);
    await systemClock.sleep(0);
    expect(worked).toBe(true);
  });

  it("sleeps longer than the longest timer of Node", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
    const days = 60;
    let awake = false;
    const sleeping = systemClock.sleep(days * 86_400_000).then(() => (awake = true));
    for (let day = 0; day < days; day++) {
      expect(awake).toBe(false);
      await vi.advanceTimersByTimeAsync(86_400_000);
    }
    await sleeping;
    expect(vi.getTimerCount()).toBe(0);
  });

  it("clears its timer when aborted", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
    const controller = new AbortController();
    const sleeping = systemClock.sleep(1000, controller.signal);
    expect(vi.getTimerCount()).toBe(1);
    controller.abort();
    await expect(sleeping).rejects.toThrow("aborted");
    expect(vi.getTimerCount()).toBe(0);
  });

  it("rejects a sleep that is not a number", async () => {
    await expect(systemClock.sleep(Number.NaN)).rejects.toThrow(RangeError);
  });
});

describe.each<[string, () => Clock]>([
  ["systemClock", () => systemClock],
  ["FakeClock", () => new FakeClock()],
])("%s.sleep", (_, make) => {
  it("rejects with the signal's reason when aborted before or during the sleep", async () => {
    const clock = make();
    const controller = new AbortController();
    const reason = new Error("enough");
    const sleeping = clock.sleep(60_000, controller.signal);
    controller.abort(reason);
    await expect(sleeping).rejects.toBe(reason);
    await expect(clock.sleep(60_000, controller.signal)).rejects.toBe(reason);
  });

  it("leaves no listener on the signal, whether the sleep ended or was aborted", async () => {
    const clock = make();
    const controller = new AbortController();
    const woken = clock.sleep(1, controller.signal);
    if (clock instanceof FakeClock) await clock.advance(1);
    await woken;
    expect(getEventListeners(controller.signal, "abort")).toEqual([]);

    const aborted = clock.sleep(60_000, controller.signal);
    expect(getEventListeners(controller.signal, "abort")).toHaveLength(1);
    controller.abort();
    await aborted.catch(() => undefined);
    expect(getEventListeners(controller.signal, "abort")).toEqual([]);
  });
});

/** What a clock of somebody's own has to have. */
function plainClock(clock: Clock): Clock {
  return {
    now: () => clock.now(),
    monotonic: () => clock.monotonic(),
    sleep: (ms, signal) => clock.sleep(ms, signal),
  };
}

describe.each<[string, (clock: FakeClock) => Clock]>([
  ["a clock that has it", (clock) => clock],
  ["a clock that has only sleep", plainClock],
])("wakeAfter with %s", (_, make) => {
  it("wakes once, after its time and not before", async () => {
    const clock = new FakeClock();
    const wakes: number[] = [];
    wakeAfter(make(clock), 5_000, () => wakes.push(clock.monotonic()));
    await clock.advance(4_999);
    expect(wakes).toEqual([]);
    await clock.advance("1m");
    expect(wakes).toEqual([5_000]);
  });

  it("does not wake when cancelled, and leaves no timer", async () => {
    const clock = new FakeClock();
    let wakes = 0;
    const callOff = wakeAfter(make(clock), 5_000, () => wakes++);
    callOff();
    expect(clock.sleeping).toBe(0);
    await clock.advance("1m");
    callOff();
    expect(wakes).toBe(0);
  });
});

describe("wakeAfter of systemClock", () => {
  afterEach(() => {
    vi.useRealTimers();
  });

  it("never wakes early", async () => {
    const start = systemClock.monotonic();
    await new Promise<void>((resolve) => wakeAfter(systemClock, 7, resolve));
    expect(systemClock.monotonic() - start).toBeGreaterThanOrEqual(7);
  });

  it("clears its timer when cancelled", () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
    const callOff = wakeAfter(systemClock, 1000, () => {});
    expect(vi.getTimerCount()).toBe(1);
    callOff();
    expect(vi.getTimerCount()).toBe(0);
  });

  it("throws for NaN", () => {
    expect(() => wakeAfter(systemClock, Number.NaN, () => {})).toThrow(RangeError);
  });
});

describe("withTimeout", () => {
  it.each([
    ["resolves", async () => "done", { status: "fulfilled", value: "done" }],
    ["rejects", () => Promise.reject(new Error("boom")), { status: "rejected", reason: new Error("boom") }],
  ])("settles as a promise that %s in time, and leaves no timer", async (_, call, expected) => {
    const clock = new FakeClock();
    const [settled] = await Promise.allSettled([withTimeout(clock, 1_000, call(), () => "late")]);
    expect(settled).toEqual(expected);
    expect(clock.sleeping).toBe(0);
  });

  it("resolves with what onTimeout returns, and ignores a later rejection", async () => {
    const clock = new FakeClock();
    const slow = clock.sleep(2_000).then(() => Promise.reject(new Error("too late")));
    const limited = withTimeout(clock, 1_000, slow, () => `late at ${clock.time()}`);
    await clock.advance("3s");
    expect(await limited).toBe("late at 00:00:01");
  });

  it("rejects with what onTimeout throws", async () => {
    const clock = new FakeClock();
    const limited = withTimeout(clock, 1_000, new Promise(() => {}), () => {
      throw new Error("no reply");
    });
    const [settled] = await Promise.allSettled([limited, clock.advance("1s")]);
    expect(settled).toEqual({ status: "rejected", reason: new Error("no reply") });
  });
});

describe("FakeClock", () => {
  it("stands still until it is moved", async () => {
    const clock = new FakeClock("2026-03-01T00:00:00Z");
    await new Promise((resolve) => setImmediate(resolve));
    expect([clock.now(), clock.monotonic()]).toEqual([new Date("2026-03-01T00:00:00Z"), 0]);
  });

  it("moves both clocks forward by a duration or to an instant", async () => {
    const clock = new FakeClock("2026-03-01T00:00:00Z");
    await clock.advance("90s");
    expect([clock.time(), clock.monotonic()]).toEqual(["00:01:30", 90_000]);
    await clock.advance(500);
    await clock.advanceTo("2026-03-01T01:00:00Z");
    expect([clock.time(), clock.monotonic()]).toEqual(["01:00", 3_600_000]);
  });

  it("wakes each sleeper at its own time, and equal times in the order of their calls", async () => {
    const clock = new FakeClock();
    const woken: string[] = [];
    for (const [name, duration] of [
      ["late", "30s"],
      ["first", "10s"],
      ["second", "10s"],
      ["soon", "5s"],
    ] as const) {
      void clock.sleep(duration).then(() => woken.push(`${name} ${clock.time()}`));
    }
    await clock.advance("1m");
    expect(woken).toEqual(["soon 00:00:05", "first 00:00:10", "second 00:00:10", "late 00:00:30"]);
    expect(clock.sleeping).toBe(0);
  });

  it("lets a woken sleeper act and sleep again before it moves on", async () => {
    const clock = new FakeClock();
    const starts: string[] = [];
    const loop = (async () => {
      for (let i = 0; i < 3; i++) {
        starts.push(clock.time());
        await clock.sleep("10m");
      }
    })();
    await clock.advance("31m");
    await loop;
    expect(starts).toEqual(["00:00", "00:10", "00:20"]);
  });

  it("does not wake a sleeper whose time has not come", async () => {
    const clock = new FakeClock();
    let awake = false;
    void clock.sleep("10m").then(() => (awake = true));
    await clock.advance("9m");
    expect([awake, clock.sleeping]).toEqual([false, 1]);
  });

  it("ends a sleep of 0 ms at the next move, even advance(0)", async () => {
    const clock = new FakeClock();
    let awake = false;
    void clock.sleep(0).then(() => (awake = true));
    await clock.advance(0);
    expect(awake).toBe(true);
  });

  it("lets work that is about to sleep reach its sleep first", async () => {
    const clock = new FakeClock();
    const woken: string[] = [];
    void (async () => {
      await new Promise((resolve) => setImmediate(resolve));
      await clock.sleep("1m");
      woken.push(clock.time());
    })();
    await clock.advance("1m");
    expect(woken).toEqual(["00:01"]);
  });

  it("lets woken work take a turn of the event loop before it moves on", async () => {
    const clock = new FakeClock();
    const woken: string[] = [];
    void (async () => {
      await clock.sleep("1m");
      await new Promise((resolve) => setImmediate(resolve));
      woken.push(clock.time());
    })();
    void clock.sleep("2m");
    await clock.advance("5m");
    expect(woken).toEqual(["00:01"]);
  });

  it("treats a negative sleep as 0: no sleep turns time back", async () => {
    const clock = new FakeClock("2026-03-01T00:00:00Z");
    await clock.advance("1m");
    let wokenAt = "";
    void clock.sleep("-30s").then(() => (wokenAt = clock.time()));
    await clock.advance(0);
    expect([wokenAt, clock.sleeping]).toEqual(["00:01", 0]);
  });

  it("jumps the wall clock in both directions without time passing or a sleeper waking", async () => {
    const clock = new FakeClock("2026-03-01T12:00:00Z");
    let awake = false;
    void clock.sleep("1h").then(() => (awake = true));
    clock.jump("25h");
    expect([clock.now(), clock.monotonic()]).toEqual([new Date("2026-03-02T13:00:00Z"), 0]);
    clock.jump("-26h");
    expect(clock.now()).toEqual(new Date("2026-03-01T11:00:00Z"));
    clock.jumpTo("2016-03-01T00:00:00Z");
    await clock.advance("59m");
    expect(awake).toBe(false);
    await clock.advance("1m");
    expect([awake, clock.now()]).toEqual([true, new Date("2016-03-01T01:00:00Z")]);
  });

  it("handles a jump while it is being advanced", async () => {
    const clock = new FakeClock("2026-03-01T12:00:00Z");
    void clock.sleep("10m").then(() => clock.jump("-1h"));
    await clock.advance("30m");
    expect([clock.time(), clock.monotonic()]).toEqual(["11:30", 1_800_000]);
  });

  it.each([
    ["00:15:00.000", "00:15"],
    ["00:15:05.000", "00:15:05"],
    ["00:15:05.250", "00:15:05.250"],
    ["10:00:00.000", "10:00"],
    ["00:15:00.250", "00:15:00.250"],
  ])("shows %s as %s", (time, shown) => {
    expect(new FakeClock(`2026-03-01T${time}Z`).time()).toBe(shown);
  });

  it("refuses a value that is not a time, and says what it expects", async () => {
    const clock = new FakeClock();
    expect(() => new FakeClock("tomorrow")).toThrow(
      'Not a time: "tomorrow". Expected a Date, an ISO time or milliseconds.',
    );
    expect(() => clock.jump("5x")).toThrow(
      'Not a duration: "5x". Expected milliseconds or text such as "5m".',
    );
    await expect(clock.advance("-5m")).rejects.toThrow(
      'Cannot advance by "-5m": time only moves forward, use jump() to set it back.',
    );
    await expect(clock.advance(Infinity)).rejects.toThrow(RangeError);
    await expect(clock.sleep("5x")).rejects.toThrow(RangeError);
  });

  it("refuses a second advance while one is running", async () => {
    const clock = new FakeClock();
    const first = clock.advance("1m");
    await expect(clock.advance("1m")).rejects.toThrow(
      "The clock is already being advanced: await that call first.",
    );
    await first;
    await clock.advance("1m");
    expect(clock.time()).toBe("00:02");
  });

  it("throws for an endless loop of 0 ms sleeps instead of hanging", async () => {
    const clock = new FakeClock("2026-03-01T00:00:00Z");
    const controller = new AbortController();
    const loop = (async () => {
      for (;;) await clock.sleep(0, controller.signal);
    })();
    await expect(clock.advance("1s")).rejects.toThrow("Sleeps of 0 ms never end at 00:00.");
    controller.abort();
    await expect(loop).rejects.toThrow("aborted");
  });
});
