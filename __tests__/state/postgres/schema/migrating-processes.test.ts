import { describe, expect, it } from "vitest";
import { runMigratingProcesses } from "./migrating-processes.js";

describe("processes that start at once on a schema that is not there", { timeout: 180_000 }, () => {
  it("make it once, and all open and claim", async () => {
    const { said, expected, migrations } = await runMigratingProcesses(6);
    expect(said).toEqual(expected);
    expect(migrations).toEqual([]);
  });
});
