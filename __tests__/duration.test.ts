import { describe, expect, it } from "vitest";
import { durationMs, readDuration } from "../src/duration.js";
import { JobExecutor, type JobExecutorOptions, RotaError, RunnerError } from "../src/index.js";
import { thrownBy } from "./thrown-by.js";

describe("durationMs", () => {
  it.each([
    ["30s", 30_000],
    ["5m", 300_000],
    ["1h", 3_600_000],
    ["2d", 172_800_000],
    ["0s", 0],
  ])("reads %s as %d ms", (text, ms) => {
    expect(durationMs(text)).toBe(ms);
  });

  it.each(["", "5", "5 m", "5M", "-5m", "1.5h", "5ms", "5w", "m", "1h30m"])("does not read %j", (text) => {
    expect(durationMs(text)).toBeUndefined();
  });
});

describe("readDuration", () => {
  it.each([
    [1_500, 1_500],
    ["30s", 30_000],
    [0, 0],
    [Infinity, Infinity],
  ])("returns %s as %d ms", (given, ms) => {
    expect(readDuration(given, "leaseMs")).toBe(ms);
  });

  it.each<unknown>(["soon", "", -1, "-5s", Number.NaN, null, true, {}])("refuses %s with a code", (given) => {
    expect(thrownBy(() => readDuration(given, "leaseMs"))).toMatchObject({ code: "INVALID_ARGUMENT" });
  });

  it("names the option, its value and what it expects", () => {
    const error = new RotaError(
      'Invalid leaseMs "soon": expected milliseconds from 0, or text such as "30s" or "5m".',
      { code: "INVALID_ARGUMENT" },
    );
    expect(thrownBy(() => readDuration("soon", "leaseMs"))).toEqual(error);
  });

  it("refuses what is below the least value, and Infinity where that is not allowed", () => {
    const rule = { atLeastMs: 1_000, mayBeInfinite: false };
    expect(readDuration("1s", "leaseMs", rule)).toBe(1_000);
    expect(() => readDuration(999, "leaseMs", rule)).toThrow("expected milliseconds from 1000");
    expect(() => readDuration(Infinity, "leaseMs", rule)).toThrow("Invalid leaseMs Infinity");
  });

  it("throws the error that its caller makes", () => {
    const error = (message: string): Error => new TypeError(message);
    expect(() => readDuration("soon", "leaseMs", { error })).toThrow(TypeError);
  });
});

describe("the duration options of a JobExecutor", () => {
  const names = ["graceMs", "cancelGraceMs", "outputTimeoutMs", "storeTimeoutMs"] as const;

  it.each(names)("take text: %s", (name) => {
    const options: JobExecutorOptions = { [name]: "30s" };
    expect(() => new JobExecutor(options)).not.toThrow();
  });

  it.each(names)("are refused with the name of the option: %s", (name) => {
    const error = thrownBy(() => new JobExecutor({ [name]: "soon" }));
    expect(error).toBeInstanceOf(RunnerError);
    expect(error).toMatchObject({ code: "INVALID_ARGUMENT", message: expect.stringContaining(name) });
  });
});
