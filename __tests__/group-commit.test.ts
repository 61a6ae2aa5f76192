/** Which changes are written together, how many writes are under way at once, and who hears what became of them. */
import { setImmediate } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { GroupCommit, type GroupCommitOptions } from "../src/group-commit.js";
import { watch, type Watched } from "./watched-promise.js";

interface Scene {
  readonly commit: GroupCommit<string>;
  /** The batches whose writes have begun: "a b". */
  readonly writes: string[];
  /** The batches whose writes are under way. */
  readonly underWay: () => string[];
  /** The most writes that ever were under way at once. */
  readonly most: () => number;
  /** Adds changes in one go, and lets begin what can. */
  readonly add: (...changes: readonly string[]) => Promise<readonly Watched[]>;
  /** Ends the write of a batch, and lets what waited for that begin. */
  readonly end: (batch: string, error?: Error) => Promise<void>;
  /** Ends every write, also those that begin meanwhile. */
  readonly endAll: () => Promise<void>;
}

function scene(options?: GroupCommitOptions<string>): Scene {
  const writes: string[] = [];
  const ends = new Map<string, (error?: Error) => void>();
  let most = 0;
  const commit = new GroupCommit<string>((batch) => {
    const name = batch.join(" ");
    writes.push(name);
    return new Promise((resolve, reject) => {
      ends.set(name, (error) => (error === undefined ? resolve() : reject(error)));
      most = Math.max(most, ends.size);
    });
  }, options);
  const end = async (batch: string, error?: Error): Promise<void> => {
    const act = ends.get(batch);
    if (act === undefined)
      throw new Error(`"${batch}" is not being written, but ${[...ends.keys()].join()}.`);
    ends.delete(batch);
    act(error);
    await setImmediate();
  };
  return {
    commit,
    writes,
    underWay: () => [...ends.keys()],
    most: () => most,
    add: async (...changes) => {
      const added = changes.map((change) => watch(commit.add(change)));
      await setImmediate();
      return added;
    },
    end,
    endAll: async () => {
      for (let [batch] = ends.keys(); batch !== undefined; [batch] = ends.keys()) await end(batch);
    },
  };
}

/** "yyn": which of them have been written. */
const written = (added: readonly Watched[]): string =>
  added.map(({ state }) => (state === "fulfilled" ? "y" : "n")).join("");

describe("a group commit", () => {
  it("writes all changes that are added in one turn in a single batch", async () => {
    const { add, writes } = scene();
    const changes = Array.from({ length: 10_000 }, (_, i) => `${i}`);
    await add(...changes);
    expect(writes).toEqual([changes.join(" ")]);
  });

  it("writes what is added during a write in one batch after it", async () => {
    const { add, end, writes } = scene();
    await add("a");
    for (const change of ["b", "c", "d"]) await add(change);
    expect(writes).toEqual(["a"]);
    await end("a");
    expect(writes).toEqual(["a", "b c d"]);
  });

  it("has one write running at a time", async () => {
    const { add, end, endAll, most } = scene();
    await add("a");
    await add("b");
    await end("a");
    await add("c");
    await endAll();
    expect(most()).toBe(1);
  });

  it("begins the next write as soon as the one before has ended", async () => {
    const { add, end, writes } = scene();
    await add("a");
    await end("a");
    await add("b");
    expect(writes).toEqual(["a", "b"]);
  });

  it("resolves an add when its write has ended, and not before", async () => {
    const { add, end } = scene();
    const [a] = await add("a");
    const [b] = await add("b");
    expect([a?.state, b?.state]).toEqual(["pending", "pending"]);
    await end("a");
    expect([a?.state, b?.state]).toEqual(["fulfilled", "pending"]);
    await end("b");
    expect(b?.state).toBe("fulfilled");
  });

  it("rejects all adds of a failed write, and writes later changes", async () => {
    const { add, end } = scene();
    const failed = await add("a", "b");
    const [next] = await add("c");
    await end("a b", new Error("disk full"));
    await end("c");
    expect(failed).toEqual([
      { state: "rejected", error: new Error("disk full") },
      { state: "rejected", error: new Error("disk full") },
    ]);
    expect(next).toEqual({ state: "fulfilled" });
  });

  it("is settled at once when nothing was added", async () => {
    await expect(scene().commit.settled()).resolves.toBeUndefined();
  });

  it("is settled when the last added change has been written", async () => {
    const { commit, add, end } = scene();
    await add("a");
    await add("b");
    const settled = watch(commit.settled());
    await end("a");
    expect(settled.state).toBe("pending");
    await end("b");
    expect(settled).toEqual({ state: "fulfilled" });
  });

  it("is settled when the write of the added change has failed", async () => {
    const { commit, add, end } = scene();
    await add("a");
    const settled = watch(commit.settled());
    await end("a", new Error("disk full"));
    expect(settled).toEqual({ state: "fulfilled" });
  });
});

