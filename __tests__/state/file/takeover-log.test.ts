import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { FakeClock } from "../../../src/clock.js";
import { FileStore } from "../../../src/state/file/file-store.js";
import { keepingLogger } from "../../scheduler/scene.js";
import { stateDirectory } from "../temporary-directory.js";
import { forge } from "./lock/lock-fixtures.js";

const NOW = "2026-03-01T00:00:00.000Z";
const JOB = "job-2026-03-01-aaaaaa";

/** Opens a state directory as a scheduler does, and returns the warnings of that. */
async function warningsOfOpening(stateDir: string): Promise<string[]> {
  const { logger, warnings } = keepingLogger();
  const store = new FileStore({ stateDir, clock: new FakeClock(NOW), logger });
  onTestFinished(() => store.close());
  await store.open();
  return warnings;
}

/** A directory in which a schedule is claimed for each of these names. */
async function withClaims(names: readonly string[]): Promise<string> {
  const stateDir = stateDirectory();
  if (names.length === 0) return stateDir;
  await using guest = new FileStore({ stateDir });
  for (const schedule of names)
    await guest.update(
      { agent: "a", schedule },
      { status: "running", claim: { token: schedule, job_id: JOB, slot: NOW, claimed_at: NOW } },
    );
  return stateDir;
}

describe("a scheduler that opens a state directory", () => {
  it("logs which jobs were interrupted when the last scheduler's process ended", async () => {
    const warnings = await warningsOfOpening(await withClaims(["x"]));
    expect(warnings).toEqual([`a/x was interrupted (${JOB}): the process of its scheduler ended`]);
  });

  it("logs twenty interrupted jobs, and the number of the rest", async () => {
    const warnings = await warningsOfOpening(
      await withClaims(Array.from({ length: 25 }, (_, at) => `x${at}`)),
    );
    expect(warnings).toHaveLength(21);
    expect(warnings.at(-1)).toBe("5 more jobs were interrupted: the process of its scheduler ended");
  });

  it("logs from which process it took the directory over", async () => {
    const stateDir = await withClaims([]);
    const owner = { pid: 4_000_000, host: "build-1", since: NOW };
    forge(join(stateDir, "owner.lock"), { pid: 4_000_000 }, JSON.stringify(owner));
    expect(await warningsOfOpening(stateDir)).toEqual([
      `Took over ${stateDir} from process 4000000 on build-1, which did not give it back.`,
    ]);
  });

  it("logs nothing when the last scheduler stopped properly", async () => {
    const stateDir = await withClaims([]);
    const earlier = new FileStore({ stateDir });
    await earlier.open();
    await earlier.close();
    expect(await warningsOfOpening(stateDir)).toEqual([]);
  });
});
