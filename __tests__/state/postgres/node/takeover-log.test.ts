import { describe, expect, it } from "vitest";
import { keepingLogger } from "../../../scheduler/scene.js";
import { LEASE_MS, only, planAll, scene } from "../scene.js";

describe("a node that takes over the slots of a node that is gone", () => {
  it("logs which jobs were interrupted", async () => {
    const { node, clock } = scene();
    const { logger, warnings } = keepingLogger();
    const [gone, next] = [await node(), await node({ logger })];
    await planAll([gone, next], ["a/x"]);
    const { jobId } = only((await gone.claimDue(10)).claims);
    await clock.advance(LEASE_MS + 1);
    expect((await next.claimDue(10)).claims).toHaveLength(1);
    expect(warnings).toEqual([`a/x was interrupted (${jobId}): its claim was not renewed in time`]);
  });
});
