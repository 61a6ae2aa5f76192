/** How files move between folders: never over an existing file, and never twice after an interrupted move. */
import { linkSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { claimedName } from "../../../src/work-sources/directory/claim-name.js";
import type { DirectorySource } from "../../../src/work-sources/directory/directory-source.js";
import { WatchedDisk } from "../../state/watched-disk.js";
import { HOUR_MS, WorkDirectory } from "./work-directory.js";

const SUCCESS = { outcome: "success", summary: "All done" } as const;
const titles = async (source: DirectorySource): Promise<string[]> =>
  (await source.fetchAvailableWork()).map(({ title }) => title);
const TOKENS = ["0".repeat(24), "f".repeat(24)] as const;

describe("a file whose name exists already", () => {
  /** Claims a file, and lets another of the same name come to be. */
  async function sceneWithNamesake(
    place: "done" | "ready",
  ): Promise<[WorkDirectory, DirectorySource, string]> {
    const directory = new WorkDirectory();
    directory.write("a.md", "# first");
    const source = directory.connect();
    await source.claimWork(directory.id("a.md"));
    directory.write("a.md", "# second", place);
    return [directory, source, directory.id("a.md")];
  }

  it("in done gets a number, and so does its outcome", async () => {
    const [directory, source, id] = await sceneWithNamesake("done");
    await source.completeWork(id, SUCCESS);
    expect(directory.list("done")).toEqual(["a-2.md", "a-2.md.outcome.yaml", "a.md"]);
    expect(directory.read("done", "a.md")).toBe("# second");
    expect(directory.read("done", "a-2.md")).toBe("# first");
  });

  it("in done gets a unique name although there are many", async () => {
    const [directory, source, id] = await sceneWithNamesake("done");
    for (let number = 2; number < 30; number++) directory.write(`a-${number}.md`, "# other", "done");
    await source.completeWork(id, SUCCESS);
    expect(directory.list("done").filter((name) => name.endsWith(".md"))).toHaveLength(30);
  });

  it("does not overwrite an outcome without an item", async () => {
    const directory = new WorkDirectory();
    directory.write("a.md");
    directory.write("a.md.outcome.yaml", "outcome: old\n", "done");
    const source = directory.connect();
    await source.claimWork(directory.id("a.md"));
    await source.completeWork(directory.id("a.md"), SUCCESS);
    expect(directory.read("done", "a.md.outcome.yaml")).toBe("outcome: old\n");
    expect(directory.list("done")).toContain("a-2.md");
  });

  it("in ready gets a number when it is released", async () => {
    const [directory, source, id] = await sceneWithNamesake("ready");
    await source.releaseWork(id);
    expect(directory.read("ready", "a.md")).toBe("# second");
    expect(directory.read("ready", "a-2.md")).toBe("# first");
  });

  it("in ready gets a number when its claim expires", async () => {
    const [directory] = await sceneWithNamesake("ready");
    await directory.clock.advance(HOUR_MS);
    expect((await titles(directory.connect())).toSorted()).toEqual(["first", "second"]);
    expect(directory.list("ready")).toEqual(["a-2.md", "a.md"]);
  });

  it("in working waits until that item is completed", async () => {
    const [directory, source, id] = await sceneWithNamesake("ready");
    expect(await titles(source)).toEqual([]);
    expect(await titles(directory.connect())).toEqual([]);
    expect(await source.claimWork(id)).toEqual({ isClaimed: false, reason: "taken" });
    await source.completeWork(id, SUCCESS);
    expect(await titles(source)).toEqual(["second"]);
  });
});

describe("an interrupted move", () => {
  /** A file that is in `working`, claimed until a minute ago, and by another link in the other place too. */
  function sceneCutShort(place: "done" | "ready", name = "a.md"): [WorkDirectory, string] {
    const directory = new WorkDirectory();
    const claimed = claimedName({
      expiresMs: directory.clock.now().getTime() - 60_000,
      token: TOKENS[0],
      name,
    });
    linkSync(directory.write(claimed, "# a", "working"), directory.file(place, name));
    return [directory, claimed];
  }

  it("to done is finished, and the item is not available again", async () => {
    const [directory] = sceneCutShort("done");
    expect(await titles(directory.connect())).toEqual([]);
    expect([directory.list("working"), directory.list("ready"), directory.list("done")]).toEqual([
      [],
      [],
      ["a.md"],
    ]);
  });

  it("to ready is finished, and the item is available once", async () => {
    const [directory] = sceneCutShort("ready");
    const source = directory.connect();
    await source.fetchAvailableWork();
    expect(await titles(source)).toEqual(["a"]);
    expect([directory.list("working"), directory.list("ready")]).toEqual([[], ["a.md"]]);
  });

  it.each([TOKENS, [TOKENS[1], TOKENS[0]] as const])(
    "of an item that was claimed again since loses nothing",
    async (one, other) => {
      const directory = new WorkDirectory();
      const expiresMs = directory.clock.now().getTime() - 60_000;
      const [first, second] = [one, other].map((token) => claimedName({ expiresMs, token, name: "a.md" }));
      linkSync(directory.write(first ?? "", "# a", "working"), directory.file("working", second ?? ""));
      const sources = Array.from({ length: 4 }, () => directory.connect());
      for (let pass = 0; pass < 3; pass++) {
        await Promise.all(sources.map((source) => source.fetchAvailableWork()));
        await directory.clock.advance("1m");
      }
      expect(await titles(directory.connect())).toEqual(["a"]);
      expect([directory.list("working"), directory.list("ready")]).toEqual([[], ["a.md"]]);
    },
  );

  it("is not confused with a hard link outside of the directory", async () => {
    const directory = new WorkDirectory();
    linkSync(directory.write("a.md"), join(directory.path, "backup.md"));
    directory.write("b.md", "---\npriority: low\n---\n# b");
    await directory.connect().claimWork(directory.id("a.md"));
    await directory.clock.advance(HOUR_MS);
    expect(await titles(directory.connect())).toEqual(["a.md", "b"]);
  });
});

describe("a file whose claim has expired", () => {
  it("is moved back by one of many concurrent fetches, without warnings", async () => {
    const directory = new WorkDirectory();
    directory.write("a.md");
    await directory.connect().claimWork(directory.id("a.md"));
    await directory.clock.advance(HOUR_MS);
    const sources = Array.from({ length: 8 }, () => directory.connect());
    await Promise.all(sources.map((source) => source.fetchAvailableWork()));
    expect([directory.list("ready"), directory.list("working")]).toEqual([["a.md"], []]);
    expect(directory.warnings).toEqual([]);
  });
});

describe("a file whose claim has expired and which was claimed again meanwhile", () => {
  it("is not moved back by a fetch that started before", async () => {
    const directory = new WorkDirectory();
    directory.write("a.md");
    const faster = directory.connect();
    await faster.claimWork(directory.id("a.md"));
    await directory.clock.advance(HOUR_MS);
    const disk = new WatchedDisk();
    disk.before = async (step) => {
      if (!/^rename 2026.*~a\.md/.test(step)) return;
      await faster.fetchAvailableWork();
      await faster.claimWork(directory.id("a.md"));
    };
    expect(await titles(directory.connect(disk.disk))).toEqual([]);
    expect(directory.warnings).toEqual([]);
    expect(await faster.completeWork(directory.id("a.md"), SUCCESS)).toBe(true);
  });
});

describe("a new file with the name of a file that is being claimed", () => {
  it("is not claimed too", async () => {
    const directory = new WorkDirectory();
    directory.write("a.md");
    const disk = new WatchedDisk();
    disk.before = (step) => {
      if (step.startsWith("rename a.md") && !directory.list("ready").includes("a.md"))
        directory.write("a.md");
    };
    const source = directory.connect(disk.disk);
    const calls = [1, 2, 3].map(() => source.claimWork(directory.id("a.md")));
    expect((await Promise.all(calls)).filter(({ isClaimed }) => isClaimed)).toHaveLength(1);
    expect(directory.list("working")).toHaveLength(1);
  });
});
