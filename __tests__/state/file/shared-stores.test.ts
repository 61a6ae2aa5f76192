/** A directory that belongs to another is used for as long as somebody needs it, and not longer. */
import { describe, expect, it } from "vitest";
import { FakeClock } from "../../../src/clock.js";
import { GuestStores } from "../../../src/state/file/shared-stores.js";
import type { FileStore } from "../../../src/state/file/file-store.js";
import { stateDirectory } from "../temporary-directory.js";
import { loggerInto, settleable } from "../../runner/scene.js";

const job = { agent: "worker", trigger: "manual" } as const;

interface Stage {
  readonly guests: GuestStores;
  readonly stateDir: string;
  readonly clock: FakeClock;
  readonly lines: string[];
}

function stage(): Stage {
  const clock = new FakeClock();
  const lines: string[] = [];
  return {
    guests: new GuestStores(clock, loggerInto(lines), 30_000),
    stateDir: stateDirectory(),
    clock,
    lines,
  };
}

describe("the store of a guest", () => {
  it("is shared by all who use it at the same time", async () => {
    const { guests, stateDir } = stage();
    const seen: FileStore[] = [];
    const see = async (store: FileStore): Promise<void> => void seen.push(store);
    await Promise.all([guests.use(stateDir, see), guests.use(`${stateDir}/.`, see)]);
    expect(seen[0]).toBe(seen[1]);
  });

  it("is closed when the last has used it, and not before", async () => {
    const { guests, stateDir } = stage();
    const first = settleable<void>();
    const using = guests.use(stateDir, () => first.promise);
    const store = await guests.use(stateDir, async (used) => used);
    expect(await store.jobs.start(job)).toMatchObject({ status: "running" });
    first.resolve();
    await using;
    await expect(store.jobs.start(job)).rejects.toThrow("closed");
  });

  it("is closed also when its user fails", async () => {
    const { guests, stateDir } = stage();
    let used: FileStore | undefined;
    const failing = guests.use(stateDir, async (store) => {
      used = store;
      throw new Error("boom");
    });
    await expect(failing).rejects.toThrow("boom");
    await expect(used?.jobs.start(job)).rejects.toThrow("closed");
  });

  it("is another for who comes later", async () => {
    const { guests, stateDir } = stage();
    await guests.use(stateDir, (store) => store.jobs.start(job));
    expect(await guests.use(stateDir, (store) => store.jobs.list())).toHaveLength(1);
  });

  it("that does not close is let go of after its time", async () => {
    const { guests, stateDir, clock, lines } = stage();
    const using = guests.use(stateDir, async (store) => {
      store.close = () => new Promise(() => {});
      return "used";
    });
    await clock.advance("30s");
    expect(await using).toBe("used");
    expect(lines).toEqual([expect.stringContaining("it did not close in 30000 ms")]);
  });
});