describe("a group commit with a size limit", () => {
  it("begins a new batch with the change that would exceed the limit", async () => {
    const { add, endAll, writes, most } = scene({ most: 3 });
    const added = await add("a", "b", "c", "d", "e", "f", "g");
    await endAll();
    expect(writes).toEqual(["a b c", "d e f", "g"]);
    expect(most()).toBe(1);
    expect(written(added)).toBe("yyyyyyy");
  });

  it("adds changes to the open batch while its write waits, until the batch is full", async () => {
    const { add, end, endAll, writes } = scene({ most: 3 });
    await add("a");
    for (const change of ["b", "c", "d", "e"]) await add(change);
    await end("a");
    expect(writes).toEqual(["a", "b c d"]);
    await add("f");
    await endAll();
    expect(writes).toEqual(["a", "b c d", "e f"]);
  });

  it("counts each change by sizeOf", async () => {
    const { add, endAll, writes } = scene({ most: 3, sizeOf: ({ length }) => length });
    await add("aa", "b", "cc", "dd", "e");
    await endAll();
    expect(writes).toEqual(["aa b", "cc", "dd e"]);
  });

  it("writes a change beyond the limit alone, between the changes before and after it", async () => {
    const { add, endAll, writes } = scene({ most: 3, sizeOf: ({ length }) => length });
    const added = await add("a", "large", "b", "c");
    await endAll();
    expect(writes).toEqual(["a", "large", "b c"]);
    expect(written(added)).toBe("yyyy");
  });

  it("writes a change beyond the limit when there is no other", async () => {
    const { add, writes } = scene({ most: 3, sizeOf: ({ length }) => length });
    await add("large");
    expect(writes).toEqual(["large"]);
  });

  it("rejects only the adds of the batch that failed", async () => {
    const { add, end } = scene({ most: 2 });
    const added = await add("a", "b", "c", "d", "e");
    await end("a b");
    await end("c d", new Error("disk full"));
    await end("e");
    expect(added.map(({ state }) => state)).toEqual([
      "fulfilled",
      "fulfilled",
      "rejected",
      "rejected",
      "fulfilled",
    ]);
  });

  it("is settled when all batches have been written", async () => {
    const { commit, add, end } = scene({ most: 1 });
    await add("a", "b", "c");
    const settled = watch(commit.settled());
    for (const batch of ["a", "b"]) await end(batch);
    expect(settled.state).toBe("pending");
    await end("c");
    expect(settled.state).toBe("fulfilled");
  });
});

describe("a group commit with several writes at once", () => {
  it("writes what is added during a write in parallel", async () => {
    const { add, underWay } = scene({ atOnce: 2 });
    await add("a");
    await add("b");
    expect(underWay()).toEqual(["a", "b"]);
  });

  it("never exceeds the number of parallel writes, and writes everything", async () => {
    const { add, endAll, writes, most } = scene({ atOnce: 3, most: 1 });
    const added = await add("a", "b", "c", "d", "e", "f", "g", "h");
    await endAll();
    expect(most()).toBe(3);
    expect(writes).toEqual(["a", "b", "c", "d", "e", "f", "g", "h"]);
    expect(written(added)).toBe("yyyyyyyy");
  });

  it("adds changes to the waiting batch while all writes are running, until the batch is full", async () => {
    const { add, end, underWay } = scene({ atOnce: 2, most: 2 });
    await add("a");
    await add("b");
    for (const change of ["c", "d", "e"]) await add(change);
    expect(underWay()).toEqual(["a", "b"]);
    await end("a");
    expect(underWay()).toEqual(["b", "c d"]);
    await end("b");
    expect(underWay()).toEqual(["c d", "e"]);
  });

  it("begins a waiting write when any running one has ended", async () => {
    const { add, end, underWay } = scene({ atOnce: 2, most: 1 });
    await add("a", "b", "c");
    await end("a");
    expect(underWay()).toEqual(["b", "c"]);
  });

  it("resolves an add when its own write has ended, regardless of other writes", async () => {
    const { add, end } = scene({ atOnce: 2, most: 1 });
    const added = await add("a", "b");
    await end("b");
    expect(written(added)).toBe("ny");
    await end("a");
    expect(written(added)).toBe("yy");
  });

  it("rejects only the adds of a failed write: other and later writes go on", async () => {
    const { add, end } = scene({ atOnce: 2, most: 1 });
    const added = await add("a", "b", "c", "d");
    await end("a", new Error("disk full"));
    for (const batch of ["c", "b", "d"]) await end(batch);
    expect(added).toEqual([
      { state: "rejected", error: new Error("disk full") },
      { state: "fulfilled" },
      { state: "fulfilled" },
      { state: "fulfilled" },
    ]);
  });

  it.each([["a b c".split(" ")], ["b a c".split(" ")], ["a c b".split(" ")]])(
    "is settled when all have ended, and not before: %s",
    async (order) => {
      const { commit, add, end } = scene({ atOnce: 2, most: 1 });
      await add("a", "b", "c");
      const settled = watch(commit.settled());
      const states: string[] = [];
      for (const batch of order) {
        await end(batch);
        states.push(settled.state);
      }
      expect(states).toEqual(["pending", "pending", "fulfilled"]);
    },
  );

  it("is settled when one write has failed and the other ones have succeeded", async () => {
    const { commit, add, end } = scene({ atOnce: 2, most: 1 });
    await add("a", "b");
    const settled = watch(commit.settled());
    await end("a", new Error("disk full"));
    expect(settled.state).toBe("pending");
    await end("b");
    expect(settled).toEqual({ state: "fulfilled" });
  });

  it("begins the next write when the first running one has ended", async () => {
    const { add, end, underWay } = scene({ atOnce: 2, most: 1 });
    await add("a", "b");
    await end("b");
    await add("c");
    expect(underWay()).toEqual(["a", "c"]);
  });

  it("counts sizes in each batch", async () => {
    const { add, endAll, writes, most } = scene({ atOnce: 2, most: 3, sizeOf: ({ length }) => length });
    await add("aa", "b", "large", "cc", "d", "e");
    await endAll();
    expect(writes).toEqual(["aa b", "large", "cc d", "e"]);
    expect(most()).toBe(2);
  });
});
