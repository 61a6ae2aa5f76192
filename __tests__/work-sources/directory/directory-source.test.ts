/** Files as work items: their fields, their folders, and the configuration of the source. */
import { existsSync, renameSync, rmSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import type { DirectorySource } from "../../../src/work-sources/directory/directory-source.js";
import { claimedName, readClaimedName } from "../../../src/work-sources/directory/claim-name.js";
import { WorkSourceRegistry } from "../../../src/work-sources/registry.js";
import { thrownBy } from "../../thrown-by.js";
import { HOUR_MS, WorkDirectory } from "./work-directory.js";

const SUCCESS = { outcome: "success", summary: "All done" } as const;
const titles = async (source: DirectorySource): Promise<string[]> =>
  (await source.fetchAvailableWork()).map(({ title }) => title);
const TOKENS = ["0".repeat(24), "f".repeat(24)] as const;

describe("a work directory", () => {
  it("is created when it is missing, readable by its owner only", async () => {
    const directory = new WorkDirectory();
    rmSync(directory.path, { recursive: true });
    await directory.connect().fetchAvailableWork();
    for (const place of ["ready", "working", "done", "failed"] as const)
      expect(statSync(directory.file(place, "")).mode & 0o777).toBe(0o700);
    expect(statSync(directory.path).mode & 0o777).toBe(0o700);
  });

  it("is created again when it was removed while an item was claimed", async () => {
    const directory = new WorkDirectory();
    directory.write("a.md");
    const source = directory.connect();
    await source.claimWork(directory.id("a.md"));
    rmSync(directory.file("done", ""), { recursive: true });
    expect(await source.completeWork(directory.id("a.md"), SUCCESS)).toBe(true);
    expect(directory.list("done")).toContain("a.md");
  });

  it("returns items with the fields and the times of their files", async () => {
    const directory = new WorkDirectory();
    const file = directory.write("a.md", "---\npriority: high\nsize: 3\n---\n# Fix it\n");
    const writtenAt = new Date("2026-02-01T00:00:00Z");
    utimesSync(file, writtenAt, writtenAt);
    expect(await directory.connect().fetchAvailableWork()).toEqual([
      {
        id: directory.id("a.md"),
        source: "directory",
        externalId: "a.md",
        title: "Fix it",
        description: "# Fix it",
        priority: "high",
        labels: [],
        url: undefined,
        metadata: { size: 3 },
        createdAt: writtenAt,
        updatedAt: writtenAt,
      },
    ]);
  });

  it("reads a changed file again", async () => {
    const directory = new WorkDirectory();
    const source = directory.connect();
    directory.write("a.md", "# one");
    expect(await titles(source)).toEqual(["one"]);
    directory.write("a.md", "# other");
    expect(await titles(source)).toEqual(["other"]);
  });

  it("returns the fields that the file has when it is claimed", async () => {
    const directory = new WorkDirectory();
    const source = directory.connect();
    directory.write("a.md", "# one");
    await source.fetchAvailableWork();
    directory.write("a.md", "# other");
    expect(await source.claimWork(directory.id("a.md"))).toMatchObject({ item: { title: "other" } });
  });

  it.each([
    "with spaces & 'quotes'.md",
    "línea ünïcode 漢字 🎉.md",
    "back\\slash.md",
    "new\nline.md",
    "~tilde~2026-11-16T14-22-00.000Z~.md",
    "-dash.md",
    "UPPER.MD",
    "percent%2F.md",
    "dots...md",
    `${"x".repeat(197)}.md`,
  ])("moves a file called %j through all folders", async (name) => {
    const directory = new WorkDirectory();
    directory.write(name);
    const source = directory.connect();
    const [item] = await source.fetchAvailableWork();
    const id = item?.id ?? "";
    expect(await source.claimWork(id)).toMatchObject({ isClaimed: true, item: { externalId: name } });
    expect(await source.releaseWork(id)).toBe(true);
    expect(await source.claimWork(id)).toMatchObject({ isClaimed: true });
    expect(await source.completeWork(id, SUCCESS)).toBe(true);
    expect(directory.list("done")).toEqual([name, `${name}.outcome.yaml`].toSorted());
  });

  it.each(["../secret.md", "x/../../secret.md", "ready/a.md", "..", ".hidden.md", "a.tmp", "a.txt", ""])(
    "rejects the id of %j, which is not the name of an item",
    async (name) => {
      const directory = new WorkDirectory();
      directory.write("a.md");
      writeFileSync(join(directory.path, "secret.md"), "# secret");
      const source = directory.connect();
      expect(await source.claimWork(directory.id(name))).toEqual({ isClaimed: false, reason: "gone" });
      expect(await source.getWork(directory.id(name))).toBeUndefined();
      expect(existsSync(join(directory.path, "secret.md"))).toBe(true);
    },
  );
});

describe("a claimed file", () => {
  it("is in working under a name with its expiry and its old name", async () => {
    const directory = new WorkDirectory();
    directory.write("a.md");
    await directory.connect().claimWork(directory.id("a.md"));
    expect(directory.list("ready")).toEqual([]);
    expect(directory.list("working")).toEqual([
      expect.stringMatching(/^2026-03-01T01-00-00\.000Z~[0-9a-f]{24}~a\.md$/),
    ]);
  });

  it("is in done with its outcome beside it when it is completed", async () => {
    const directory = new WorkDirectory();
    directory.write("a.md", "# Fix it");
    const source = directory.connect();
    await source.claimWork(directory.id("a.md"));
    await source.completeWork(directory.id("a.md"), {
      ...SUCCESS,
      details: "two\nlines",
      artifacts: ["out.txt"],
    });
    expect(directory.list("working")).toEqual([]);
    expect(directory.list("done")).toEqual(["a.md", "a.md.outcome.yaml"]);
    expect(directory.read("done", "a.md")).toBe("# Fix it");
    expect(parse(directory.read("done", "a.md.outcome.yaml"))).toEqual({
      outcome: "success",
      summary: "All done",
      details: "two\nlines",
      artifacts: ["out.txt"],
      finished_at: "2026-03-01T00:00:00.000Z",
    });
  });

  it("is in failed with its error beside it when it failed", async () => {
    const directory = new WorkDirectory();
    directory.write("a.md");
    const source = directory.connect();
    await source.claimWork(directory.id("a.md"));
    await source.completeWork(directory.id("a.md"), { outcome: "failure", summary: "No", error: "It broke" });
    expect(directory.list("done")).toEqual([]);
    expect(parse(directory.read("failed", "a.md.outcome.yaml"))).toMatchObject({ error: "It broke" });
  });

  it("leaves no outcome when its claim was lost", async () => {
    const directory = new WorkDirectory();
    directory.write("a.md");
    const source = directory.connect();
    await source.claimWork(directory.id("a.md"));
    const [file = ""] = directory.list("working");
    rmSync(directory.file("working", file));
    expect(await source.completeWork(directory.id("a.md"), SUCCESS)).toBe(false);
    expect(directory.list("done")).toEqual([]);
  });
});

describe("a work source of type directory", () => {
  const create = (keys: object): unknown => new WorkSourceRegistry().create({ type: "directory", ...keys });

  it.each([
    [{}, "is missing, expected the path of a directory"],
    [{ path: "" }, 'is "", expected'],
    [{ path: 3 }, "is 3, expected"],
    [{ path: "a\0b" }, "expected the path of a directory"],
    [
      { path: "inbox", claim_expires: "1h" },
      'Unknown key "claim_expires" in a work source of type "directory", expected path, claim_expiry',
    ],
    [{ path: "inbox", claim_expiry: "1 hour" }, 'is "1 hour", expected a duration'],
  ])("rejects %j and names the reason", (keys, why) => {
    expect(thrownBy(() => create(keys))).toMatchObject({
      code: "INVALID_WORK_SOURCE",
      message: expect.stringContaining(why),
    });
  });

  it("reads and creates nothing before the first call", () => {
    const directory = new WorkDirectory();
    create({ path: join(directory.path, "other") });
    expect(existsSync(join(directory.path, "other"))).toBe(false);
  });

  it("has claims of an hour by default", async () => {
    const directory = new WorkDirectory();
    directory.write("a.md");
    const { clock, path } = directory;
    const source = new WorkSourceRegistry().create({ type: "directory", path }, { clock });
    const expiresAt = new Date(clock.now().getTime() + HOUR_MS);
    expect(await source.claimWork(directory.id("a.md"))).toMatchObject({ expiresAt });
  });

  it("is the same directory by a different path", async () => {
    const directory = new WorkDirectory();
    directory.write("a.md");
    const path = join(dirname(directory.path), "renamed");
    renameSync(directory.path, path);
    const [item] = await new WorkSourceRegistry()
      .create({ type: "directory", path: `${path}/./` })
      .fetchAvailableWork();
    expect(item?.id).toBe(`directory:${path}/a.md`);
  });
});

describe("the name of a claimed file", () => {
  it.each(["a.md", "x~y.md", "two\nlines.md"])("is parsed again for %j", (name) => {
    const claimed = { expiresMs: Date.parse("2026-03-01T09:00:00.123Z"), token: TOKENS[1], name };
    expect(readClaimedName(claimedName(claimed))).toEqual(claimed);
  });

  it.each([
    "a.md",
    `2026-03-01T09-00-00.000Z~${TOKENS[0]}~`,
    `2026-03-01T09-00-00.000Z~${TOKENS[0]}~a.txt`,
    `2026-13-01T09-00-00.000Z~${TOKENS[0]}~a.md`,
    "2026-03-01T09-00-00.000Z~short~a.md",
  ])("is not %j", (name) => {
    expect(readClaimedName(name)).toBeUndefined();
  });
});
