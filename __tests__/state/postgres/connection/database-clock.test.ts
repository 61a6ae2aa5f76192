/** What a node makes of the database's time, which it hears with every answer. */
import { setTimeout } from "node:timers/promises";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Claim, FakeClock, systemClock } from "../../../../src/index.js";
import { leadAfter, DatabaseClock } from "../../../../src/state/postgres/connection/database-clock.js";
import { sharedPool, unmadeSchema } from "../schema.js";
import { type PostgresPool, PostgresStore, type QueryAnswer } from "../../../../src/state/postgres/index.js";

describe("the lead of the database's clock", () => {
  const answer = { databaseMs: 10_000, sentMs: 400, repliedMs: 500 };

  it("is at first the smallest that the reply allows", () => {
    expect(leadAfter(undefined, answer)).toBe(9_500);
  });

  it.each([
    ["stays where the answer allows it", 9_550, 9_550],
    ["stays at the least that the answer allows", 9_500, 9_500],
    ["stays at the most that the answer allows, of a time in whole milliseconds", 9_601, 9_601],
    ["becomes the least that the answer allows when it was less", 9_000, 9_500],
    ["becomes the most that the answer allows when it was more", 99_000, 9_601],
  ])("%s", (_, knownMs, leadMs) => {
    expect(leadAfter(knownMs, answer)).toBe(leadMs);
  });

  it("never makes a time that is ahead of a database whose clock runs true", () => {
    const exchange = fc.record({
      pauseMs: fc.double({ min: 0, max: 5_000, noNaN: true }),
      thereMs: fc.double({ min: 0, max: 3_000, noNaN: true }),
      backMs: fc.double({ min: 0, max: 3_000, noNaN: true }),
    });
    fc.assert(
      fc.property(fc.array(exchange), fc.integer({ min: -1e12, max: 1e12 }), (exchanges, trueLeadMs) => {
        let nowMs = 0;
        let leadMs: number | undefined;
        for (const { pauseMs, thereMs, backMs } of exchanges) {
          const sentMs = nowMs + pauseMs;
          const databaseMs = Math.floor(sentMs + thereMs + trueLeadMs);
          const repliedMs = sentMs + thereMs + backMs;
          const before = leadMs;
          leadMs = leadAfter(leadMs, { databaseMs, sentMs, repliedMs });
          // Rounding of floating point, not of clocks.
          expect(leadMs).toBeLessThanOrEqual(trueLeadMs + 0.01);
          // And what a slow answer tells looks like no step back.
          expect(leadMs).toBeGreaterThanOrEqual((before ?? -Infinity) - 0.01);
          nowMs = repliedMs;
        }
      }),
    );
  });

  it.each([-3_600_000, 3_600_000])("follows a step of the database's clock by %i ms", (stepMs) => {
    const stepped = { databaseMs: 20_000 + stepMs, sentMs: 10_400, repliedMs: 10_500 };
    expect(Math.abs(leadAfter(leadAfter(undefined, answer), stepped) - (9_550 + stepMs))).toBeLessThan(101);
  });
});

describe("the time of a store", () => {
  it("is not changed by an invalid time", () => {
    const time = new DatabaseClock(undefined);
    const now = new Date();
    time.noteTime(now, time.monotonic());
    time.noteTime(new Date(NaN), time.monotonic());
    expect(Math.abs(time.now().getTime() - now.getTime())).toBeLessThan(5_000);
  });

  it("is not known before the database has said it", () => {
    const time = new DatabaseClock(undefined);
    time.adopt(systemClock);
    expect(() => time.now()).toThrow("time is not known yet");
  });

  it("goes on from what the database said", () => {
    const time = new DatabaseClock(undefined);
    time.noteTime(new Date("2000-01-01T00:00:00Z"), time.monotonic());
    expect(time.now().toISOString()).toMatch(/^2000-01-01T00:0/);
  });

  it("is that of a clock which is not the machine's", () => {
    const time = new DatabaseClock(undefined);
    time.adopt(new FakeClock("2026-03-01T00:00:00Z"));
    expect(time.now().toISOString()).toBe("2026-03-01T00:00:00.000Z");
  });

  it("is slept by without a listener for each sleep", async () => {
    const clock = new FakeClock();
    const time = new DatabaseClock(clock);
    let isAwake = false;
    time.wakeAfter(1_000, () => {
      isAwake = true;
    });
    const callOff = time.wakeAfter(1_000, () => expect.unreachable("It was called off."));
    callOff();
    await clock.advance("1s");
    expect([isAwake, clock.sleeping]).toEqual([true, 0]);
  });

  it.each(["claimDue", "claim"] as const)(
    "is heard from %s: nothing is claimed later than now",
    async (how) => {
      let lateMs = 300;
      const pool: PostgresPool = {
        connect: () => sharedPool().connect(),
        on: () => {},
        end: async () => {},
        async query(query: Parameters<PostgresPool["query"]>[0]): Promise<QueryAnswer> {
          const answer = await sharedPool().query(query);
          await setTimeout(lateMs);
          return answer;
        },
      };
      const store = new PostgresStore({ pool, schema: unmadeSchema() });
      await store.open();
      const x = { agent: "a", schedule: "x" };
      await store.define({ schedules: [x] });
      await store.update(x, { next_run_at: "2020-01-01T00:00:00Z" });
      lateMs = 0;
      const claim = how === "claim" ? await store.claim(x) : (await store.claimDue(1)).claims[0];
      expect(claim).toMatchObject({ agent: "a" });
      const now = store.clock.now();
      expect(now.getTime()).toBeGreaterThanOrEqual((claim as Claim).claimedAt.getTime());
      await store.close();
    },
  );

  it("is asked for before a job is recorded by a store that was never opened", async () => {
    const store = new PostgresStore({ pool: sharedPool(), schema: unmadeSchema() });
    const { id } = await store.jobs.start({ agent: "a", trigger: "manual" });
    expect(await store.jobs.finish(id, { status: "completed" })).toBe(true);
    await store.close();
  });
});
