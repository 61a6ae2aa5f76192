/** A disk that fails at any single step of a journal: what was refused was not made, and the journal goes on. */
import { existsSync, readFileSync } from "node:fs";
import { isDeepStrictEqual } from "node:util";
import { describe, expect, it } from "vitest";
import type { Disk } from "../../../../src/state/file/disk.js";
import { StateFileError } from "../../../../src/state/errors.js";
import { segmentOf } from "../../../../src/state/file/journal/journal-part.js";
import type { Journal } from "../../../../src/state/file/journal/journal.js";
import { systemError } from "../../watched-disk.js";
import { idsFrom, JournalWorld, type Notes, write, writeAll } from "./journal-world.js";

const CODES = ["ENOSPC", "EIO", "EACCES"];
/** Large enough that each of the writes below begins a segment, which takes along what was sealed. */
const TEXT = "x".repeat(1_000);

interface Subject extends AsyncDisposable {
  readonly world: JournalWorld;
  readonly journal: Journal;
  readonly notes: Notes;
}

/** A journal with three segments, of which the next write seals the last and removes the first. */
async function rotating(): Promise<Subject> {
  const world = new JournalWorld();
  const { journal, notes } = await world.opened({ maxSegmentBytes: 1 });
  notes.needed = 0;
  await write(journal, "n0", TEXT);
  while (world.files.filter((name) => name.endsWith(".jsonl")).length < 3 || !isFull(world))
    await write(journal, `n${notes.notes.size}`, TEXT);
  await journal.prune();
  notes.needed = undefined;
  world.watched.steps.length = 0;
  return { world, journal, notes, [Symbol.asyncDispose]: () => world[Symbol.asyncDispose]() };
}

function isFull(world: JournalWorld): boolean {
  const [snapshot = ""] = world.bytes(3).toString().split("\n");
  return world.bytes(3).length >= 4 * (snapshot.length + 1);
}

/** A journal that goes on in its segment. */
async function plain(): Promise<Subject> {
  const world = new JournalWorld();
  const { journal, notes } = await world.opened();
  await writeAll(journal, ["a", "b"]);
  world.watched.steps.length = 0;
  return { world, journal, notes, [Symbol.asyncDispose]: () => world[Symbol.asyncDispose]() };
}

async function act({ journal }: Subject, id: string): Promise<void> {
  await write(journal, id, TEXT);
  // What a new segment leaves to do ends before this does.
  await journal.prune();
}

async function stepsOf(prepare: () => Promise<Subject>): Promise<[string, number][]> {
  await using subject = await prepare();
  await act(subject, "new");
  return subject.world.watched.steps.map((step, place) => [step, place]);
}

/** Whether a call neither worked nor failed as it should. */
function isNeither(outcome: unknown): boolean {
  return outcome !== undefined && !(outcome instanceof StateFileError);
}

/** Opens the directory a second time, as the next process would. */
async function reopened(world: JournalWorld): Promise<ReadonlyMap<string, string>> {
  const { journal, notes } = await world.opened();
  await journal.close();
  return notes.notes;
}

const plainSteps = await stepsOf(plain);
const rotatingSteps = await stepsOf(rotating);

describe("the steps that these tests make fail", () => {
  it("are those of a write and of a new segment", () => {
    const names = (steps: [string, number][]): string[] => steps.map(([step]) => step);
    expect(names(plainSteps).filter((step) => !/^(?:lstat|readdir)/.test(step))).toEqual([
      "write 1.jsonl",
      "stat 1.jsonl",
      "datasync 1.jsonl",
    ]);
    const wanted = [
      "unlink 4.jsonl.tmp",
      "open 4.jsonl.tmp",
      "write 4.jsonl.tmp",
      "sync 4.jsonl.tmp",
      "utimes 3.jsonl",
      "rename 4.jsonl.tmp",
      "sync journal",
      "write 4.jsonl",
      "datasync 4.jsonl",
    ];
    expect(names(rotatingSteps).filter((step) => wanted.includes(step))).toEqual(wanted);
    for (const step of ["write 3.ids.tmp", "rename 3.ids.tmp", "unlink 1.jsonl", "unlink 2.ids"])
      expect(names(rotatingSteps)).toContain(step);
  });
});

