/** AsyncLock: which tasks overlap, and which wait. */
import { setImmediate } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { AsyncLock } from "../src/async-lock.js";
import { watch, type Watched } from "./watched-promise.js";

interface Scene {
  /** "+a" when the task began, "-a" when it was ended. */
  readonly seen: string[];
  /** Asks for a turn for a task of this name, which goes on until it is ended. */
  readonly take: (name: string) => Watched;
  readonly share: (name: string) => Watched;
  /** Ends a task that is under way, and lets what waited for that begin. */
  readonly end: (name: string, error?: Error) => Promise<void>;
  readonly settle: () => Promise<void>;
}

function scene(): Scene {
  const turns = new AsyncLock();
  const seen: string[] = [];
  const ends = new Map<string, (error?: Error) => void>();
  const task = (name: string) => (): Promise<void> => {
    seen.push(`+${name}`);
    return new Promise((resolve, reject) => {
      ends.set(name, (error) => (error === undefined ? resolve() : reject(error)));
    });
  };
  return {
    seen,
    take: (name) => watch(turns.take(task(name))),
    share: (name) => watch(turns.share(task(name))),
    end: async (name, error) => {
      seen.push(`-${name}`);
      ends.get(name)?.(error);
      await setImmediate();
    },
    settle: () => setImmediate(),
  };
}

describe("exclusive tasks of an AsyncLock", () => {
  it("run one after the other, in the order of their calls", async () => {
    const { take, end, settle, seen } = scene();
    for (const name of ["a", "b", "c"]) take(name);
    await settle();
    for (const name of ["a", "b", "c"]) await end(name);
    expect(seen).toEqual(["+a", "-a", "+b", "-b", "+c", "-c"]);
  });

  it("go on after a failed task, whose error only its own caller gets", async () => {
    const { take, end, settle, seen } = scene();
    const [a, b] = [take("a"), take("b")];
    await settle();
    await end("a", new Error("disk full"));
    await end("b");
    expect([a, b]).toEqual([{ state: "rejected", error: new Error("disk full") }, { state: "fulfilled" }]);
    expect(seen).toEqual(["+a", "-a", "+b", "-b"]);
  });

  it("resolve with the value of the task", async () => {
    expect(await new AsyncLock().take(async () => "done")).toBe("done");
  });
});

describe("shared tasks of an AsyncLock", () => {
  it("overlap with each other, and begin in the order of their calls", async () => {
    const { share, settle, seen } = scene();
    for (const name of ["a", "b", "c"]) share(name);
    await settle();
    expect(seen).toEqual(["+a", "+b", "+c"]);
  });

  it("wait for an earlier exclusive task, and begin together when it has ended", async () => {
    const { take, share, end, settle, seen } = scene();
    take("turn");
    for (const name of ["a", "b"]) share(name);
    await settle();
    expect(seen).toEqual(["+turn"]);
    await end("turn");
    expect(seen).toEqual(["+turn", "-turn", "+a", "+b"]);
  });

  it("wait for an earlier exclusive task that still waits for shared ones", async () => {
    const { take, share, end, settle, seen } = scene();
    share("a");
    take("turn");
    share("b");
    await settle();
    expect(seen).toEqual(["+a"]);
    await end("a");
    await end("turn");
    expect(seen).toEqual(["+a", "-a", "+turn", "-turn", "+b"]);
  });

  it("begin after an exclusive task that failed", async () => {
    const { take, share, end, settle } = scene();
    take("turn");
    const shared = share("a");
    await settle();
    await end("turn", new Error("disk full"));
    await end("a");
    expect(shared).toEqual({ state: "fulfilled" });
  });

  it("are not disturbed when one of them fails, whose error only its own caller gets", async () => {
    const { share, end, settle } = scene();
    const [a, b] = [share("a"), share("b")];
    await settle();
    await end("a", new Error("disk full"));
    const c = share("c");
    await settle();
    for (const name of ["b", "c"]) await end(name);
    expect([a, b, c]).toEqual([
      { state: "rejected", error: new Error("disk full") },
      { state: "fulfilled" },
      { state: "fulfilled" },
    ]);
  });

  it("resolve with the value of the task", async () => {
    expect(await new AsyncLock().share(async () => "done")).toBe("done");
  });
});

describe("an exclusive task among shared ones of an AsyncLock", () => {
  it("waits for all earlier shared tasks, whichever ends last", async () => {
    for (const order of [
      ["a", "b", "c"],
      ["c", "b", "a"],
    ]) {
      const { take, share, end, settle, seen } = scene();
      for (const name of ["a", "b", "c"]) share(name);
      take("turn");
      await settle();
      for (const name of order) await end(name);
      expect(seen.slice(3)).toEqual([...order.map((name) => `-${name}`), "+turn"]);
    }
  });

  it("begins when the earlier tasks have failed", async () => {
    const { take, share, end, settle, seen } = scene();
    for (const name of ["a", "b"]) share(name);
    const turn = take("turn");
    await settle();
    for (const name of ["a", "b"]) await end(name, new Error("disk full"));
    await end("turn");
    expect(seen).toContain("+turn");
    expect(turn).toEqual({ state: "fulfilled" });
  });

  it("waits for a shared task although the exclusive one before that has ended", async () => {
    const { take, share, end, settle, seen } = scene();
    take("first");
    share("a");
    take("second");
    await settle();
    await end("first");
    expect(seen).toEqual(["+first", "-first", "+a"]);
    await end("a");
    expect(seen.at(-1)).toBe("+second");
  });

  it("waits for the exclusive task before it when there are no shared ones", async () => {
    const { take, share, end, settle, seen } = scene();
    share("a");
    await settle();
    await end("a");
    take("first");
    take("second");
    await settle();
    expect(seen).toEqual(["+a", "-a", "+first"]);
  });

  it("waits for the exclusive task before it while both wait for a shared one", async () => {
    const { take, share, end, settle, seen } = scene();
    share("a");
    take("first");
    take("second");
    await settle();
    await end("a");
    expect(seen).toEqual(["+a", "-a", "+first"]);
    await end("first");
    expect(seen.at(-1)).toBe("+second");
  });

  it("does not overlap with later tasks", async () => {
    const { take, share, end, settle, seen } = scene();
    share("a");
    take("turn");
    for (const name of ["b", "c"]) share(name);
    await settle();
    await end("a");
    expect(seen).toEqual(["+a", "-a", "+turn"]);
  });

  it("does not wait for later tasks", async () => {
    const { take, share, end, settle, seen } = scene();
    take("turn");
    share("a");
    await settle();
    await end("turn");
    expect(seen).toEqual(["+turn", "-turn", "+a"]);
  });
});
