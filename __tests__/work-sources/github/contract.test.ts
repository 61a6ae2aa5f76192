/** The contract of all work sources, for the issues of a repository. GitHub sends times in whole seconds. */
import { FakeClock } from "../../../src/clock.js";
import { describeWorkSource } from "../../contract/work-source-contract.js";
import { HOUR_MS, startScene } from "./scene.js";

describeWorkSource(
  "a GitHub repository",
  async () => {
    const clock = new FakeClock();
    const { github, source } = await startScene({ clock });
    return {
      clock,
      add: async ({ title, priority = "medium", created_at }) => {
        const labels = ["ready", `priority:${priority}`];
        github.addIssue(created_at === undefined ? { title, labels } : { title, labels, created_at });
      },
      connect: () => source({}, clock),
    };
  },
  { claimExpiryMs: HOUR_MS, leastMs: 1_000 },
);
