/** Jobs whose slots others have taken: what becomes of them, and what their records say. */
import { setTimeout } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { describe, expect, inject, it } from "vitest";
import type { Claim, JobEndStatus } from "../../../../src/index.js";
import { Children } from "../../child.js";
import { completeClaim, LEASE_MS, only, scene } from "../scene.js";

const LONG = { agent: "long", schedule: "work" };

describe("a node that was stopped past its lease", () => {
  it("cancels its job when it continues; the result changes no state and is kept in the record", async () => {
    const { schema, node, outsider } = scene();
    const leaseMs = 1_500;
    const other = await node({ clock: undefined, leaseMs: LEASE_MS });
    await using children = new Children();
    const program = fileURLToPath(new URL("../processes/long-job.js", import.meta.url));
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
      error: "superseded: another claim has taken its slot, where this job ended as completed",
      summary: "all done, too late",
      duration_ms: expect.any(Number) as number,
    });
    expect((await other.read(LONG)).claim?.token).toBe(claim.token);
    expect(await completeClaim(other, claim, {})).toBe(true);
  });
});

describe("the end of a job that a node reports late", () => {
  const job = { id: "job-2026-03-01-aaaaaa", agent: "a", trigger: "manual" } as const;
  const end = { status: "interrupted", error: "superseded: x", summary: "kept" } as const;

  it("is added to a record that is still open", async () => {
    const { jobs } = await scene().node();
    await jobs.start(job);
    expect(await jobs.finish(job.id, end)).toBe(true);
    expect(await jobs.get(job.id)).toMatchObject({ error: "superseded: x", summary: "kept" });
  });

  it("replaces, once, the record of a node that took the job for interrupted", async () => {
    const { jobs } = await scene().node();
    await jobs.start(job);
    await jobs.presumeInterrupted([job.id], "not renewed");
    expect(await jobs.finish(job.id, end)).toBe(true);
    expect(await jobs.finish(job.id, { ...end, summary: "again" })).toBe(false);
    expect(await jobs.get(job.id)).toMatchObject({ error: "superseded: x", summary: "kept" });
  });

  it.each<JobEndStatus>(["completed", "failed", "timeout", "cancelled", "interrupted"])(
    "changes nothing when the record is final as %s",
    async (status) => {
      const { jobs } = await scene().node();
      await jobs.start(job);
      await jobs.finish(job.id, { status });
      expect(await jobs.finish(job.id, end)).toBe(false);
      expect(await jobs.get(job.id)).toMatchObject({ status, error: null, summary: null });
    },
  );

  it("is refused for an unknown job", async () => {
    const { jobs } = await scene().node();
    expect(await jobs.finish(job.id, end)).toBe(false);
  });

  it("is not replaced by a node that takes the job for interrupted", async () => {
    const { jobs } = await scene().node();
    await jobs.start(job);
    await jobs.finish(job.id, end);
    await jobs.presumeInterrupted([job.id], "not renewed");
    expect(await jobs.get(job.id)).toMatchObject({ error: "superseded: x" });
  });
});
