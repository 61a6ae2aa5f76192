/** What a scheduler on a shared store records of jobs whose slots another has taken. */
import { describe, expect, it } from "vitest";
import type { JobRecord, ScheduleKey } from "../../../src/index.js";
import { agent, every, type GatedScene, gatedScene } from "../scene.js";

const WORK: ScheduleKey = { agent: "a", schedule: "work" };

/** A job of two minutes whose slot is taken meanwhile, as by another scheduler. */
async function superseded(
  isShared: boolean,
  end: () => unknown,
): Promise<GatedScene & { ended: JobRecord[] }> {
  const set = gatedScene({ leaseMs: 30_000, isShared });
  const ended: JobRecord[] = [];
  set.scheduler.on("job:finished", ({ job }) => ended.push(job));
  const run = async (): Promise<unknown> => {
    await set.clock.sleep("2m");
    return end();
  };
  await set.scheduler.start([agent("a", { work: every("1h") }, { run })]);
  await set.clock.advance("5s");
  set.store.fail("renew", new Error("away"), 1_000);
  for (let second = 0; second < 40; second++) await set.clock.advance("1s");
  await set.store.claimDue(10);
  for (let second = 0; second < 120; second++) await set.clock.advance("1s");
  return { ...set, ended };
}

describe("a job whose slot was claimed again", () => {
  it("is recorded as interrupted, with its own end and summary", async () => {
    const { ended } = await superseded(true, () => "all is well");
    expect(ended).toMatchObject([
      {
        status: "interrupted",
        error: "superseded: another claim has taken its slot, where this job ended as completed",
        summary: "all is well",
      },
    ]);
  });

  it("says in its record that it was stopped before", async () => {
    const { ended } = await superseded(true, () => {
      throw new Error("no answer");
    });
    expect(ended[0]?.error).toMatch(
      /^superseded: .* ended as interrupted: interrupted: its claim could not be renewed/,
    );
  });

  it("changes nothing in the state", async () => {
    const { store } = await superseded(true, () => "all is well");
    const state = await store.read(WORK);
    expect(state).toMatchObject({ status: "running" });
    expect(state).not.toHaveProperty("last_completed_at");
  });

  it("is recorded the same way on a store with one owner", async () => {
    const { ended } = await superseded(false, () => "all is well");
    expect(ended).toMatchObject([{ status: "interrupted", summary: "all is well" }]);
  });
});
