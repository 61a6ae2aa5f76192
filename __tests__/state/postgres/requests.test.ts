/** What is asked of several schedulers on one schema is done by the one that can. */
import { describe, expect, inject, it, onTestFinished } from "vitest";
import { askScheduler, type Job, Scheduler } from "../../../src/index.js";
import { PostgresStore } from "../../../src/state/postgres/index.js";
import { key, only, planAll, scene } from "./scene.js";

const AGENTS = ["one", "two", "three"];

/** A scheduler for each of the agents, whose jobs last until they are told to end. */
async function startAll(schema: string): Promise<void> {
  const logger = { info() {}, warn() {}, error() {} };
  for (const name of AGENTS) {
    const store = new PostgresStore({ connectionString: inject("databaseUrl"), schema, logger });
    const scheduler = new Scheduler({ store, logger });
    onTestFinished(() => scheduler.stop({ waitForJobs: false }));
    const run = ({ signal }: Job): Promise<void> =>
      new Promise((_, reject) => {
        signal.addEventListener("abort", () => reject(new Error("told to end")));
      });
    await scheduler.start([{ name, schedules: { work: { type: "webhook" } }, run }]);
  }
}

describe("schedulers that share a schema", () => {
  it("run what is asked for where it is known", async () => {
    const { schema, outsider } = scene();
    await startAll(schema);
    const store = outsider({ clock: undefined });
    for (const agent of AGENTS) {
      const answer = await askScheduler(store, { agent, schedule: "work" }, { action: "run" });
      expect(answer).toMatchObject({ job_id: expect.any(String) as string });
    }
  });

  it("cancel a job where it runs", async () => {
    const { schema, outsider } = scene();
    await startAll(schema);
    const store = outsider({ clock: undefined });
    for (const agent of AGENTS) {
      const work = { agent, schedule: "work" };
      const { job_id = "" } = (await askScheduler(store, work, { action: "run" })) ?? {};
      const cancel = { action: "cancel", job_id } as const;
      expect(await askScheduler(store, work, cancel, { timeoutMs: 3_000 })).toMatchObject({ job_id });
    }
  });
});

describe("a change to a schedule that is claimed here", () => {
  it("is decided on what others have written meanwhile", async () => {
    const { node, outsider } = scene();
    const one = await node();
    await planAll([one], ["a/x"]);
    only((await one.claimDue(10)).claims);
    await outsider().update(key("a/x"), { failure_count: 7 });
    let found: number | null | undefined;
    await one.update(key("a/x"), ({ failure_count }) => {
      found = failure_count;
      return {};
    });
    expect(found).toBe(7);
  });
});
