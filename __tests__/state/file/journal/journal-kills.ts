/** Kills a process that appends to a journal, over and over, and looks each time at what it left behind. */
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { expect } from "vitest";
import type { Random } from "../../../../src/random.js";
import { Child, until } from "../../child.js";
import { temporaryDirectory } from "../../temporary-directory.js";

const MOST = 100;
const STRIDE = 1_000_000;

/** Returns how many decisions were acknowledged in all. */
export async function killJournals(cycles: number, random: Random): Promise<number> {
  using temporary = temporaryDirectory();
  const directory = join(temporary.path, "state", "journal");
  let acknowledged = 0;
  /** What the next process may find at the end: all that was acknowledged, in its order, and a few more. */
  let before: readonly number[] = [];
  let promised: readonly number[] = [];
  for (let cycle = 0; cycle <= cycles; cycle++) {
    await using child = new Child("append-until-killed.js", [directory, String(cycle * STRIDE)]);
    const wanted = Math.floor(random() * 200);
    await until(() => child.lines.length > wanted || child.exitCode !== null);
    await setTimeout(random() * 4);
    await child.kill();
    const [ready = "", ...lines] = child.lines;
    expect(ready).toMatch(/^ready /);
    const found = ready === "ready " ? [] : ready.slice("ready ".length).split(",").map(Number);
    expectWhole(found, before, promised);
    before = found;
    promised = lines.map(Number);
    expect(promised.every(Number.isInteger)).toBe(true);
    acknowledged += promised.length;
  }
  return acknowledged;
}

/** Pairs are whole and in their order; nothing that was acknowledged is missing, as far back as is kept. */
function expectWhole(found: readonly number[], before: readonly number[], promised: readonly number[]): void {
  for (let at = 0; at < found.length; at += 2) expect(found[at + 1]).toBe((found[at] ?? 0) + 1);
  const oldest = promised.length * 2 + before.length > MOST - 10 ? (found[0] ?? 0) : 0;
  const missing = promised.filter((number) => number >= oldest && !found.includes(number));
  expect(missing).toEqual([]);
  // What was known before is there until newer numbers took its place, and nothing is there twice.
  expect(new Set(found).size).toBe(found.length);
  const isFull = found.length === MOST;
  expect(isFull || before.every((number) => found.includes(number))).toBe(true);
}
