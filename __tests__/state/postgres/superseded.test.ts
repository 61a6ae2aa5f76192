/** Jobs whose slots others have taken: what becomes of them, and what their records say. */
import { setTimeout } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { describe, expect, inject, it } from "vitest";
import type { Claim, JobEndStatus, NamedJob } from "../../../src/index.js";
import { Children } from "../child.js";
import { completeClaim, LEASE_MS, only, scene } from "./scene.js";

const LONG = { agent: "long", schedule: "work" };

describe("a node that was stopped past its lease", () => {
  it("tells its job to end when it goes on, whose result changes nothing and is told in its record", async () => {
    const { schema, node, outsider } = scene();
    const leaseMs = 1_500;
    const other = await node({ clock: undefined, leaseMs: LEASE_MS });
    await using children = new Children();
    const program = fileURLToPath(new URL("processes/long-job.js", import.meta.url));
    const child = children.start(program, [inject("databaseUrl"), schema, String(leaseMs)]);
    await child.line((line) => line === "started");
    const log = outsider({ clock: undefined }).jobs;
    while ((await log.list()).length === 0) await setTimeout(20);
    child.signal("SIGSTOP");
    await other.define({ schedules: [LONG] });
    let claims: readonly Claim[] = [];
    while (claims.length === 0) {
      await setTimeout(50);
      ({ claims } = await other.claimDue(10));
    }
    const claim = only(claims);
    const [before] = await log.list({ agent: "long" });
    expect(before).toMatchObject({ status: "interrupted", duration_ms: null, summary: null });
    expect(child.lines).toEqual(["started"]);

    child.signal("SIGCONT");
    await child.line((line) => line.startsWith("told"));
    child.say("end");
    await child.line((line) => line === "finished interrupted");
    expect(await log.get(before?.id ?? "")).toMatchObject({
      status: "interrupted",
      error: "superseded: another has taken over its slot, where this job ended as completed",
      summary: "all done, too late",
      duration_ms: expect.any(Number) as number,
    });
    expect((await other.read(LONG)).claim?.token).toBe(claim.token);
    expect(await completeClaim(other, claim, {})).toBe(true);
  });
});

describe("the end of a job whose slot another has taken", () => {
  const job = { id: "job-2026-03-01-aaaaaa", agent: "a", trigger: "manual" } as const satisfies NamedJob;
  const end = { id: job.id, status: "interrupted", error: "superseded: x", summary: "kept" } as const;

  it("is added to a record that is still open", async () => {
    const { jobs } = await scene().node();
    await jobs.start(job);
    expect(await jobs.finishAll([end])).toEqual([true]);
    expect(await jobs.get(job.id)).toMatchObject({ error: "superseded: x", summary: "kept" });
  });

  it("is added to a record that another has closed without having seen it, once", async () => {
    const { jobs } = await scene().node();
    await jobs.start(job);
    await jobs.presumeInterrupted([job.id], "not renewed");
    expect(await jobs.finishAll([end])).toEqual([true]);
    expect(await jobs.finishAll([{ ...end, summary: "again" }])).toEqual([false]);
    expect(await jobs.get(job.id)).toMatchObject({ error: "superseded: x", summary: "kept" });
  });

  it.each<JobEndStatus>(["completed", "failed", "timeout", "cancelled", "interrupted"])(
    "changes nothing where somebody saw that it ended as %s",
    async (status) => {
      const { jobs } = await scene().node();
      await jobs.start(job);
      await jobs.finish(job.id, { status });
      expect(await jobs.finishAll([end])).toEqual([false]);
      expect(await jobs.get(job.id)).toMatchObject({ status, error: null, summary: null });
    },
  );

  it("is nothing for a job that is unknown", async () => {
    const { jobs } = await scene().node();
    expect(await jobs.finishAll([end])).toEqual([false]);
  });

  it("is not taken away by who closes it without having seen it", async () => {
    const { jobs } = await scene().node();
    await jobs.start(job);
    await jobs.finishAll([end]);
    await jobs.presumeInterrupted([job.id], "not renewed");
    expect(await jobs.get(job.id)).toMatchObject({ error: "superseded: x" });
  });
});
