import { describe, expect, it } from "vitest";
import { runStoppedNode, STEPS } from "./stopped-nodes.js";

/** Those between which a claim is taken, kept and ended; all others are part of the crash campaign. */
const TRIED = new Set(["claimDue after", "job before", "renew before", "finishJobs before", "close before"]);

describe.concurrent("a node that is stopped past its lease and goes on", { timeout: 180_000 }, () => {
  it.each(STEPS.filter(({ step, when }) => TRIED.has(`${step} ${when}`)))(
    "writes nothing stale when it stood still $when $step",
    async (step) => {
      const { before, after, untold, breaches } = await runStoppedNode(step);
      expect(after).toEqual(before);
      expect(untold).toEqual([]);
      expect(breaches).toEqual([]);
    },
  );
});
