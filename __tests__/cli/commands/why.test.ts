import { describe, expect, it } from "vitest";
import { NO_END } from "../../../src/scheduler/planning/state-after-job.js";
import type { NewJob } from "../../../src/state/job-log/job-log.js";
import { Scene } from "../scene.js";
import { NOW } from "../terminal.js";

const FLEET = `
version: 1
agents:
  - name: reports
    runtime: command
    command: [node, --version]
    schedules:
      nightly: { type: cron, expression: "47 3 * * *", timezone: UTC, on_failure: pause }
      often: { type: interval, interval: 1h }
      hook: { type: webhook }
`;

function sceneOf(): Scene {
  const scene = new Scene();
  scene.write(FLEET);
  return scene;
}

interface Answer {
  readonly verdict: string;
  readonly answer: readonly string[];
  readonly jobs: readonly { readonly id: string }[];
}

async function why(scene: Scene, ...args: string[]): Promise<Answer> {
  expect(await scene.run("why", ...args, "--json")).toBe(0);
  return scene.json as Answer;
}

/** A job of reports/nightly, from one time of today to the next. */
function job(scene: Scene, from: string, to: string, more: Partial<NewJob> = {}): Promise<string> {
  const at = (time: string): string => `2026-03-01T${time}Z`;
  const start = { schedule: "nightly", trigger: "cron", source: "baseline-cron", ...more } as const;
  const minutes = (Date.parse(at(to)) - Date.parse(at(from))) / 60_000;
  return scene.job(
    { ...start, started_at: at(from) },
    { status: "completed", finished_at: at(to), duration_ms: minutes * 60_000 },
  );
}

