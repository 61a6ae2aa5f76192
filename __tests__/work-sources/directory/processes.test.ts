/** Several processes that share a work directory and are killed at any time. They run the build. */
import { describe, expect, it } from "vitest";
import { type Child, Children } from "../../state/child.js";
import { WorkDirectory } from "./work-directory.js";

const PROGRAM = new URL("processes/take-work.js", import.meta.url).href;

function directoryWith(count: number): [WorkDirectory, string[]] {
  const directory = new WorkDirectory();
  const names = Array.from({ length: count }, (_, index) => `item-${index}.md`).toSorted();
  for (const name of names) directory.write(name);
  return [directory, names];
}

/** What processes reported about the items, such as "done", in order. */
function said(children: readonly Child[], what: string): string[] {
  const lines = children.flatMap((child) => child.lines);
  return lines.filter((line) => line.startsWith(`${what} `)).map((line) => line.slice(what.length + 1));
}

const itemsIn = (directory: WorkDirectory): string[] =>
  directory.list("done").filter((name) => name.endsWith(".md"));

describe("four processes that race for 300 files", () => {
  it("claim and complete each exactly once", async () => {
    const [directory, names] = directoryWith(300);
    await using children = new Children();
    const workers = Array.from({ length: 4 }, () => children.start(PROGRAM, [directory.path]));
    await Promise.all(workers.map((worker) => worker.end()));
    expect(workers.map(({ exitCode }) => exitCode)).toEqual([0, 0, 0, 0]);
    expect(said(workers, "start").toSorted()).toEqual(names);
    expect(said(workers, "done").toSorted()).toEqual(names);
    expect(itemsIn(directory)).toEqual(names);
    expect(directory.list("done")).toHaveLength(2 * names.length);
    expect([...directory.list("ready"), ...directory.list("working")]).toEqual([]);
  }, 180_000);
});

describe("processes that are killed at any time", () => {
  it("lose and duplicate no file, once their claims have expired", async () => {
    const [directory, names] = directoryWith(150);
    await using children = new Children();
    const workers: Child[] = [];
    // Each generation starts when the claims of the previous one have expired. Only the last is not killed.
    for (const [generation, oneIn] of ["30", "30", "30", "30", "0"].entries()) {
      const args = [directory.path, String(2 * generation), oneIn];
      const finished = itemsIn(directory);
      const born = [1, 2, 3].map(() => children.start(PROGRAM, args));
      await Promise.all(born.map((worker) => worker.end()));
      workers.push(...born);
      // Also a file that was in done and in working, because its process was killed during the move.
      expect(said(born, "start").filter((name) => finished.includes(name))).toEqual([]);
    }
    const deaths = workers.filter(({ exitCode }) => exitCode !== 0).length;
    expect(deaths).toBeGreaterThanOrEqual(4);
    expect(itemsIn(directory)).toEqual(names);
    for (const name of names) expect(directory.read("done", name)).toBe(`# ${name}\n`);
    expect([...directory.list("ready"), ...directory.list("working")]).toEqual([]);
    const completed = said(workers, "done");
    expect(new Set(completed).size).toBe(completed.length);
    const outcomes = directory.list("done").filter((file) => file.endsWith(".outcome.yaml"));
    expect(outcomes.length).toBeGreaterThanOrEqual(completed.length);
    expect(said(workers, "start").length).toBeLessThanOrEqual(names.length + deaths);
  }, 180_000);
});
