import { describe, expect, it } from "vitest";
import { runNodeKilledAt, STEPS } from "./stopped-nodes.js";

describe.concurrent("a node that is killed", () => {
  it.each(STEPS)(
    "leaves nothing that another cannot clear away $when $step (statement $nth, after $onceAfter)",
    async (step) => {
      expect(await runNodeKilledAt(step)).toEqual([]);
    },
  );
});
