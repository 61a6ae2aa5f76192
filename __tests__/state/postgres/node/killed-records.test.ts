/** Jobs of a node that died before it had recorded them. */
import { setTimeout } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { describe, expect, inject, it } from "vitest";
import { Children } from "../../child.js";
import { key, LEASE_MS, only, planAll, scene, START } from "../scene.js";

describe("a job whose node died before it had recorded it", () => {
  it("has a record after kill -9, all twenty of them, made from their claims", async () => {
    const { schema, node } = scene();
    const leaseMs = 1_000;
    const other = await node({ clock: undefined, leaseMs });
    await using children = new Children();
    const program = fileURLToPath(new URL("../processes/claim-without-record.js", import.meta.url));
    const child = children.start(program, [inject("databaseUrl"), schema, String(leaseMs)]);
    const ids = (await child.line((line) => line.startsWith("job-"))).split(" ");
    child.signal("SIGKILL");
    expect(ids).toHaveLength(20);
    await other.define({ schedules: ids.map((_, index) => key(`reader/s${index}`)) });
    while ((await other.jobs.list()).length === 0) {
      await setTimeout(100);
      await other.claimDue(0);
    }
    const records = await other.jobs.list();
    expect(records.map(({ id }) => id).toSorted()).toEqual(ids.toSorted());
    for (const record of records)
      expect(record).toMatchObject({ status: "interrupted", trigger: "cron", source: "baseline-cron" });
  });

  it("is replaced by the report of its node, if that node lives", async () => {
    const { node, clock } = scene();
    const [one, two] = [await node(), await node()];
    await planAll([one, two], ["a/x"]);
    const { jobId: id, token } = only((await one.claimDue(10)).claims);
    await clock.advance(LEASE_MS);
    await two.claimDue(10);
    const presumed = await two.jobs.get(id);
    if (presumed?.finished_at == null) throw new Error("Expected a final record.");
    expect(presumed).toMatchObject({
      status: "interrupted",
      error: "its claim was not renewed in time",
      started_at: START,
      slot: START,
      attempt: 1,
      duration_ms: null,
    });
    const record = { ...presumed, status: "completed", finished_at: presumed.finished_at } as const;
    const claim = { ...key("a/x"), token, jobId: id };
    expect(await one.finishJobs([{ claim, change: {}, record }])).toEqual([
      { claim: "superseded", record: "written" },
    ]);
    expect((await two.jobs.get(id))?.error).toMatch(/^superseded: .* ended as completed/);
  });

  it("has a record where the node closes while the job still runs", async () => {
    const { node } = scene();
    const one = await node();
    await planAll([one], ["a/x"]);
    only((await one.claimDue(10)).claims);
    await one.close();
    expect((await one.jobs.list()).map(({ status }) => status)).toEqual(["interrupted"]);
  });
});

describe("a record that was opened without a node", () => {
  it("is closed as interrupted after a day, when a node opens or shows that it lives", async () => {
    const { outsider, node, clock } = scene();
    const { id } = await outsider().jobs.start({ agent: "a", trigger: "manual", started_at: START });
    await clock.advance("23h");
    const one = await node();
    expect((await one.jobs.get(id))?.status).toBe("running");
    await clock.advance("2h");
    await one.claimDue(1);
    expect((await one.jobs.get(id))?.status).toBe("interrupted");
  });
});

describe("a node that opens", () => {
  it("closes the records of nodes that are gone", async () => {
    const { node, clock } = scene();
    const one = await node();
    const { id } = await one.jobs.start({ agent: "a", trigger: "manual", started_at: START });
    await clock.advance(2 * LEASE_MS);
    const two = await node();
    expect((await two.jobs.get(id))?.status).toBe("interrupted");
  });
});
