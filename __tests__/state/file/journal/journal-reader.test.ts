/** The journal as a second process reads it while its owner writes. */
import { rmSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { seededRandom } from "../../../../src/random.js";
import { systemError } from "../../watched-disk.js";
import { idsFrom, JournalWorld, type Note, write, writeAll } from "./journal-world.js";

describe("a journal reader", () => {
  it("knows what the owner wrote, when it asks", async () => {
    await using world = new JournalWorld();
    const owner = await world.opened();
    const { reader, notes } = world.reader();
    await reader.refresh();
    expect(notes.notes.size).toBe(0);
    for (const id of idsFrom(1, 10)) {
      await write(owner.journal, id);
      await reader.refresh();
      expect(notes.notes).toEqual(owner.notes.notes);
    }
    expect(world.warnings).toEqual([]);
  });

  it("asks for one stat while nothing changes", async () => {
    await using world = new JournalWorld();
    const owner = await world.opened({ maxSegmentBytes: 500 });
    await writeAll(owner.journal, idsFrom(1, 30));
    const { reader } = world.reader();
    await reader.refresh();
    await reader.refresh();
    world.watched.steps.length = 0;
    for (let count = 0; count < 3; count++) await reader.refresh();
    expect(world.watched.steps).toEqual(
      Array.from({ length: 3 }, () => expect.stringMatching(/^stat \d+\.jsonl$/)),
    );
  });

  it("reads only what was added, and moves on with the owner from segment to segment", async () => {
    await using world = new JournalWorld();
    const owner = await world.opened({ maxSegmentBytes: 2_000 });
    await write(owner.journal, "first");
    const { reader, notes } = world.reader();
    await reader.refresh();
    let loads = 0;
    notes.load = () => loads++;
    for (const id of idsFrom(1, 200)) {
      await write(owner.journal, id);
      await reader.refresh();
    }
    expect(world.files.at(-1)).not.toBe("1.jsonl");
    expect(notes.notes).toEqual(owner.notes.notes);
    expect(loads).toBe(0);
    expect(statSync(world.path(Number.parseInt(world.files[0] ?? "", 10))).mtimeMs).toBe(0);
  });

  it("catches up with an owner who began several segments and removed old ones", async () => {
    await using world = new JournalWorld();
    const owner = await world.opened({ maxSegmentBytes: 500 });
    const { reader, notes } = world.reader();
    const random = seededRandom(3);
    for (let round = 0; round < 40; round++) {
      const count = Math.floor(random() * 30);
      await writeAll(
        owner.journal,
        Array.from({ length: count }, (_, at) => `r${round % 7}-${at}`),
      );
      if (random() < 0.5) await owner.journal.prune();
      await reader.refresh();
      expect(notes.notes).toEqual(owner.notes.notes);
    }
    expect(world.warnings).toEqual([]);
  });

  it("forgets a line that the owner cut off again", async () => {
    await using world = new JournalWorld();
    const owner = await world.opened();
    await writeAll(owner.journal, ["a", "b"]);
    const { reader, notes } = world.reader();
    let seen: Promise<void> | undefined;
    world.watched.before = async (step) => {
      if (step !== "datasync 1.jsonl") return;
      world.watched.before = () => {};
      seen = reader.refresh();
      await seen;
      throw systemError("EIO");
    };
    await expect(write(owner.journal, "refused")).rejects.toThrow("EIO");
    await seen;
    expect([...notes.notes.keys()]).toEqual(["a", "b", "refused"]);
    // As long as the one before, so that what follows fits behind either.
    await writeAll(owner.journal, ["another", "more"]);
    await reader.refresh();
    expect(notes.notes).toEqual(owner.notes.notes);
    expect(world.warnings).toEqual([]);
  });

  it("waits for the rest of a line that is half written", async () => {
    await using world = new JournalWorld();
    const owner = await world.opened();
    await writeAll(owner.journal, ["a", "b"]);
    await owner.journal.close();
    const bytes = world.bytes(1);
    const { reader, notes } = world.reader();
    for (let length = bytes.length - 20; length < bytes.length; length++) {
      truncateSync(world.path(1), length);
      await reader.refresh();
      expect([...notes.notes.keys()]).toEqual(["a"]);
      writeFileSync(world.path(1), bytes);
    }
    await reader.refresh();
    expect([...notes.notes.keys()]).toEqual(["a", "b"]);
    expect(world.warnings).toEqual([]);
  });

  it("starts anew when the directory was deleted and made again", async () => {
    await using world = new JournalWorld();
    const first = await world.opened();
    await writeAll(first.journal, idsFrom(1, 5));
    await first.journal.close();
    const { reader, notes } = world.reader();
    await reader.refresh();
    rmSync(world.directory, { recursive: true });
    await reader.refresh();
    expect(notes.notes.size).toBe(0);
    const second = await world.opened();
    await write(second.journal, "new");
    await reader.refresh();
    expect([...notes.notes.keys()]).toEqual(["new"]);
  });

  it("reports damage once, and reads the rest", async () => {
    await using world = new JournalWorld();
    const owner = await world.opened();
    await writeAll(owner.journal, idsFrom(1, 5));
    await owner.journal.close();
    const bytes = world.bytes(1);
    const at = bytes.indexOf('"id":"n3"');
    bytes[at + 3] = 0;
    writeFileSync(world.path(1), bytes);
    const { reader, notes } = world.reader();
    for (let count = 0; count < 3; count++) await reader.refresh();
    expect([...notes.notes.keys()]).toEqual(["n1", "n2", "n4", "n5"]);
    expect(world.warnings).toEqual([expect.stringContaining("line 4 cannot be read")]);
  });

  it("lists and reads decisions beside the owner", async () => {
    await using world = new JournalWorld();
    const owner = await world.opened({ maxSegmentBytes: 500 });
    owner.notes.needed = 0;
    await writeAll(owner.journal, idsFrom(1, 30));
    const { reader } = world.reader();
    const ids: string[] = [];
    for await (const { records, position } of reader.scan({ newestFirst: true })) {
      ids.push(...records.map(({ data }) => (data as Note).id));
      expect(await reader.readAt(position)).toEqual({ position, records });
    }
    expect(ids).toEqual(idsFrom(1, 30).toReversed());
  });

  it("that could not read tries again with the next call", async () => {
    await using world = new JournalWorld();
    const owner = await world.opened();
    await write(owner.journal, "a");
    const { reader, notes } = world.reader();
    for (let place = 0; place < 12; place++) {
      await write(owner.journal, `n${place}`);
      let at = 0;
      world.watched.before = () => {
        if (at++ === place % 6) throw systemError("EIO");
      };
      await reader.refresh().catch(() => {});
      world.watched.before = () => {};
      await reader.refresh();
      expect(notes.notes).toEqual(owner.notes.notes);
    }
  });
});
