/** Schedulers on machines whose clocks are wrong, all on one schema. They run the build. */
import { setTimeout } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { describe, expect, inject, it } from "vitest";
import type { JobRecord } from "../../../../src/index.js";
import { Children } from "../../child.js";
import { scene } from "../scene.js";
import { sharedPool } from "../schema.js";

const SKEWS = ["600000", "-600000", "31536000000", "-31536000000"];
const GRID_MS = 2_000;
const program = fileURLToPath(new URL("../processes/skewed-scheduler.js", import.meta.url));

async function databaseMs(): Promise<number> {
  const { rows } = await sharedPool().query(
    "select floor(extract(epoch from clock_timestamp()) * 1000)::float8 as ms",
  );
  return Number(rows[0]?.["ms"]);
}

const times = (jobs: readonly JobRecord[]): number[] =>
  jobs.flatMap(({ slot, started_at, finished_at }) =>
    [slot, started_at, finished_at].flatMap((at) => (at === null ? [] : [Date.parse(at)])),
  );

describe("schedulers whose clocks are wrong by ten minutes and by a year", () => {
  it("run every slot once and at the database's time, and say so", async () => {
    const { schema, outsider } = scene();
    const store = outsider({ clock: undefined });
    const beganMs = await databaseMs();
    await using children = new Children();
    const nodes = SKEWS.map((skewMs) => children.start(program, [skewMs, inject("databaseUrl"), schema]));
    for (const node of nodes) await node.line((line) => line === "ready");
    for (const node of nodes) await node.linesOf("own", 3);
    let shared: readonly JobRecord[] = [];
    while (shared.length < 4) {
      await setTimeout(100);
      shared = await store.jobs.list({ agent: "shared", status: "completed" });
    }
    for (const node of nodes) node.endInput();
    for (const node of nodes) await node.end();
    const endedMs = await databaseMs();

    for (const node of nodes)
      expect(node.lines.filter((line) => line !== "own")).toEqual(["ready", "answered", "stopped"]);
    const jobs = await store.jobs.list({ limit: Infinity });
    expect(jobs.filter(({ agent }) => agent === "outsider")).toHaveLength(SKEWS.length);
    for (const atMs of times(jobs)) {
      expect(atMs).toBeGreaterThanOrEqual(beganMs);
      expect(atMs).toBeLessThanOrEqual(endedMs);
    }
    for (const { slot, started_at } of jobs.filter((job) => job.slot !== null))
      expect(Date.parse(started_at)).toBeGreaterThanOrEqual(Date.parse(slot ?? ""));
    const slots = jobs.filter(({ agent }) => agent === "shared").map(({ slot }) => Date.parse(slot ?? ""));
    expect(slots.filter((slot) => slot % GRID_MS !== 0)).toEqual([]);
    expect(new Set(slots).size).toBe(slots.length);
    expect(await store.read({ agent: "shared", schedule: "grid" })).not.toHaveProperty("missed_count");
  });
});
