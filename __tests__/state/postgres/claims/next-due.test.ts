/** When something can be claimed next, without asking. */
import { describe, expect, it } from "vitest";
import { NextDue } from "../../../../src/state/postgres/claims/next-due.js";
import { key, scene, START } from "../scene.js";
import { loseNextAnswer, SteeredPool } from "../steered-pool.js";

const LOOK = { atMs: 100, hasLeft: false, hasLines: false, nextMs: 500 };
const WRITTEN = { dueMs: Infinity, leftMs: Infinity, hasEnded: false };

function looked(look: Partial<typeof LOOK> = {}): NextDue {
  const next = new NextDue();
  next.noteAsking();
  next.noteLook({ ...LOOK, ...look });
  return next;
}

function msOf(next: NextDue): number | undefined {
  return next.at(undefined)?.dueAt?.getTime();
}

describe("the next slot", () => {
  it("is unknown before a look", () => {
    expect(new NextDue().at(undefined)).toBeUndefined();
  });

  it("is what the look has found", () => {
    expect(msOf(looked())).toBe(500);
  });

  it("is one that was written since, if that is earlier", () => {
    const next = looked();
    next.noteWritten({ ...WRITTEN, dueMs: 700 });
    expect(msOf(next)).toBe(500);
    next.noteWritten({ ...WRITTEN, dueMs: 300 });
    expect(msOf(next)).toBe(300);
  });

  it("is unknown once it has another time, or may have been the one that has", () => {
    const next = looked();
    next.noteWritten({ ...WRITTEN, dueMs: 900, leftMs: 501 });
    expect(msOf(next)).toBe(500);
    next.noteWritten({ ...WRITTEN, dueMs: 900, leftMs: 500 });
    expect(next.at(undefined)).toBeUndefined();
  });

  it("is known still when one that left it is earlier now", () => {
    const next = looked();
    next.noteWritten({ ...WRITTEN, dueMs: 200, leftMs: 500 });
    expect(msOf(next)).toBe(200);
  });

  it("is unknown when it got another time while it was looked for", () => {
    const next = new NextDue();
    next.noteAsking();
    next.noteWritten({ ...WRITTEN, leftMs: 500 });
    next.noteLook(LOOK);
    expect(next.at(undefined)).toBeUndefined();
  });

  it("is known after a look that was asked for later", () => {
    const next = looked();
    next.noteWritten({ ...WRITTEN, leftMs: 500 });
    next.noteAsking();
    next.noteLook(LOOK);
    expect(msOf(next)).toBe(500);
  });

  it("is unknown when a claim has ended that somebody in a line may have waited for", () => {
    const next = looked({ hasLines: true });
    next.noteWritten({ ...WRITTEN, hasEnded: true });
    expect(next.at(undefined)).toBeUndefined();
  });
});

describe("the next slot of a PostgreSQL store", () => {
  it("is known although the answer to the write that made it was lost", async () => {
    const { node } = scene();
    const pool = new SteeredPool();
    const store = await node({ pool });
    await store.define([key("a/x")]);
    await store.claimDue(10);
    const isLost = loseNextAnswer(pool);
    await store.update(key("a/x"), { next_run_at: START });
    expect(isLost()).toBe(true);
    expect(await store.nextDueAt()).toEqual(new Date(START));
  });
});
