/** The journal as its owner uses it: what is written, found, read again, sealed and removed. */
import { existsSync, readFileSync, renameSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { segmentOf } from "../../../../src/state/file/journal/journal-part.js";
import { idsFrom, JournalWorld, type Note, Notes, write, writeAll } from "./journal-world.js";

describe("a journal", () => {
  it("has the same state again after it was opened again", async () => {
    await using world = new JournalWorld();
    const { journal, notes } = await world.opened();
    await writeAll(journal, idsFrom(1, 20));
    await write(journal, "n3", "changed");
    await journal.close();
    const again = await world.opened();
    expect([...again.notes.notes]).toEqual([...notes.notes]);
    expect(again.notes.notes.get("n3")).toBe("changed");
    expect(world.warnings).toEqual([]);
  });

  it("leaves no trace before the first decision", async () => {
    await using world = new JournalWorld();
    const { journal } = await world.opened();
    expect(existsSync(world.directory)).toBe(false);
    await write(journal, "a");
    expect(world.files).toEqual(["1.jsonl"]);
  });

  it("is private", async () => {
    await using world = new JournalWorld();
    const { journal, notes } = await world.opened({ maxSegmentBytes: 1 });
    notes.needed = 0;
    await writeAll(journal, idsFrom(1, 10));
    await journal.prune();
    expect(statSync(world.directory).mode & 0o777).toBe(0o700);
    for (const name of world.files) expect(statSync(join(world.directory, name)).mode & 0o777).toBe(0o600);
    expect(world.files).toContain("1.ids");
  });

  it("syncs once for all decisions that wait", async () => {
    await using world = new JournalWorld();
    const { journal } = await world.opened();
    await write(journal, "a");
    world.watched.steps.length = 0;
    await Promise.all(idsFrom(1, 1_000).map((id) => write(journal, id)));
    expect(world.watched.count(/^write /)).toBe(1);
    expect(world.watched.count(/^datasync /)).toBe(1);
  });

  it("decides in turn, each decision with those before it in the state", async () => {
    await using world = new JournalWorld();
    const { journal, notes } = await world.opened();
    const sizes: number[] = [];
    const deciding = idsFrom(1, 5).map((id) =>
      journal.append({
        decide: () => {
          sizes.push(notes.notes.size);
          return [{ part: "notes", data: { id, text: "" } }];
        },
      }),
    );
    await Promise.all(deciding);
    expect(sizes).toEqual([0, 1, 2, 3, 4]);
  });

  it("keeps a decision of several records in one line", async () => {
    await using world = new JournalWorld();
    const { journal } = await world.opened();
    const data = ["a", "b"].map((id): Note => ({ id, text: id }));
    await journal.append({ decide: () => data.map((note) => ({ part: "notes", data: note })) });
    expect(world.bytes(1).toString().split("\n")).toEqual([
      expect.stringMatching(/^\{"crc":"[0-9a-f]{8}","n":0,"snapshot":\{"notes":\[\]\}\}$/),
      expect.stringMatching(
        /^\{"crc":"[0-9a-f]{8}","n":1,"records":\[\["notes",\{"id":"a","text":"a"\}\],\["notes",\{"id":"b","text":"b"\}\]\]\}$/,
      ),
      "",
    ]);
  });

  it("refuses a decision that throws or cannot be written, and no other decision of the write", async () => {
    await using world = new JournalWorld();
    const { journal, notes } = await world.opened();
    const thrown = journal.append({
      decide: () => {
        throw new Error("decided against");
      },
    });
    const unknown = journal.append({ decide: () => [{ part: "other", data: 1 }] });
    const unwritable = journal.append({ decide: () => [{ part: "notes", data: { id: 1n } }] });
    const fine = write(journal, "a");
    await expect(thrown).rejects.toThrow("decided against");
    await expect(unknown).rejects.toThrow('no part named "other"');
    await expect(unwritable).rejects.toThrow("BigInt");
    await fine;
    expect([...notes.notes.keys()]).toEqual(["a"]);
  });

  it("takes a write back whose record a part refuses", async () => {
    await using world = new JournalWorld();
    const { journal, notes } = await world.opened();
    await write(journal, "a");
    const together = [write(journal, "b"), write(journal, "c", "refused by apply")];
    const outcomes = await Promise.allSettled(together);
    expect(outcomes.map(({ status }) => status)).toEqual(["rejected", "rejected"]);
    expect([...notes.notes.keys()]).toEqual(["a"]);
    await write(journal, "b");
    await journal.close();
    expect([...(await world.opened()).notes.notes.keys()]).toEqual(["a", "b"]);
    expect(world.warnings).toEqual([]);
  });

  it("answers a decision that writes nothing when what it saw is durable", async () => {
    await using world = new JournalWorld();
    const { journal, notes } = await world.opened();
    await write(journal, "a");
    const order: string[] = [];
    world.watched.before = (step) => {
      if (step.startsWith("datasync")) order.push("durable");
    };
    const first = write(journal, "b");
    let saw: boolean | undefined;
    await journal.append({
      decide: () => {
        saw = notes.notes.has("b");
        return [];
      },
    });
    order.push("answered");
    await first;
    expect(saw).toBe(true);
    expect(order).toEqual(["durable", "answered"]);
  });

  it("writes a batch larger than a piece with one sync", async () => {
    await using world = new JournalWorld();
    const { journal, notes } = await world.opened();
    await write(journal, "a");
    world.watched.steps.length = 0;
    const text = "x".repeat(1_500_000);
    await Promise.all(idsFrom(1, 7).map((id) => write(journal, id, text)));
    expect(world.watched.count(/^write /)).toBe(3);
    expect(world.watched.count(/^datasync /)).toBe(1);
    for (const [id, position] of notes.positions)
      expect((await journal.readAt(position))?.records).toMatchObject([{ data: { id } }]);
  });

  it("is closed to decisions before it is opened and after it is closed", async () => {
    await using world = new JournalWorld();
    const { journal } = world.journal();
    await expect(write(journal, "a")).rejects.toMatchObject({ code: "STATE_CLOSED" });
    await journal.open();
    const last = write(journal, "b");
    await journal.close();
    await last;
    await expect(write(journal, "c")).rejects.toMatchObject({ code: "STATE_CLOSED" });
  });

  it("refuses to open over records of a part that it does not know", async () => {
    await using world = new JournalWorld();
    const later = new Notes();
    const { journal } = await world.opened({ parts: { notes: new Notes(), later } });
    await journal.append({ decide: () => [{ part: "later", data: { id: "a", text: "a" } }] });
    await journal.close();
    const older = world.journal();
    await expect(older.journal.open()).rejects.toMatchObject({
      code: "INVALID_STATE",
      message: expect.stringContaining('the part "later"'),
    });
    expect((await world.opened({ parts: { notes: new Notes(), later } })).notes.notes.size).toBe(0);
  });

  it("refuses a directory that is a link to elsewhere", async () => {
    await using world = new JournalWorld();
    const { journal } = await world.opened();
    await write(journal, "a");
    await journal.close();
    renameSync(world.directory, `${world.directory}-moved`);
    symlinkSync(`${world.directory}-moved`, world.directory);
    await expect(world.journal().journal.open()).rejects.toThrow("it is a symbolic link");
  });
});

describe("segments", () => {
  it("begin with the whole state, so that the last one is enough", async () => {
    await using world = new JournalWorld();
    const { journal, notes } = await world.opened({ maxSegmentBytes: 1_000 });
    await writeAll(journal, idsFrom(1, 100));
    await journal.close();
    const last = world.files.filter((name) => name.endsWith(".jsonl")).length;
    expect(last).toBe(2);
    world.watched.steps.length = 0;
    const again = await world.opened();
    expect([...again.notes.notes]).toEqual([...notes.notes]);
    expect(world.warnings).toEqual([]);
  });

  it("stay while a part needs them, and the last two in any case", async () => {
    await using world = new JournalWorld();
    const { journal, notes } = await world.opened({ maxSegmentBytes: 1 });
    notes.needed = 0;
    await writeAll(journal, idsFrom(1, 20));
    await journal.prune();
    const segments = (): string[] => world.files.filter((name) => name.endsWith(".jsonl"));
    const all = segments().length;
    expect(all).toBeGreaterThan(3);
    const position = notes.positions.get("n1") ?? 0;
    expect((await journal.readAt(position))?.records).toMatchObject([{ data: { id: "n1" } }]);
    notes.needed = notes.positions.get("n10");
    await journal.prune();
    expect(segments()[0]).toBeDefined();
    expect(existsSync(world.path(segmentOf(notes.needed ?? 0)))).toBe(true);
    expect(existsSync(world.path(segmentOf(notes.needed ?? 0) - 1))).toBe(false);
    expect(await journal.readAt(position)).toBeUndefined();
    expect(await journal.findId("notes", "n1")).toBeUndefined();
    notes.needed = undefined;
    await journal.prune();
    expect(segments()).toHaveLength(2);
    expect(world.files).toHaveLength(3);
  });

  it("grow with their snapshot, so that a large state is not written for each decision", async () => {
    await using world = new JournalWorld();
    const { journal, notes } = await world.opened({ maxSegmentBytes: 1 });
    notes.needed = 0;
    await write(journal, "large", "x".repeat(10_000));
    await writeAll(journal, idsFrom(1, 100));
    expect(world.files.filter((name) => name.endsWith(".jsonl")).length).toBeLessThan(5);
  });

  it("are begun by a process that takes over, since the one before may write once more", async () => {
    await using world = new JournalWorld();
    const stopped = await world.opened();
    await write(stopped.journal, "a");
    const next = world.journal();
    await next.journal.open(true);
    await write(next.journal, "b");
    world.checkOwner = async () => {
      throw new Error("taken over");
    };
    await expect(write(stopped.journal, "late")).rejects.toThrow("taken over");
    world.checkOwner = async () => {};
    await next.journal.close();
    expect(world.files).toEqual(["1.ids", "1.jsonl", "2.jsonl"]);
    expect([...(await world.opened()).notes.notes.keys()]).toEqual(["a", "b"]);
  });

  it("that were deleted while in use are written again from memory", async () => {
    await using world = new JournalWorld();
    const { journal, notes } = await world.opened();
    await writeAll(journal, ["a", "b"]);
    rmSync(world.directory, { recursive: true });
    await write(journal, "c");
    expect(world.warnings).toEqual([expect.stringContaining("was deleted or changed")]);
    await journal.close();
    expect([...(await world.opened()).notes.notes]).toEqual([...notes.notes]);
  });

  it("leave nothing half made behind: what a killed process left is removed", async () => {
    await using world = new JournalWorld();
    const { journal } = await world.opened();
    await write(journal, "a");
    await journal.close();
    for (const name of ["2.jsonl.tmp", "1.ids.tmp", "7.ids", "notes.txt"])
      writeFileSync(join(world.directory, name), "left");
    await world.opened();
    expect(world.files).toEqual(["1.jsonl", "notes.txt"]);
  });
});

describe("an id", () => {
  it("is found in the open segment and in sealed ones, where it was written last", async () => {
    await using world = new JournalWorld();
    const first = await world.opened({ maxSegmentBytes: 1_000 });
    first.notes.needed = 0;
    await writeAll(first.journal, idsFrom(1, 100));
    await write(first.journal, "n5", "again");
    for (const [id, position] of first.notes.positions)
      expect(await first.journal.findId("notes", id)).toBe(position);
    expect(await first.journal.findId("notes", "n101")).toBeUndefined();
    expect(await first.journal.findId("other", "n1")).toBeUndefined();
    await first.journal.close();
    const again = await world.opened();
    for (const [id, position] of first.notes.positions)
      expect(await again.journal.findId("notes", id)).toBe(position);
  });

  it.each(["missing", "damaged", "cut short", "empty"])(
    "is found where the index is %s, which is made again",
    async (what) => {
      await using world = new JournalWorld();
      const { journal, notes } = await world.opened({ maxSegmentBytes: 1_000 });
      notes.needed = 0;
      await writeAll(journal, idsFrom(1, 30));
      await journal.close();
      const path = join(world.directory, "1.ids");
      const index = readFileSync(path);
      const damaged = Buffer.from(index);
      damaged[20] = (damaged[20] ?? 0) ^ 1;
      if (what === "missing") rmSync(path);
      else if (what === "damaged") writeFileSync(path, damaged);
      else writeFileSync(path, index.subarray(0, what === "empty" ? 0 : -12));
      const again = await world.opened();
      expect(await again.journal.findId("notes", "n1")).toBe(notes.positions.get("n1"));
      expect(readFileSync(path)).toEqual(index);
    },
  );

  it("is looked for at the moment of the decision, also in a segment sealed just before", async () => {
    await using world = new JournalWorld();
    const { journal, notes } = await world.opened({ maxSegmentBytes: 300 });
    notes.needed = 0;
    const outcomes = new Map<string, boolean[]>();
    /** Writes it unless it is there. */
    const writeOnce = (id: string): Promise<void> =>
      journal.append({
        ids: [{ part: "notes", id }],
        decide: (find) => {
          const isNew = find("notes", id) === undefined;
          outcomes.set(id, [...(outcomes.get(id) ?? []), isNew]);
          return isNew ? [{ part: "notes", data: { id, text: id } }] : [];
        },
      });
    for (let round = 0; round < 3; round++)
      for (const id of idsFrom(1, 40)) await Promise.all([writeOnce(id), writeOnce(id)]);
    for (const isNew of outcomes.values()) expect(isNew).toEqual([true, false, false, false, false, false]);
    expect(world.files.filter((name) => name.endsWith(".ids")).length).toBeGreaterThan(3);
  });

  it("that a decision did not name cannot be looked for", async () => {
    await using world = new JournalWorld();
    const { journal } = await world.opened();
    const deciding = journal.append({
      ids: [{ part: "notes", id: "a" }],
      decide: (find) => (find("notes", "b") === undefined ? [] : []),
    });
    await expect(deciding).rejects.toThrow('did not name the id "b"');
  });
});

describe("reading again", () => {
  it("gives the decisions of all segments in both directions, and between two positions", async () => {
    await using world = new JournalWorld();
    const { journal, notes } = await world.opened({ maxSegmentBytes: 700 });
    notes.needed = 0;
    const ids = idsFrom(1, 60);
    await writeAll(journal, ids);
    const read = async (options: Parameters<typeof journal.scan>[0]): Promise<string[]> => {
      const found: string[] = [];
      for await (const { records, position } of journal.scan(options))
        for (const { data } of records) {
          expect(position).toBe(notes.positions.get((data as Note).id));
          found.push((data as Note).id);
        }
      return found;
    };
    expect(await read({})).toEqual(ids);
    expect(await read({ newestFirst: true })).toEqual(ids.toReversed());
    const [from, before] = [notes.positions.get("n11"), notes.positions.get("n51")];
    expect(await read({ from, before })).toEqual(ids.slice(10, 50));
    expect(await read({ from, before, newestFirst: true })).toEqual(ids.slice(10, 50).toReversed());
  });

  it("reads a large segment piece by piece in both directions", async () => {
    await using world = new JournalWorld();
    const { journal } = await world.opened();
    const text = "y".repeat(300_000);
    const ids = idsFrom(1, 11);
    await Promise.all(ids.map((id) => write(journal, id, text)));
    for (const newestFirst of [false, true]) {
      const found: string[] = [];
      for await (const { records } of journal.scan({ newestFirst }))
        found.push(...records.map(({ data }) => (data as Note).id));
      expect(found).toEqual(newestFirst ? ids.toReversed() : ids);
    }
  });

  it("may end early, and leaves no file open", async () => {
    await using world = new JournalWorld();
    const { journal } = await world.opened({ maxSegmentBytes: 300 });
    await writeAll(journal, idsFrom(1, 30));
    for await (const { records } of journal.scan({ newestFirst: true })) {
      expect(records).toMatchObject([{ data: { id: "n30" } }]);
      break;
    }
    await journal.close();
    await expect.poll(() => world.watched.open).toBe(0);
  });

  it("waits for a line that is being written", async () => {
    await using world = new JournalWorld();
    const { journal, notes } = await world.opened();
    await write(journal, "a");
    let reading: ReturnType<typeof journal.readAt> | undefined;
    world.watched.before = (step) => {
      if (step.startsWith("write ")) reading ??= journal.readAt(notes.positions.get("b") ?? 0);
    };
    await write(journal, "b");
    expect(await reading).toMatchObject({ records: [{ data: { id: "b" } }] });
  });
});
