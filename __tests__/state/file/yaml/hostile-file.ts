/** A state file that something happened to, and what must be left of it. */
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import type { Logger } from "../../../../src/logger.js";
import { FileStore } from "../../../../src/state/file/file-store.js";
import type { FleetState } from "../../../../src/state/file/fleet-state.js";
import { getScheduleState, updateScheduleState } from "../../../../src/state/file/state-functions.js";
import { renderAgent } from "../../../../src/state/file/yaml/state-document.js";
import { listening } from "../../listening.js";
import { temporaryDirectory } from "../../temporary-directory.js";

/** An agent with something in every place where a newer version might have put it. */
export const GOOD_AGENT = {
  status: "idle",
  newer: {
    list: [1, "two", [3, { four: null }]],
    count: 123456789012345678901234567890n,
    text: "a: b # c\n",
  },
  schedules: {
    daily: {
      status: "idle",
      last_run_at: "2026-03-01T09:00:00.000Z",
      failure_count: 2,
      newer: { ratio: 0.5, list: [], "odd key": true },
    },
    off: { status: "disabled", last_error: 'it said "no"' },
  },
} as const;

/** The text of an agent as it is written. */
export function goodAgent(name: string): string {
  const { schedules, ...other } = GOOD_AGENT;
  return renderAgent({ name, other, schedules: new Map(Object.entries(schedules)) });
}

export const HEAD = "fleet:\n  started_at: 2026-03-01T00:00:00.000Z\nnewer_top:\n  list: [1, [2]]\nagents:\n";

/** The number of the first line behind the first agent. */
export const MIDDLE_LINE: number = (HEAD + goodAgent("first")).split("\n").length;

/** A file whose first and last agents are good. */
export function around(middle: string): string {
  return HEAD + goodAgent("first") + middle + goodAgent("last");
}

export interface HostileFile {
  readonly bytes: string | Uint8Array;
  /** What the warnings say, in order; none when there is no damage. */
  readonly warnings: readonly RegExp[];
  /** What can be read besides the agents named first and last, whole. */
  readonly others?: Readonly<Record<string, unknown>>;
  /** Which good agents remain. */
  readonly good?: readonly string[];
}

export async function readFleet(stateDir: string, logger: Logger): Promise<FleetState> {
  await using store = new FileStore({ stateDir, logger });
  return await store.readFleet();
}

/** Reads the file, changes something else in it, and reads it again. */
export async function expectHarmless({
  bytes,
  warnings: expected,
  others = {},
  good = ["first", "last"],
}: HostileFile): Promise<void> {
  using directory = temporaryDirectory();
  const path = join(directory.path, "state.yaml");
  writeFileSync(path, bytes);
  const agents = { ...Object.fromEntries(good.map((name) => [name, GOOD_AGENT])), ...others };
  const { logger, warnings } = listening();

  const before = await getScheduleState(directory.path, "another", "daily", { logger });
  expect(before).toEqual({ status: "idle", last_run_at: null, next_run_at: null, last_error: null });
  expect(warnings).toEqual(expected.map((what) => expect.stringMatching(what) as unknown));
  expect(warnings.filter((warning) => !warning.includes(path))).toEqual([]);
  // Reading changed nothing.
  expect(readdirSync(directory.path)).toEqual(["state.yaml"]);
  expect(readFileSync(path).equals(Buffer.from(bytes))).toBe(true);
  expect((await readFleet(directory.path, logger)).agents).toEqual(agents);

  await updateScheduleState(directory.path, "another", "daily", { failure_count: 1 }, { logger });
  const kept = readdirSync(directory.path).filter((name) => name.startsWith("state.yaml.corrupt-"));
  expect(kept).toHaveLength(expected.length === 0 ? 0 : 1);
  expect(kept.filter((name) => !readFileSync(join(directory.path, name)).equals(Buffer.from(bytes)))).toEqual(
    [],
  );
  const after = listening();
  expect((await readFleet(directory.path, after.logger)).agents).toEqual({
    ...agents,
    another: { schedules: { daily: { failure_count: 1 } } },
  });
  // What was damaged is not damaged a second time.
  expect(after.warnings).toEqual([]);
}
