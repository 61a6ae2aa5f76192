/** A disk that fills up for real. */
import { spawnSync } from "node:child_process";
import { describe, expect, it } from "vitest";
import { programPath } from "../child.js";
import { temporaryDirectory } from "../temporary-directory.js";

/** A mount of one's own needs a right that not everybody has. */
const inNamespace = (program: string, ...args: string[]): { stdout: string; status: number | null } =>
  spawnSync("unshare", ["-m", "sh", "-c", program, "sh", ...args], { encoding: "utf8" });
const MOUNT = 'mount -t tmpfs -o size=1m,mode=700 tmpfs "$1"';

function canMount(): boolean {
  using temporary = temporaryDirectory();
  return inNamespace(MOUNT, temporary.path).status === 0;
}

interface FillOutcome {
  readonly freeBytes: number;
  readonly error: string | null;
  readonly isOld: boolean;
  readonly isNew: boolean;
  readonly worksAgain: boolean;
  readonly files: string[];
}

describe("a disk of 1 MB", () => {
  it.skipIf(!canMount())("(where one can be mounted) truncates nothing at 20 amounts of free space", () => {
    using temporary = temporaryDirectory();
    const { stdout, status } = inNamespace(
      `${MOUNT} && exec "$2" "$3" "$1"`,
      temporary.path,
      process.execPath,
      programPath("fill-disk.js"),
    );
    expect(status).toBe(0);
    const outcomes = JSON.parse(stdout) as FillOutcome[];
    expect(outcomes).toHaveLength(20);
    for (const outcome of outcomes) {
      const isRefused = outcome.error !== null;
      expect(outcome).toMatchObject({ isOld: isRefused, isNew: !isRefused, worksAgain: true });
      expect([null, "StateFileError ENOSPC"]).toContain(outcome.error);
      expect(outcome.files).toEqual(["state.yaml", "state.yaml.lock"]);
    }
    const refused = outcomes.filter(({ error }) => error !== null);
    expect(refused.length).toBeGreaterThanOrEqual(5);
    expect(refused.length).toBeLessThanOrEqual(19);
  });
});