describe("rota why at a time in the past", () => {
  it("names the job that ran, its reason and its end", async () => {
    const scene = sceneOf();
    const id = await job(scene, "03:47:00", "03:49:00", { slot: "2026-03-01T03:47:00Z" });
    expect(await scene.run("why", "reports/nightly", "--at", "03:47")).toBe(0);
    expect(scene.lines).toEqual([
      "reports/nightly at 2026-03-01T03:47:00+00:00",
      expect.stringMatching(
        new RegExp(`^  ${id} started at \\S+ \\(its cron time\\) and completed after 2m\\.$`),
      ),
    ]);
    expect(await why(scene, "reports/nightly", "--at", "03:47")).toMatchObject({
      verdict: "ran",
      jobs: [{ id }],
    });
  });

  it("finds the job of a slot that started late, and what it waited for", async () => {
    const scene = sceneOf();
    const other = await job(scene, "03:00:00", "04:00:00", { schedule: "often", trigger: "interval" });
    const id = await job(scene, "04:00:00", "04:01:00", { slot: "2026-03-01T03:47:00Z" });
    const { verdict, answer } = await why(scene, "reports/nightly", "--at", "03:47");
    expect(verdict).toBe("ran");
    expect(answer[0]).toContain(`${id} started at`);
    expect(answer[1]).toBe(`It waited 13m: its agent was at capacity with ${other} of reports/often`);
  });

  it("names the job that still ran when a slot was skipped", async () => {
    const scene = sceneOf();
    const id = await job(scene, "03:30:00", "03:52:00", { slot: "2026-03-01T03:30:00Z", trigger: "manual" });
    const { verdict, answer, jobs } = await why(scene, "reports/nightly", "--at", "03:47");
    expect([verdict, jobs[0]?.id]).toEqual(["skipped", id]);
    expect(answer[0]).toContain("the job before was still running");
  });

  it("names the jobs that filled the agent's capacity when a slot was not run", async () => {
    const scene = sceneOf();
    const id = await job(scene, "03:00:00", "04:00:00", { schedule: "often", trigger: "interval" });
    const { verdict, answer, jobs } = await why(scene, "reports/nightly", "--at", "03:47");
    expect([verdict, jobs[0]?.id]).toEqual(["skipped", id]);
    expect(answer[0]).toContain("its agent was at capacity");
  });

  it("says that a slot was missed", async () => {
    const scene = sceneOf();
    await scene.state("reports/nightly", { missed_count: 3, last_missed_at: "2026-03-01T03:47:00Z" });
    const { verdict, answer } = await why(scene, "reports/nightly", "--at", "03:47");
    expect(verdict).toBe("missed");
    expect(answer[0]).toContain("no scheduler could start it in time");
    expect(answer[0]).toContain("3 in all");
  });

  it("says that a slot found no work", async () => {
    const scene = sceneOf();
    await scene.state("reports/nightly", { no_work_count: 2, last_no_work_at: "2026-03-01T03:47:01Z" });
    const noWork = "It found no work 2 times, the last time at 2026-03-01T03:47:01+00:00";
    expect(await why(scene, "reports/nightly", "--at", "03:47")).toMatchObject({
      verdict: "skipped",
      answer: ["It found no work, so no job was started", noWork],
    });
    const before = await why(scene, "reports/nightly", "--at", "2026-02-28 03:47");
    expect([before.verdict, before.answer.at(-1)]).toEqual(["unknown", noWork]);
    expect((await why(scene, "reports/nightly")).answer).toContain(noWork);
    await scene.run("describe", "reports/nightly");
    expect(scene.out).toMatch(/No work +2 times, the last at 2026-03-01T03:47:01/);
  });

  it("says that the schedule is paused, and that the beginning is not recorded", async () => {
    const scene = sceneOf();
    await scene.state("reports/nightly", { paused_until: NO_END });
    const { verdict, answer } = await why(scene, "reports/nightly", "--at", "03:47");
    expect(verdict).toBe("paused");
    expect(answer[0]).toContain("since when is not recorded");
  });

  it("says when cron was not due, and the times around", async () => {
    const { verdict, answer } = await why(sceneOf(), "reports/nightly", "--at", "05:00");
    expect(verdict).toBe("not_due");
    expect(answer[0]).toBe(
      "It was not due: cron 47 3 * * * UTC. The time before is 2026-03-01T03:47:00+00:00, the next 2026-03-02T03:47:00+00:00",
    );
  });

  it("says from which job an interval counted", async () => {
    const scene = sceneOf();
    const id = await job(scene, "03:00:00", "03:10:00", { schedule: "often", trigger: "interval" });
    const { verdict, answer } = await why(scene, "reports/often", "--at", "2026-03-01T03:47:00Z");
    expect(verdict).toBe("not_due");
    expect(answer[0]).toContain(`every 1h, counted from the end of ${id}`);
  });

  it("says what it does not know", async () => {
    const scene = sceneOf();
    expect(await why(scene, "reports/nightly", "--at", "03:47")).toMatchObject({
      verdict: "unknown",
      answer: [
        expect.stringContaining("why is not recorded"),
        "No job of this schedule is recorded",
        "No scheduler runs now",
      ],
    });
    await job(scene, "10:00:00", "10:01:00", { trigger: "manual" });
    expect((await why(scene, "reports/nightly", "--at", "03:47")).answer[1]).toContain(
      "The oldest recorded job",
    );
  });

  it("says that a schedule runs on request only", async () => {
    expect(await why(sceneOf(), "reports/hook", "--at", "03:47")).toMatchObject({ verdict: "on_request" });
  });
});

describe("rota why at a time to come", () => {
  it.each([
    ["tomorrow 03:47", {}, "planned", "It is planned to run at 2026-03-02T03:47:00+00:00 (baseline-cron)"],
    ["tomorrow 04:00", {}, "not_due", "It is not due then. The next run is at 2026-03-03T03:47:00+00:00"],
    ["tomorrow 03:47", { paused_until: NO_END }, "paused", "paused until it is resumed"],
    ["tomorrow 03:47", { paused_until: "2026-03-04T00:00:00Z" }, "paused", "it is paused until 2026-03-04"],
    ["tomorrow 03:47", { status: "disabled" }, "disabled", "it is disabled"],
  ] as const)("answers for %s with the state %j: %s", async (at, state, verdict, text) => {
    const scene = sceneOf();
    await scene.state("reports/nightly", state);
    const answer = await why(scene, "reports/nightly", "--at", at);
    expect([answer.verdict, answer.answer[0]]).toEqual([verdict, expect.stringContaining(text)]);
  });
});