describe.each([
  ["in a segment", plain, plainSteps],
  ["that begins a segment", rotating, rotatingSteps],
] as const)("a decision %s", (_, prepare, steps) => {
  it.each(steps)("of which `%s` (step %i) fails is wholly made or not made at all", async (__, place) => {
    const code = CODES[place % CODES.length] ?? "EIO";
    await using subject = await prepare();
    const { world, journal, notes } = subject;
    const before = new Map(notes.notes);
    let count = 0;
    world.watched.before = () => {
      if (count++ === place) throw systemError(code);
    };
    const outcome = await write(journal, "new", TEXT).catch((error: unknown) => error);
    expect(isNeither(await journal.prune().catch((error: unknown) => error))).toBe(false);
    world.watched.before = () => {};
    expect(isNeither(outcome)).toBe(false);
    const made = outcome === undefined ? [["new", TEXT] as const] : [];
    // What is in memory, what a restart finds, and what a restart finds after the journal went on.
    expect([...notes.notes]).toEqual([...before, ...made]);
    expect(await reopened(world)).toEqual(new Map([...before, ...made]));
    await act(subject, "after");
    await act(subject, "last");
    expect([...notes.notes.keys()]).toEqual([...before.keys(), ...made.map(([id]) => id), "after", "last"]);
    const kept = [...notes.positions].filter(
      ([id, position]) => notes.notes.has(id) && world.files.includes(`${segmentOf(position)}.jsonl`),
    );
    for (const [id, position] of kept) expect(await journal.findId("notes", id)).toBe(position);
    expect(await reopened(world)).toEqual(notes.notes);
    expect(world.warnings.filter((warning) => /Damage|deleted/.test(warning))).toEqual([]);
  });

  it.each(steps)(
    "is refused while the disk fails from `%s` (step %i) on, and made again when it works",
    async (__, place) => {
      await using subject = await prepare();
      const { world, journal, notes } = subject;
      const before = new Map(notes.notes);
      let count = 0;
      world.watched.before = () => {
        if (count++ >= place) throw systemError("EIO");
      };
      const outcomes: unknown[] = [];
      for (const id of ["one", "two"])
        outcomes.push(await write(journal, id, TEXT).catch((error: unknown) => error));
      await journal.prune().catch(() => {});
      const made = ["one", "two"].filter((___, at) => outcomes[at] === undefined);
      expect(outcomes.filter(isNeither)).toEqual([]);
      world.watched.before = () => {};
      await act(subject, "after");
      expect([...notes.notes.keys()]).toEqual([...before.keys(), ...made, "after"]);
      expect(await reopened(world)).toEqual(notes.notes);
      expect(world.warnings.filter((warning) => /Damage|deleted/.test(warning))).toEqual([]);
    },
  );
});

