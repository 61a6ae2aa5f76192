import { describe, expect, it } from "vitest";
import { LeftSlots, type TakenLook } from "../../../../src/state/postgres/claims/deferred-slots.js";

const NOTHING = { lookMs: undefined, fromMs: undefined };

/** Looks at `atMs` that may have left something; both clocks show the same unless told otherwise. */
function look(left: LeftSlots, atMs: number, more: Partial<TakenLook> = {}): void {
  const monotonicMs = more.monotonicMs ?? atMs;
  const told = left.news(monotonicMs);
  left.note({ atMs, monotonicMs, told, hasLeft: true, oldestMs: -Infinity, ...more });
}

describe("slots that were left for want of room", () => {
  it("were seen by the first look after their time", () => {
    const left = new LeftSlots();
    for (const atMs of [1_000, 2_000, 3_000]) look(left, atMs);
    expect([500, 1_000, 1_001, 3_000, 3_001].map((dueMs) => left.seenMs(dueMs))).toEqual([
      1_000,
      1_000,
      2_000,
      3_000,
      undefined,
    ]);
  });

  it("are forgotten when a look leaves nothing", () => {
    const left = new LeftSlots();
    look(left, 1_000);
    look(left, 2_000, { hasLeft: false });
    expect([left.seenMs(500), left.leftMs]).toEqual([undefined, undefined]);
  });

  it("are new when the clock was set back", () => {
    const left = new LeftSlots();
    look(left, 9_000);
    look(left, 1_000, { monotonicMs: 10_000 });
    expect([left.seenMs(500), left.seenMs(5_000)]).toEqual([1_000, undefined]);
  });

  it("cost two looks a moment, and none that is older than all that wait", () => {
    const left = new LeftSlots();
    for (let atMs = 0; atMs < 1_000; atMs += 10) look(left, atMs);
    expect([0, 1, 251, 999].map((dueMs) => left.seenMs(dueMs))).toEqual([0, 240, 490, undefined]);
    look(left, 1_000, { oldestMs: 300 });
    expect([0, 1, 300, 999].map((dueMs) => left.seenMs(dueMs))).toEqual([490, 490, 490, 1_000]);
  });

  it("were seen also where that was a moment after another look, and the last for a while", () => {
    const left = new LeftSlots();
    for (const atMs of [1_000, 1_010, 1_050]) look(left, atMs);
    expect([1_000, 1_050].map((dueMs) => left.seenMs(dueMs))).toEqual([1_000, 1_050]);
    look(left, 1_700);
    expect([1_000, 1_050, 1_051].map((dueMs) => left.seenMs(dueMs))).toEqual([1_000, 1_050, 1_700]);
  });
});

describe("what others are told of looks", () => {
  it("is nothing of one that took a moment", () => {
    const left = new LeftSlots();
    look(left, 1_000);
    expect(left.news(1_249)).toEqual(NOTHING);
    expect(left.news(1_250)).toEqual({ lookMs: 1_000, fromMs: undefined });
  });

  it("is each look once", () => {
    const left = new LeftSlots();
    look(left, 1_000);
    look(left, 2_000);
    expect(left.news(2_000)).toEqual(NOTHING);
    expect(left.news(3_000)).toEqual({ lookMs: 2_000, fromMs: undefined });
  });

  it("is said again when the answer to it was lost", () => {
    const left = new LeftSlots();
    look(left, 1_000);
    expect([left.news(2_000), left.news(2_000)]).toEqual([
      { lookMs: 1_000, fromMs: undefined },
      { lookMs: 1_000, fromMs: undefined },
    ]);
  });

  it("is which of them are of no use any more", () => {
    const left = new LeftSlots();
    for (const atMs of [1_000, 2_000, 3_000, 4_000]) look(left, atMs);
    look(left, 4_001, { oldestMs: 1_500 });
    expect(left.news(4_002)).toEqual({ lookMs: undefined, fromMs: 2_000 });
    look(left, 4_003, { hasLeft: false });
    expect(left.news(4_004)).toEqual({ lookMs: undefined, fromMs: Infinity });
    look(left, 4_005, { hasLeft: false });
    expect(left.news(4_006)).toEqual(NOTHING);
  });

  it("takes back what lies ahead when the clock was set back", () => {
    const left = new LeftSlots();
    look(left, 8_000);
    look(left, 9_000);
    look(left, 1_000, { monotonicMs: 10_000 });
    expect(left.news(10_100)).toEqual({ lookMs: undefined, fromMs: Infinity });
  });

  it("is nothing after other schedules were defined", () => {
    const left = new LeftSlots();
    look(left, 1_000);
    look(left, 2_000);
    left.forget();
    expect([left.news(9_000), left.seenMs(500)]).toEqual([NOTHING, undefined]);
  });
});
