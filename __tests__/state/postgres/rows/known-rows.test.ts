/** A node remembers the rows of what it has claimed; what others change in them meanwhile must still be seen. */
import { describe, expect, it } from "vitest";
import type { ScheduleState } from "../../../../src/index.js";
import { key, planAll, scene } from "../scene.js";

describe("a node that holds a claim", () => {
  it("decides on a later change from outside, also when it decides to change nothing", async () => {
    const { node, outsider } = scene();
    const store = await node();
    await planAll([store], ["a/x"]);
    await store.claimDue(1);
    await outsider().update(key("a/x"), { last_error: "changed" });
    let seen: ScheduleState | undefined;
    await store.update(key("a/x"), (state) => {
      seen = state;
      return {};
    });
    expect(seen).toMatchObject({ status: "running", last_error: "changed" });
  });
});
