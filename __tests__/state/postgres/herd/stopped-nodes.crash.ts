import { describe, expect, it } from "vitest";
import { runStoppedNode, STEPS } from "./stopped-nodes.js";

describe.concurrent("a node that is stopped past its lease and goes on", () => {
  it.each(STEPS)(
    "writes nothing stale when it stood still $when $step (statement $nth, after $onceAfter)",
    async (step) => {
      const { before, after, ownRuns, untold, breaches } = await runStoppedNode(step);
      expect(breaches).toEqual([]);
      expect(after).toEqual(before);
      expect(untold).toEqual([]);
      expect(ownRuns.filter((run) => run.endedMs === undefined)).toEqual([]);
    },
  );
});
