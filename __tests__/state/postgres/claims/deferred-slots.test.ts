import { describe, expect, it } from "vitest";
import { DeferredSlots, type Poll } from "../../../../src/state/postgres/claims/deferred-slots.js";

const NOTHING = { pollMs: undefined, fromMs: undefined };

/** Polls at `atMs` and leaves slots; both clocks show the same time unless `more` says otherwise. */
function poll(slots: DeferredSlots, atMs: number, more: Partial<Poll> = {}): void {
  const monotonicMs = more.monotonicMs ?? atMs;
  const shared = slots.toShare(monotonicMs);
  slots.notePoll({ atMs, monotonicMs, shared, hasDeferred: true, oldestMs: -Infinity, ...more });
}

describe("slots that polls left because the limit was reached", () => {
  it("were seen by the first poll after their time", () => {
    const slots = new DeferredSlots();
    for (const atMs of [1_000, 2_000, 3_000]) poll(slots, atMs);
    expect([500, 1_000, 1_001, 3_000, 3_001].map((dueMs) => slots.seenMs(dueMs))).toEqual([
      1_000,
      1_000,
      2_000,
      3_000,
      undefined,
    ]);
  });

  it("are forgotten when a poll leaves nothing", () => {
    const slots = new DeferredSlots();
    poll(slots, 1_000);
    poll(slots, 2_000, { hasDeferred: false });
    expect([slots.seenMs(500), slots.polls]).toEqual([undefined, []]);
  });

  it("are new when the clock was set back", () => {
    const slots = new DeferredSlots();
    poll(slots, 9_000);
    poll(slots, 1_000, { monotonicMs: 10_000 });
    expect([slots.seenMs(500), slots.seenMs(5_000)]).toEqual([1_000, undefined]);
  });

  it("cost two polls a moment, and no poll that is older than every waiting slot", () => {
    const slots = new DeferredSlots();
    for (let atMs = 0; atMs < 1_000; atMs += 10) poll(slots, atMs);
    expect([0, 1, 251, 999].map((dueMs) => slots.seenMs(dueMs))).toEqual([0, 240, 490, undefined]);
    poll(slots, 1_000, { oldestMs: 300 });
    expect([0, 1, 300, 999].map((dueMs) => slots.seenMs(dueMs))).toEqual([490, 490, 490, 1_000]);
  });

  it("were seen also by a poll a moment after an earlier one that is the last for a while", () => {
    const slots = new DeferredSlots();
    for (const atMs of [1_000, 1_010, 1_050]) poll(slots, atMs);
    expect([1_000, 1_050].map((dueMs) => slots.seenMs(dueMs))).toEqual([1_000, 1_050]);
    poll(slots, 1_700);
    expect([1_000, 1_050, 1_051].map((dueMs) => slots.seenMs(dueMs))).toEqual([1_000, 1_050, 1_700]);
  });
});

describe("what a node shares of its polls", () => {
  it("is nothing while the poll is a moment old", () => {
    const slots = new DeferredSlots();
    poll(slots, 1_000);
    expect(slots.toShare(1_249)).toEqual(NOTHING);
    expect(slots.toShare(1_250)).toEqual({ pollMs: 1_000, fromMs: undefined });
  });

  it("is each poll once", () => {
    const slots = new DeferredSlots();
    poll(slots, 1_000);
    poll(slots, 2_000);
    expect(slots.toShare(2_000)).toEqual(NOTHING);
    expect(slots.toShare(3_000)).toEqual({ pollMs: 2_000, fromMs: undefined });
  });

  it("is shared again when the reply was lost", () => {
    const slots = new DeferredSlots();
    poll(slots, 1_000);
    expect([slots.toShare(2_000), slots.toShare(2_000)]).toEqual([
      { pollMs: 1_000, fromMs: undefined },
      { pollMs: 1_000, fromMs: undefined },
    ]);
  });

  it("is which polls are outdated", () => {
    const slots = new DeferredSlots();
    for (const atMs of [1_000, 2_000, 3_000, 4_000]) poll(slots, atMs);
    poll(slots, 4_001, { oldestMs: 1_500 });
    expect(slots.toShare(4_002)).toEqual({ pollMs: undefined, fromMs: 2_000 });
    poll(slots, 4_003, { hasDeferred: false });
    expect(slots.toShare(4_004)).toEqual({ pollMs: undefined, fromMs: Infinity });
    poll(slots, 4_005, { hasDeferred: false });
    expect(slots.toShare(4_006)).toEqual(NOTHING);
  });

  it("removes polls in the future when the clock was set back", () => {
    const slots = new DeferredSlots();
    poll(slots, 8_000);
    poll(slots, 9_000);
    poll(slots, 1_000, { monotonicMs: 10_000 });
    expect(slots.toShare(10_100)).toEqual({ pollMs: undefined, fromMs: Infinity });
  });

  it("is nothing after the defined schedules have changed", () => {
    const slots = new DeferredSlots();
    poll(slots, 1_000);
    poll(slots, 2_000);
    slots.forget();
    expect([slots.toShare(9_000), slots.seenMs(500)]).toEqual([NOTHING, undefined]);
  });
});
