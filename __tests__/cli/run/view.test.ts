import { stripVTControlCharacters } from "node:util";
import { describe, expect, it } from "vitest";
import { textWidth } from "../../../src/cli/format/text-width.js";
import type { RunView } from "../../../src/cli/run/run-model.js";
import { viewOf } from "../../../src/cli/run/view.js";
import { paintFor } from "../../../src/cli/format/style.js";
import { runView, JOB, marked, NOON, plain, scheduled } from "./run-view.js";

const WIDE = { columns: 120, rows: 24 };
const minutes = (count: number): string => new Date(NOON.getTime() + count * 60_000).toISOString();

interface Looked {
  readonly monotonicMs?: number;
  readonly now?: Date;
  readonly columns?: number;
  readonly rows?: number;
}

function look(
  view: RunView,
  { monotonicMs = 0, now = NOON, columns = 120, rows = 24 }: Looked = {},
): string[] {
  return viewOf(view, { now, monotonicMs }, { columns, rows }, plain);
}

const cells = (line = ""): string[] => line.split(/ {2,}/);

describe("the live view", () => {
  it("has titles, a line for each schedule in the order of definition, and totals", () => {
    const view = runView({
      schedules: [
        scheduled("b/late", { next_run_at: minutes(90) }),
        scheduled("a/soon", { next_run_at: minutes(5) }),
      ],
    });
    expect(look(view).map((line) => cells(line)[0])).toEqual([
      "",
      "AGENT/SCHEDULE",
      "b/late",
      "a/soon",
      "2 schedules: 0 running | jobs: 0 done, 0 failed | up 0s | .rota",
    ]);
  });

  it("shows the next run of a schedule, a countdown, and the reason", () => {
    const [, , line] = look(runView({ schedules: [scheduled("a/x", { next_run_at: minutes(5) })] }));
    expect(cells(line).slice(1)).toEqual([
      "idle",
      expect.stringMatching(/^\d\d:\d\d:00$/),
      "5m",
      "-",
      "every 1h",
    ]);
  });

  it("shows the date of a run that is not today", () => {
    const [, , line] = look(runView({ schedules: [scheduled("a/x", { next_run_at: minutes(2_880) })] }));
    expect(cells(line)[2]).toMatch(/^03-0[34] \d\d:\d\d:00$/);
  });

  it.each([
    [4_001, "5s"],
    [4_000, "4s"],
    [1, "1s"],
    [0, "now"],
    [-5_000, "now"],
  ])("counts %i ms down as %s", (ms, shown) => {
    const next_run_at = new Date(NOON.getTime() + ms).toISOString();
    const [, , line] = look(runView({ schedules: [scheduled("a/x", { next_run_at })] }));
    expect(cells(line)[3]).toBe(shown);
  });

  it("shows the duration and the id of a running job", () => {
    const view = runView({
      schedules: [scheduled("a/x", { next_run_at: minutes(-1) })],
      running: new Map([["a/x", { jobId: JOB, agent: "a", startedMs: 1_000 }]]),
    });
    const [, , line, footer] = look(view, { monotonicMs: 66_000 });
    expect(cells(line)).toEqual(["a/x", "⠇ running 1m 5s", "-", "-", "-", JOB]);
    expect(footer).toContain("1 schedule: 1 running");
  });

  it("turns its spinner eight times a second", () => {
    const running = new Map([["a/x", { jobId: JOB, agent: "a", startedMs: 0 }]]);
    const view = runView({ schedules: [scheduled("a/x")], running });
    const spinnerAt = (monotonicMs: number): string => cells(look(view, { monotonicMs })[2])[1]?.[0] ?? "";
    expect([0, 124, 125, 250, 1_250].map(spinnerAt)).toEqual(["⠋", "⠋", "⠙", "⠹", "⠋"]);
  });

  it.each([
    ["completed", undefined, "completed 1m ago"],
    ["failed", "no such host", "failed 1m ago: no such host"],
    ["timeout", "too slow", "timeout 1m ago: too slow"],
  ] as const)("shows how a run ended in this process: %s", (status, error, shown) => {
    const last = new Map([["a/x", { status, error, endedAt: new Date(minutes(-1)) }]]);
    const state = { last_run_at: minutes(-50), last_error: "of an older run" };
    const [, , line] = look(runView({ schedules: [scheduled("a/x", state)], last }));
    expect(line).toContain(`  ${shown}  `);
  });

  it.each([
    [null, "completed 3m ago"],
    ["no such host", "failed 3m ago: no such host"],
  ])("shows how an earlier run ended, from the state: %s", (last_error, shown) => {
    const state = { last_run_at: minutes(-5), last_completed_at: minutes(-3), last_error };
    expect(look(runView({ schedules: [scheduled("a/x", state)] }))[2]).toContain(`  ${shown}  `);
  });

  it("shows that a due schedule waits for capacity", () => {
    const view = runView({
      schedules: [scheduled("a/x"), scheduled("a/y", { next_run_at: minutes(-1) })],
      running: new Map([["a/x", { jobId: JOB, agent: "a", startedMs: 0 }]]),
    });
    expect(look(view)[3]).toContain("waiting for capacity: 1 of 1 running");
  });

  it("shows totals: failing, paused and disabled schedules, jobs, and uptime", () => {
    const schedules = [
      scheduled("a/1", { failure_count: 2 }),
      scheduled("a/2", { paused_until: minutes(9) }),
      scheduled("a/3", { status: "disabled" }),
      scheduled("a/4", { status: "disabled" }),
    ];
    const view = runView({ schedules, finishedCount: 12, failedCount: 3, startedMs: 500 });
    expect(look(view, { monotonicMs: 3_600_500 }).at(-1)).toBe(
      "4 schedules: 0 running, 1 failing, 1 paused, 2 disabled | jobs: 12 done, 3 failed | up 1h | .rota",
    );
  });

  it("shows while stopping when jobs are cancelled, and how to exit immediately", () => {
    const running = new Map([["a/x", { jobId: JOB, agent: "a", startedMs: 0 }]]);
    const view = runView({ schedules: [scheduled("a/x")], running, stopsAtMs: 30_000 });
    expect(look(view, { monotonicMs: 5_000 }).at(-1)).toBe(
      "Stopping: 1 running, to be cancelled in 25s. Ctrl-C again exits immediately.",
    );
    expect(look(view, { monotonicMs: 31_000 }).at(-1)).toBe(
      "Stopping: 1 running, being cancelled. Ctrl-C again exits immediately.",
    );
  });

  it("keeps its columns in place when a job starts", () => {
    const state = { next_run_at: minutes(5), last_run_at: minutes(-1) };
    const schedules = [scheduled("a/x", state), scheduled("a/y", state)];
    const running = new Map([["a/x", { jobId: JOB, agent: "a", startedMs: 0 }]]);
    expect(look(runView({ schedules, running }))[1]).toBe(look(runView({ schedules }))[1]);
  });

  it("replaces control characters in names and errors", () => {
    const last = new Map([
      ["a/\u001b[2J", { status: "failed" as const, error: "line\n\u001b]0;title\u0007", endedAt: NOON }],
    ]);
    const shown = look(runView({ schedules: [scheduled("a/\u001b[2J")], last })).join("");
    expect(shown).not.toMatch(/\p{Control}/u);
  });

  it("colours running, failed and completed entries", () => {
    const view = runView({
      schedules: [
        scheduled("a/x"),
        scheduled("a/y", { failure_count: 1, last_error: "no", last_run_at: minutes(-1) }),
      ],
      running: new Map([["a/x", { jobId: JOB, agent: "a", startedMs: 0 }]]),
    });
    const painted = viewOf(view, { now: NOON, monotonicMs: 0 }, WIDE, marked).join("\n");
    expect(painted).toContain("<green>⠋ running 0s</>");
    expect(painted).toContain("<red>failing</>");
    expect(painted).toContain("<red>failed 1m ago: no</>");
    expect(painted).toContain("<dim>2 schedules");
  });
});