describe("rota why now", () => {
  it("says when it runs next, the rules that led there, and how the last job ended", async () => {
    const scene = sceneOf();
    const id = await job(scene, "11:00:00", "11:30:00", { schedule: "often", trigger: "interval" });
    await scene.state("reports/often", {
      last_completed_at: "2026-03-01T11:30:00Z",
      next_run_at: "2026-03-01T13:30:00Z",
      next_run_source: "baseline-interval",
      failure_count: 1,
    });
    const { verdict, answer } = await why(scene, "reports/often");
    expect(verdict).toBe("planned");
    expect(answer).toEqual([
      "Failing: every 1h, slower after a failure",
      "No scheduler runs, so nothing will start",
      expect.stringMatching(/^Next run: .* \(in 1h 30m\)$/),
      expect.stringMatching(/^Its own rule says: /),
      expect.stringMatching(/^Slower after failures: /),
      expect.stringContaining(`Last job: ${id} started at`),
    ]);
  });

  it.each([
    [{ paused_until: NO_END }, "paused", "Paused until it is resumed"],
    [
      { paused_until: NO_END, failure_count: 1 },
      "paused",
      "Paused until it is resumed, because it failed (on_failure: pause)",
    ],
    [{ status: "disabled" }, "disabled", "Disabled"],
    [{ next_run_at: "2026-03-01T11:00:00Z" }, "waiting", "Idle: due, but no scheduler runs"],
  ] as const)("answers for the state %j: %s", async (state, verdict, text) => {
    const scene = sceneOf();
    await scene.state("reports/nightly", state);
    const answer = await why(scene, "reports/nightly");
    expect([answer.verdict, answer.answer[0]]).toEqual([verdict, text]);
  });

  it("says that no scheduler has planned it, and when one would run it", async () => {
    expect(await why(sceneOf(), "reports/nightly")).toMatchObject({
      verdict: "planned",
      answer: ["Idle: not planned yet: no scheduler runs", "Next run: 2026-03-02T03:47:00+00:00 (in 15h)"],
    });
  });

  it("says since when it is due, without the rules of a later plan", async () => {
    const scene = sceneOf();
    await scene.state("reports/often", {
      last_completed_at: "2026-03-01T10:00:00Z",
      next_run_at: "2026-03-01T11:30:00Z",
      next_run_source: "baseline-interval",
      failure_count: 1,
    });
    expect(await why(scene, "reports/often")).toMatchObject({
      verdict: "waiting",
      answer: ["Failing: due, but no scheduler runs", "Due since: 2026-03-01T11:30:00+00:00 (30m ago)"],
    });
  });

  it.each([
    ["a hint", ["hint", "reports/nightly", "--at", "10m"], "2026-03-01T12:10:00+00:00 (in 10m)"],
    ["a pause", ["pause", "reports/nightly", "--for", "30h"], "2026-03-02T18:00:00+00:00 (in 1d 6h)"],
  ])("takes %s into account that no scheduler has seen yet", async (_, change, next) => {
    const scene = sceneOf();
    await scene.state("reports/nightly", {
      last_completed_at: "2026-03-01T03:48:00Z",
      next_run_at: "2026-03-02T03:47:00Z",
      next_run_source: "baseline-cron",
    });
    expect(await scene.run(...change)).toBe(0);
    expect((await why(scene, "reports/nightly")).answer[2]).toBe(`Next run: ${next}`);
  });

  it("names the command that explains a job", async () => {
    const scene = sceneOf();
    expect(await scene.run("why", "job-2026-03-01-aaaaaaaa")).toBe(2);
    expect(scene.err).toContain("`rota describe job-2026-03-01-aaaaaaaa` says why it ran");
  });

  it("names the running job", async () => {
    const scene = sceneOf();
    await using _ = await scene.owned();
    const claim = { token: "t", job_id: "job-2026-03-01-aaaaaaaa", slot: NOW, claimed_at: NOW };
    await scene.state("reports/nightly", { status: "running", claim });
    expect(await why(scene, "reports/nightly")).toMatchObject({
      verdict: "running",
      answer: ["Running job-2026-03-01-aaaaaaaa"],
    });
  });

  it("exits with 3 for an unknown schedule, and with 2 for an invalid time", async () => {
    const scene = sceneOf();
    expect(await scene.run("why", "reports/weekly")).toBe(3);
    expect(await scene.run("why", "reports/nightly", "--at", "soon")).toBe(2);
  });
});
