import { describe, expect, it } from "vitest";
import { buildSchedulePrompt } from "../../../src/index.js";
import { workItem } from "../work-item.js";

describe("the prompt of a job", () => {
  it("is its schedule's", () => {
    expect(buildSchedulePrompt({ prompt: "Read the news." })).toBe("Read the news.");
  });

  it("is a common one where the schedule has none", () => {
    expect(buildSchedulePrompt({})).toBe("Execute scheduled task");
  });

  it("goes on with all that is known of the work item", () => {
    const item = workItem({
      description: "Nobody can log in.",
      labels: ["bug", "web"],
      url: "https://example.org/7",
    });
    expect(buildSchedulePrompt({ prompt: "Do this:" }, item)).toBe(
      [
        "Do this:",
        "# Fix the login",
        "Nobody can log in.",
        "Source: list\nId: list:7\nPriority: high\nLabels: bug, web\nURL: https://example.org/7",
      ].join("\n\n"),
    );
  });

  it("leaves out what the item does not have", () => {
    expect(buildSchedulePrompt({}, workItem())).toBe(
      "Execute scheduled task\n\n# Fix the login\n\nSource: list\nId: list:7\nPriority: high",
    );
  });
});
