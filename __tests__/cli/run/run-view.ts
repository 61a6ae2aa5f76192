/** A model for tests of the live view, with schedules from short texts. */
import type { FleetSchedule } from "../../../src/cli/fleet/fleet.js";
import type { RunView } from "../../../src/cli/run/run-model.js";
import type { Paint } from "../../../src/cli/format/style.js";
import type { ScheduleState } from "../../../src/index.js";
import { every } from "../../scheduler/scene.js";

export const NOON: Date = new Date("2026-03-01T12:00:00.000Z");
export const JOB = "job-2026-03-01-aaaaaa";
export const plain: Paint = (_, text) => text;
/** Shows where a style begins and ends. */
export const marked: Paint = (style, text) => `<${style}>${text}</>`;

export function scheduled(name: string, state: Partial<ScheduleState> = {}): FleetSchedule {
  const [agent = "", schedule = ""] = name.split("/");
  const definition = every("1h");
  return {
    agent,
    schedule,
    origin: "configured",
    agentDefinition: { name: agent, schedules: { [schedule]: definition } },
    definition,
    state: { status: "idle", next_run_source: "baseline-interval", ...state },
  };
}

export function runView(parts: Partial<RunView> = {}): RunView {
  return {
    schedules: [],
    running: new Map(),
    last: new Map(),
    finishedCount: 0,
    failedCount: 0,
    startedMs: 0,
    stopsAtMs: undefined,
    location: ".rota",
    ...parts,
  };
}
