/** SharedStores: one store for the calls that use a directory at the same time, closed after the last. */
import { describe, expect, it } from "vitest";
import { FakeClock } from "../../../src/clock.js";
import { SharedStores } from "../../../src/state/file/shared-stores.js";
import type { Logger } from "../../../src/logger.js";
import type { FileStore } from "../../../src/state/file/file-store.js";
import { stateDirectory } from "../temporary-directory.js";
import { loggerInto, settleable } from "../../runner/scene.js";

const job = { agent: "worker", trigger: "manual" } as const;

interface Stage {
  readonly stores: SharedStores;
  readonly logger: Logger;
  readonly stateDir: string;
  readonly clock: FakeClock;
  readonly lines: string[];
}

function stage(): Stage {
  const clock = new FakeClock();
  const lines: string[] = [];
  return {
    stores: new SharedStores({ clock }),
    logger: loggerInto(lines),
    stateDir: stateDirectory(),
    clock,
    lines,
  };
}

describe("a shared file store", () => {
  it("is the same for calls that overlap", async () => {
    const { stores, logger, stateDir } = stage();
    const seen: FileStore[] = [];
    const see = async (store: FileStore): Promise<void> => void seen.push(store);
    await Promise.all([
      stores.use({ stateDir }, logger, see),
      stores.use({ stateDir: `${stateDir}/.` }, logger, see),
    ]);
    expect(seen[0]).toBe(seen[1]);
  });

  it("closes when the last call ends, and not before", async () => {
    const { stores, logger, stateDir } = stage();
    const first = settleable<void>();
    const using = stores.use({ stateDir }, logger, () => first.promise);
    const store = await stores.use({ stateDir }, logger, async (used) => used);
    expect(await store.jobs.start(job)).toMatchObject({ status: "running" });
    first.resolve();
    await using;
    await expect(store.jobs.start(job)).rejects.toThrow("closed");
  });

  it("closes when its only call fails", async () => {
    const { stores, logger, stateDir } = stage();
    let used: FileStore | undefined;
    const failing = stores.use({ stateDir }, logger, async (store) => {
      used = store;
      throw new Error("boom");
    });
    await expect(failing).rejects.toThrow("boom");
    await expect(used?.jobs.start(job)).rejects.toThrow("closed");
  });

  it("is a new one for a later call, which sees what the earlier call wrote", async () => {
    const { stores, logger, stateDir } = stage();
    await stores.use({ stateDir }, logger, (store) => store.jobs.start(job));
    expect(await stores.use({ stateDir }, logger, (store) => store.jobs.list())).toHaveLength(1);
  });

  it("that does not close is abandoned after closeTimeoutMs, with a warning", async () => {
    const { stores, logger, stateDir, clock, lines } = stage();
    const using = stores.use({ stateDir }, logger, async (store) => {
      store.close = () => new Promise(() => {});
      return "used";
    });
    await clock.advance("30s");
    expect(await using).toBe("used");
    expect(lines).toEqual([expect.stringContaining("it did not close in 30000 ms")]);
  });
});