describe("a live view on a small terminal", () => {
  const many = Array.from({ length: 50 }, (_, index) =>
    scheduled(`agent/${index}`, { next_run_at: minutes(50 - index) }),
  );
  const running = new Map([["agent/3", { jobId: JOB, agent: "agent", startedMs: 0 }]]);

  it("shows running and next schedules, and how many are hidden", () => {
    const lines = look(runView({ schedules: many, running }), { rows: 9 });
    expect(lines.slice(2).map((line) => cells(line)[0])).toEqual([
      "agent/3",
      "agent/49",
      "agent/48",
      "agent/47",
      "… and 46 more",
      expect.stringContaining("50 schedules"),
    ]);
  });

  it("leaves one row for printed lines, at any height", () => {
    for (let rows = 2; rows < 60; rows++)
      expect(look(runView({ schedules: many, running }), { rows }).length).toBeLessThan(rows);
  });

  it("is a line of totals when no table fits", () => {
    expect(look(runView({ schedules: many, running }), { rows: 4 })).toEqual([
      expect.stringContaining("50 schedules: 1 running"),
    ]);
  });

  it("is narrower than the terminal at any width, with colours and without", () => {
    const error = "a long error that says a lot about what went wrong";
    const schedules = [
      scheduled("agent-with-a-long-name/and-a-schedule", { last_error: error, last_run_at: minutes(-1) }),
      ...many,
    ];
    const view = runView({ schedules, running });
    const painted = paintFor({ isTTY: true, write: () => {} }, { FORCE_COLOR: "1" });
    for (let columns = 2; columns < 140; columns++)
      for (const line of viewOf(view, { now: NOON, monotonicMs: 0 }, { columns, rows: 30 }, painted))
        expect(textWidth(stripVTControlCharacters(line))).toBeLessThan(columns);
  });
});
