import { describe, expect, it } from "vitest";
import { type WhyAnswer, whyThen } from "../../../src/cli/fleet/why-then.js";

const SLOT = "2026-03-01T03:47:00.000Z";

/** Why nothing ran at the slot, which is counted as not run. `runningSince`: when the running scheduler started. */
function answerFor(runningSince: string): WhyAnswer {
  const definition = { type: "cron", expression: "47 3 * * *", timezone: "UTC" } as const;
  const question = {
    schedule: {
      agent: "a",
      schedule: "x",
      origin: "configured",
      agentDefinition: undefined,
      definition,
      state: { status: "idle", missed_count: 2, last_missed_at: SLOT },
    },
    jobs: [],
    now: new Date("2026-03-01T12:00:00Z"),
    isSchedulerRunning: true,
    runningSince: new Date(runningSince),
    load: undefined,
  } as const;
  return whyThen(question, new Date(SLOT));
}

describe("the reason of a slot that was dropped", () => {
  it("is a missing scheduler if the running one started later", () => {
    const { verdict, sentences } = answerFor("2026-03-01T09:00:00Z");
    expect([verdict, sentences[0]]).toEqual([
      "missed",
      expect.stringContaining("no scheduler could start it in time"),
    ]);
  });

  it("is not a missing scheduler if one ran", () => {
    const { verdict, sentences } = answerFor("2026-03-01T03:00:00Z");
    expect(verdict).toBe("missed");
    expect(sentences[0]).toContain("was dropped although a scheduler ran");
    expect(sentences[1]).toContain("paused or disabled then");
  });
});