describe("a write that fails", () => {
  it.each([0, 1, 40])("of which %i bytes arrive is cut off before the next", async (taken) => {
    await using subject = await plain();
    const { world, journal, notes } = subject;
    const before = world.bytes(1);
    world.watched.bytesTaken = () => taken;
    await expect(write(journal, "c")).rejects.toThrow(`only ${taken} of `);
    world.watched.bytesTaken = (_, length) => length;
    expect(world.bytes(1)).toEqual(before);
    await write(journal, "d");
    expect([...notes.notes.keys()]).toEqual(["a", "b", "d"]);
    expect(await reopened(world)).toEqual(notes.notes);
  });

  it("and reaches the disk all the same is cut off before a different decision is made", async () => {
    await using subject = await plain();
    const { world, journal, notes } = subject;
    world.watched.before = (step) => {
      if (/^(?:datasync|truncate)/.test(step)) throw systemError("EIO");
    };
    await expect(write(journal, "c", "first")).rejects.toThrow("EIO");
    // It is on the disk, and cannot be cut off: nothing may be added.
    expect(world.bytes(1).toString()).toContain("first");
    await expect(write(journal, "c", "second")).rejects.toThrow("EIO");
    world.watched.before = () => {};
    await write(journal, "c", "third");
    expect(world.bytes(1).toString()).not.toContain("first");
    expect(notes.notes.get("c")).toBe("third");
    expect(await reopened(world)).toEqual(notes.notes);
  });

  it("takes down the decisions of its write, and no later one", async () => {
    await using subject = await plain();
    const { world, journal, notes } = subject;
    const later: Promise<void>[] = [];
    world.watched.before = (step) => {
      if (!step.startsWith("datasync")) return;
      world.watched.before = () => {};
      later.push(write(journal, "later"));
      throw systemError("ENOSPC");
    };
    const outcomes = await Promise.allSettled(idsFrom(1, 3).map((id) => write(journal, id)));
    expect(outcomes.map(({ status }) => status)).toEqual(["rejected", "rejected", "rejected"]);
    await Promise.all(later);
    expect([...notes.notes.keys()]).toEqual(["a", "b", "later"]);
  });

  it("because the directory has a new owner leaves the files alone", async () => {
    await using subject = await plain();
    const { world, journal } = subject;
    let checks = 0;
    world.checkOwner = async () => {
      checks++;
      if (checks > 1) throw new Error("taken over");
    };
    await expect(write(journal, "c")).rejects.toThrow("taken over");
    const left = readFileSync(world.path(1));
    await expect(write(journal, "d")).rejects.toThrow("taken over");
    expect(readFileSync(world.path(1))).toEqual(left);
    expect(world.watched.count(/^truncate/)).toBe(0);
  });

  it("because the directory had a new owner before has not touched the file", async () => {
    await using subject = await plain();
    const { world, journal } = subject;
    const before = world.bytes(1);
    world.checkOwner = async () => {
      throw new Error("taken over");
    };
    await expect(write(journal, "c")).rejects.toThrow("taken over");
    expect(world.bytes(1)).toEqual(before);
    expect(world.watched.count(/^(?:write|truncate)/)).toBe(0);
  });

  it("at a rename that has worked all the same goes on in the new segment", async () => {
    await using world = new JournalWorld();
    let isFailing = false;
    const disk = new Proxy(world.watched.disk, {
      get: (target, name: keyof Disk) => {
        if (name !== "rename" || !isFailing) return target[name];
        return async (from: string, to: string) => {
          await target.rename(from, to);
          throw systemError("EIO");
        };
      },
    });
    const { journal, notes } = await world.opened({ disk, maxSegmentBytes: 1_000 });
    await writeAll(journal, ["a", "b"]);
    isFailing = true;
    for (let number = 1; !world.files.includes("2.jsonl"); number++)
      await write(journal, `n${number}`).catch(() => {});
    isFailing = false;
    await write(journal, "after");
    expect([...notes.notes.keys()]).toContain("after");
    expect(await reopened(world)).toEqual(notes.notes);
    for (const [id, position] of notes.positions)
      expect([position, undefined]).toContain(await journal.findId("notes", id));
    expect(world.warnings.filter((warning) => /Damage|deleted/.test(warning))).toEqual([]);
  });

  it("for want of space to begin a segment goes on in the segment that is open", async () => {
    await using subject = await rotating();
    const { world, journal, notes } = subject;
    world.watched.before = (step) => {
      if (step.endsWith(".jsonl.tmp")) throw systemError("ENOSPC");
    };
    await write(journal, "new");
    expect(existsSync(world.path(4))).toBe(false);
    expect(world.warnings).toEqual([expect.stringContaining("Could not begin a new segment")]);
    world.watched.before = () => {};
    expect(await reopened(world)).toEqual(notes.notes);
  });
});

describe("opening a journal", () => {
  it("fails where the disk does, and works when the disk does", async () => {
    await using subject = await rotating();
    const { world, journal, notes } = subject;
    await journal.close();
    world.watched.steps.length = 0;
    const probe = await world.opened();
    const count = world.watched.steps.length;
    await probe.journal.close();
    for (let place = 0; place < count; place++) {
      let at = 0;
      world.watched.before = () => {
        if (at++ === place) throw systemError("EIO");
      };
      const { journal: next, notes: read } = world.journal();
      const error = await next.open().catch((failure: unknown) => failure);
      world.watched.before = () => {};
      expect(isNeither(error)).toBe(false);
      expect(error !== undefined || isDeepStrictEqual(read.notes, notes.notes)).toBe(true);
      await next.close();
    }
    expect(await reopened(world)).toEqual(notes.notes);
    expect(world.warnings).toEqual([]);
  });
});
