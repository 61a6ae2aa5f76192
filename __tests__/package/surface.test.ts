import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import * as rota from "../../src/index.js";
import * as scheduler from "../../src/scheduler/index.js";
import { thrownBy } from "../thrown-by.js";
import { root } from "./pages.js";

const SCHEDULER = [
  "CronParseError",
  "IntervalParseError",
  "ScheduleDefinitionError",
  "ScheduleTriggerError",
  "Scheduler",
  "SchedulerError",
  "SchedulerShutdownError",
  "TimezoneError",
  "buildSchedulePrompt",
  "calculateNextTrigger",
  "checkSchedule",
  "explainNextRun",
  "getAgentScheduleStates",
  "getScheduleState",
  "isScheduleDue",
  "isValidCronExpression",
  "judgeSlot",
  "nextCronRun",
  "nextCronRuns",
  "parseCronExpression",
  "parseInterval",
  "planNextRun",
  "previousCronRun",
  "recordOutcome",
  "runSchedule",
  "updateScheduleState",
  "validateSchedule",
];

describe("the public surface", () => {
  it("of rota/scheduler has exactly the listed names", () => {
    expect(Object.keys(scheduler).toSorted()).toEqual(SCHEDULER);
  });

  it("of rota has the names of rota/scheduler and of the layers below", () => {
    const below = [
      "ConfigError",
      "FakeClock",
      "FileStore",
      "JobExecutor",
      "MemoryStore",
      "MemoryWork",
      "RotaError",
      "RunnerError",
      "RuntimeRegistry",
      "StateError",
      "StateFileError",
      "StateLockedError",
      "WorkSourceError",
      "WorkSourceManager",
      "WorkSourceRegistry",
      "askScheduler",
      "completeClaim",
      "readFleetState",
      "registerWorkSource",
      "releaseClaim",
      "seededRandom",
      "systemClock",
      "systemRandom",
      "writeFleetState",
    ];
    expect(Object.keys(rota).toSorted()).toEqual([...SCHEDULER, ...below].toSorted());
  });
});

describe("the sections of the API reference", () => {
  it("begin with everyday use, and have every name once", async () => {
    const { sectionsOf } = (await import(join(root, "site/sections.js"))) as {
      sectionsOf: (text: string) => readonly { readonly title: string; readonly names: readonly string[] }[];
    };
    const text = readFileSync(join(root, "src/index.ts"), "utf8");
    const sections = sectionsOf(text);
    const names = sections.flatMap((section) => section.names);
    expect(sections[0]?.title).toBe("Everyday use");
    expect(sections[0]?.names.length).toBeLessThanOrEqual(30);
    expect(new Set(names).size).toBe(names.length);
    expect(Object.keys(rota).filter((name) => !names.includes(name))).toEqual([]);
    // A type that has a different name in its own file.
    expect(sections[0]?.names).toContain("Job");
    expect(text.split("// ##")[0]).not.toContain("export");
  });
});

describe("every error", () => {
  it.each([
    ["IntervalParseError", () => rota.parseInterval("5x")],
    ["CronParseError", () => rota.parseCronExpression("5x")],
    ["TimezoneError", () => rota.nextCronRun("@daily", new Date(0), "Mars/Olympus")],
    ["ScheduleDefinitionError", () => rota.validateSchedule({ type: "once", at: "soon" })],
    ["SchedulerError", () => rota.nextCronRuns("@daily", -1)],
  ])("shows its name, %s, in its stack, and has a code and the common bases", (name, act) => {
    const thrown = thrownBy(act);
    expect(thrown).toBeInstanceOf(rota.SchedulerError);
    expect(thrown).toBeInstanceOf(rota.RotaError);
    expect(thrown).toMatchObject({ name, code: expect.stringMatching(/^[A-Z_]+$/) as string });
    expect((thrown as Error).stack).toMatch(new RegExp(`^${name}: `));
  });

  it("keeps its cause", () => {
    expect(() => rota.nextCronRun("@daily", new Date(0), "Mars/Olympus")).toThrow(
      expect.objectContaining({ cause: expect.any(RangeError) as Error, timezone: "Mars/Olympus" }),
    );
  });
});
