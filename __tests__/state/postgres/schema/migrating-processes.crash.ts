import { describe, expect, it } from "vitest";
import { runMigratingProcesses } from "./migrating-processes.js";

describe("50 processes that start at once on a schema that is not there", () => {
  it.each([1, 2, 3])("make it once, and all open and claim (time %i)", async () => {
    const { said, expected, migrations } = await runMigratingProcesses(50);
    expect(said).toEqual(expected);
    expect(migrations).toEqual([]);
  });
});
