/** Damage in the files of a journal: what it costs, and that it is reported and kept. */
import { mkdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { seededRandom } from "../../../../src/random.js";
import { crc32 } from "../../../../src/state/file/journal/crc32.js";
import { findLines } from "../../../../src/state/file/journal/journal-line.js";
import type { Journal } from "../../../../src/state/file/journal/journal.js";
import { idsFrom, JournalWorld, type Note, type Notes, write, writeAll } from "./journal-world.js";

const LINES = 1_000;
const FEW = 50;

/** A directory with one segment of so many decisions; returns its bytes. */
async function filled(world: JournalWorld, count: number): Promise<Buffer> {
  const { journal } = await world.opened();
  await Promise.all(idsFrom(1, count).map((id) => write(journal, id)));
  await journal.close();
  return world.bytes(1);
}

/** Where the lines begin, the snapshot's first. */
function starts(bytes: Buffer): number[] {
  return [...findLines(bytes)].map(({ start }) => start);
}

async function reopened(world: JournalWorld): Promise<{ journal: Journal; notes: Notes; lost: string[] }> {
  const { journal, notes } = await world.opened();
  const lost = idsFrom(1, FEW).filter((id) => !notes.notes.has(id));
  return { journal, notes, lost };
}

/** Puts this file alone into the directory. */
function replaceBy(world: JournalWorld, bytes: Buffer): void {
  rmSync(world.directory, { recursive: true });
  mkdirSync(world.directory, { mode: 0o700 });
  writeFileSync(world.path(1), bytes, { mode: 0o600 });
}

describe("crc32", () => {
  it("is that of zlib", () => {
    expect(crc32(Buffer.from("123456789"))).toBe(0xcbf43926);
    expect(crc32(Buffer.from("x123456789y"), 1, 10)).toBe(0xcbf43926);
    expect(crc32(Buffer.alloc(0))).toBe(0);
  });
});

describe("one flipped bit in a line", () => {
  it("costs that line at most, in each of 1,000 lines in turn, and is reported", async () => {
    await using world = new JournalWorld();
    const whole = await filled(world, LINES);
    const [, ...lines] = starts(whole);
    expect(lines).toHaveLength(LINES);
    const random = seededRandom(21);
    const outcomes = { lost: 0, none: 0 };
    for (const [at, start] of lines.entries()) {
      const end = lines[at + 1] ?? whole.length;
      // Each place in a line, its newline among them. Lines far away are as they were.
      const first = Math.max(0, at - 10);
      const bytes = Buffer.from(whole.subarray(lines[first], lines[at + 10]));
      const place = start + Math.floor(random() * (end - start)) - (lines[first] ?? 0);
      bytes[place] = (bytes[place] ?? 0) ^ (1 << Math.floor(random() * 8));
      const read = [...findLines(bytes)].flatMap(({ line }) => line?.records ?? []);
      const ids = new Set(read.map(({ data }) => (data as Note).id));
      const missing = idsFrom(first + 1, Math.min(at + 10, LINES)).filter((id) => !ids.has(id));
      expect(missing.length === 0 || missing.join() === `n${at + 1}`).toBe(true);
      outcomes[missing.length === 0 ? "none" : "lost"]++;
    }
    expect(outcomes.lost).toBeGreaterThan(900);
  });

  it.each([0, 1, 8, 16, 17, 18, 30, -2, -1])(
    "at byte %i of a line costs that decision at most; the file is kept, and nothing follows in it",
    async (byte) => {
      await using world = new JournalWorld();
      const whole = await filled(world, FEW);
      for (const line of [1, 20, FEW]) {
        world.warnings.length = 0;
        const all = [...starts(whole), whole.length];
        const bytes = Buffer.from(whole);
        const place = byte < 0 ? (all[line + 1] ?? 0) + byte : (all[line] ?? 0) + byte;
        bytes[place] = (bytes[place] ?? 0) ^ 0x08;
        replaceBy(world, bytes);
        const { journal, lost } = await reopened(world);
        expect(lost.length === 0 || lost.join() === `n${line}`).toBe(true);
        expect(world.warnings).toEqual([
          expect.stringMatching(
            new RegExp(String.raw`^Damage in .*/1\.jsonl: (?:the end of )?line ${line + 1} .*kept`),
          ),
        ]);
        await write(journal, "after");
        await journal.close();
        expect(world.bytes(1)).toEqual(bytes);
        expect(world.files).toContainEqual(expect.stringMatching(/^1\.jsonl\.corrupt-2/));
        // It is not reported again.
        const again = await reopened(world);
        expect(again.lost).toEqual(lost);
        expect(again.notes.notes.has("after")).toBe(true);
        await again.journal.close();
        expect(world.warnings).toHaveLength(1);
      }
    },
  );

  it("that makes two lines of one costs one decision", async () => {
    await using world = new JournalWorld();
    const whole = await filled(world, 10);
    const bytes = Buffer.from(whole);
    bytes[(starts(whole)[5] ?? 0) + 20] = 10;
    replaceBy(world, bytes);
    const { notes } = await world.opened();
    expect([...notes.notes.keys()]).toEqual(idsFrom(1, 10).filter((id) => id !== "n5"));
    expect(world.warnings).toEqual([
      expect.stringContaining("line 6 cannot be read, and 1 decision is lost"),
    ]);
  });
});

describe("a journal", () => {
  it("cut at any byte of its last line loses that decision, which was not acknowledged, and goes on", async () => {
    await using world = new JournalWorld();
    const whole = await filled(world, 5);
    const last = starts(whole).at(-1) ?? 0;
    for (let length = last; length < whole.length; length += length < whole.length - 4 ? 5 : 1) {
      replaceBy(world, whole.subarray(0, length));
      const { journal, notes } = await world.opened();
      expect([...notes.notes.keys()]).toEqual(idsFrom(1, 4));
      expect(world.bytes(1)).toEqual(whole.subarray(0, last));
      await write(journal, "after");
      await journal.close();
      const again = await world.opened();
      expect([...again.notes.notes.keys()]).toEqual([...idsFrom(1, 4), "after"]);
      await again.journal.close();
    }
    expect(world.warnings).toEqual([]);
  });

  it("without a line in its middle says so", async () => {
    await using world = new JournalWorld();
    const whole = await filled(world, 10);
    const all = starts(whole);
    replaceBy(world, Buffer.concat([whole.subarray(0, all[3]), whole.subarray(all[5])]));
    const { notes } = await world.opened();
    expect(notes.notes.size).toBe(8);
    expect(world.warnings).toEqual([expect.stringContaining("before line 4, 2 decisions are missing")]);
  });

  it("with a line twice applies it once, and says so", async () => {
    await using world = new JournalWorld();
    const whole = await filled(world, 10);
    const all = starts(whole);
    replaceBy(world, Buffer.concat([whole.subarray(0, all[6]), whole.subarray(all[4])]));
    const { notes } = await world.opened();
    expect([...notes.notes.keys()]).toEqual(idsFrom(1, 10));
    expect(world.warnings.join()).toContain("line 7 repeats decision 4 and is left out");
  });

  it("with zeros in its middle, as after a power failure, loses what was there only", async () => {
    await using world = new JournalWorld();
    const whole = await filled(world, 100);
    const all = starts(whole);
    const bytes = Buffer.from(whole);
    bytes.fill(0, (all[40] ?? 0) + 10, (all[44] ?? 0) + 10);
    replaceBy(world, bytes);
    const { notes } = await world.opened();
    expect(idsFrom(1, 100).filter((id) => !notes.notes.has(id))).toEqual(idsFrom(40, 44));
    expect(world.warnings).toEqual([
      expect.stringContaining("line 41 cannot be read, and 5 decisions are lost"),
    ]);
  });

  it("with a torn line behind a damaged one keeps both", async () => {
    await using world = new JournalWorld();
    const whole = await filled(world, 10);
    const all = starts(whole);
    const bytes = Buffer.from(whole.subarray(0, -5));
    bytes[(all[10] ?? 0) - 1] = 0;
    replaceBy(world, bytes);
    const { journal, notes } = await world.opened();
    expect(notes.notes.size).toBeGreaterThanOrEqual(8);
    await write(journal, "after");
    expect(world.bytes(1)).toEqual(bytes);
    expect(world.warnings.join()).toContain("line 10");
  });

  it("shows 20 damages at most", async () => {
    await using world = new JournalWorld();
    const whole = await filled(world, 100);
    const bytes = Buffer.from(whole);
    for (const [line, start] of starts(whole).entries()) if (line % 2 === 1) bytes[start + 40] = 0;
    replaceBy(world, bytes);
    const { notes } = await world.opened();
    expect(notes.notes.size).toBe(50);
    expect(world.warnings).toHaveLength(21);
    expect(world.warnings.at(-1)).toContain("30 more places");
  });
});

describe("a damaged snapshot", () => {
  it.each(["flipped", "empty", "torn"])("(%s) is made again from the segment before", async (what) => {
    await using world = new JournalWorld();
    const { journal, notes } = await world.opened({ maxSegmentBytes: 600 });
    await writeAll(journal, idsFrom(1, 52));
    await journal.close();
    const last = Number.parseInt(world.files.findLast((name) => name.endsWith(".jsonl")) ?? "", 10);
    expect(last).toBeGreaterThan(1);
    const whole = world.bytes(last);
    const snapshotEnd = whole.indexOf("\n") + 1;
    const before = new Map(notes.notes);
    if (what === "flipped") {
      const bytes = Buffer.from(whole);
      bytes[30] = (bytes[30] ?? 0) ^ 1;
      writeFileSync(world.path(last), bytes);
    } else {
      // What follows is gone too.
      for (const line of [...findLines(whole)].slice(1))
        for (const { data } of line.line?.records ?? []) before.delete((data as Note).id);
      truncateSync(world.path(last), what === "empty" ? 0 : snapshotEnd - 5);
    }
    const again = await world.opened();
    expect(again.notes.notes).toEqual(before);
    expect(world.warnings).toEqual([
      expect.stringContaining(`/${last}.jsonl: the snapshot in line 1 cannot`),
    ]);
    await write(again.journal, "after");
    await again.journal.close();
    const third = await world.opened();
    expect(third.notes.notes).toEqual(new Map([...before, ["after", "after"]]));
    expect(world.warnings).toHaveLength(1);
  });

  it("of the only segment costs nothing, as that began with nothing", async () => {
    await using world = new JournalWorld();
    const bytes = await filled(world, 10);
    bytes[25] = (bytes[25] ?? 0) ^ 1;
    replaceBy(world, bytes);
    const { notes } = await world.opened();
    expect([...notes.notes.keys()]).toEqual(idsFrom(1, 10));
  });
});

describe("damage in a sealed segment", () => {
  it("is reported when it is read, once, and costs that decision", async () => {
    await using world = new JournalWorld();
    const { journal, notes } = await world.opened({ maxSegmentBytes: 600 });
    notes.needed = 0;
    await writeAll(journal, idsFrom(1, 40));
    const bytes = world.bytes(1);
    const place = (starts(bytes)[2] ?? 0) + 40;
    bytes[place] = (bytes[place] ?? 0) ^ 1;
    writeFileSync(join(world.directory, "1.jsonl"), bytes);
    for (const newestFirst of [false, true, false]) {
      const ids: string[] = [];
      for await (const { records } of journal.scan({ newestFirst }))
        ids.push(...records.map(({ data }) => (data as Note).id));
      const expected = idsFrom(1, 40).filter((id) => id !== "n2");
      expect(ids).toEqual(newestFirst ? expected.toReversed() : expected);
    }
    expect(await journal.readAt(notes.positions.get("n2") ?? 0)).toBeUndefined();
    expect(await journal.findId("notes", "n2")).toBeUndefined();
    expect(world.warnings).toEqual([expect.stringMatching(/Damage in .*\/1\.jsonl: the line at byte \d+/)]);
    expect(readFileSync(world.path(1))).toEqual(bytes);
  });
});
