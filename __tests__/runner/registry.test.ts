/** Which runtime an agent has, and what is refused. */
import { describe, expect, it } from "vitest";
import { FakeClock } from "../../src/clock.js";
import { RunnerError } from "../../src/runner/errors.js";
import { functionRuntime } from "../../src/runner/runtimes/function-runtime.js";
import type { RunnableAgent, RuntimeContext, SdkQuery } from "../../src/runner/runtime.js";
import { RuntimeRegistry } from "../../src/runner/registry.js";
import { thrownBy } from "../thrown-by.js";
import { answering } from "./runtimes/custom-runtimes.js";
import { loggerInto, Scene } from "./scene.js";

const context: RuntimeContext = {
  clock: new FakeClock(),
  logger: loggerInto([]),
  graceMs: 10_000,
  sdkQuery: undefined,
};
const sdkQuery: SdkQuery = async function* () {
  yield { type: "assistant", content: "asked" };
};

function refusal(agent: Partial<RunnableAgent>): unknown {
  return thrownBy(() => new RuntimeRegistry().runtimeOf({ name: "worker", ...agent }, context));
}

describe("the runtime of an agent", () => {
  it("is its run function, if it has one and no runtime", () => {
    const runtime = new RuntimeRegistry().runtimeOf(
      { name: "worker", run: () => {} },
      { ...context, sdkQuery },
    );
    expect(runtime).toBe(functionRuntime);
  });

  it("is the configured one, even if the agent has a run function", async () => {
    const scene = new Scene(answering({ success: true, summary: "custom" }));
    const { result } = await scene.run({ run: () => "function", runtime: { type: "custom" } });
    expect(result.summary).toBe("custom");
  });

  it("is the sdkQuery for an agent with neither", async () => {
    expect((await new Scene({ sdkQuery }).run({})).result.summary).toBe("asked");
  });

  it("is refused for an agent without run, runtime and sdkQuery", () => {
    expect(refusal({})).toMatchObject({
      code: "NO_RUNTIME",
      message: expect.stringContaining("Agent worker"),
    });
    expect(refusal({})).toBeInstanceOf(RunnerError);
  });

  it("is refused with the known types when its type is unknown", () => {
    expect(refusal({ runtime: { type: "docker" } })).toMatchObject({
      code: "UNKNOWN_RUNTIME",
      message:
        'Agent worker has a runtime of type "docker", expected one of function, command, http, messages.',
    });
  });

  it.each([{ runtime: "command" }, { runtime: {} }, { runtime: { type: 7 } }, { runtime: [] }])(
    "with %j has no type, and is refused",
    (agent) => {
      expect(refusal(agent)).toMatchObject({ code: "INVALID_RUNTIME" });
    },
  );

  it("is refused when its type is messages and there is no sdkQuery", () => {
    expect(refusal({ runtime: { type: "messages" } })).toMatchObject({ code: "INVALID_RUNTIME" });
  });

  it("fails the job when its type is function and the agent has no run", async () => {
    const { result } = await new Scene().run({ runtime: { type: "function" } });
    expect(result).toMatchObject({
      status: "failed",
      error: expect.stringContaining("give it a run function"),
    });
  });
});

describe("a host's own runtime", () => {
  it("cannot reuse the type of a registered runtime", () => {
    const error = thrownBy(() => new RuntimeRegistry().register("command", () => functionRuntime));
    expect(error).toMatchObject({ code: "DUPLICATE_RUNTIME", message: expect.stringContaining('"command"') });
  });

  it("is among the registered types", () => {
    expect(answering({}).runtimes.types).toEqual(["function", "command", "http", "messages", "custom"]);
  });

  it.each([[null], [7], [{}], [{ success: "yes" }]])("fails the job when it returns %j", async (answer) => {
    const { result } = await new Scene(answering(answer)).run({ runtime: { type: "custom" } });
    expect(result).toMatchObject({ status: "failed", error: expect.stringContaining("expected { success") });
  });

  it.each([
    ["at once", (result: unknown) => result],
    ["later", (result: unknown) => Promise.resolve(result)],
  ])("fails a job whose result, returned %s, throws when it is read", async (_, answer) => {
    const trap = Object.defineProperty({ success: true }, "summary", {
      get: () => {
        throw new Error("trap");
      },
    });
    const { result } = await new Scene(answering(answer(trap))).run({ runtime: { type: "custom" } });
    expect(result).toMatchObject({ status: "failed", error: "trap" });
  });

  it("fails the job when it returns a failure without a reason", async () => {
    const { result } = await new Scene(answering({ success: false })).run({ runtime: { type: "custom" } });
    expect(result).toMatchObject({ status: "failed", error: "the job failed" });
  });

  it("is made once for each agent", async () => {
    const runtimes = new RuntimeRegistry();
    let made = 0;
    runtimes.register("custom", () => {
      made++;
      return { run: () => ({ success: true }) };
    });
    const scene = new Scene({ runtimes });
    const agent = { name: "worker", runtime: { type: "custom" } };
    await scene.executor.execute({ agent, prompt: "" });
    await scene.executor.execute({ agent, prompt: "" });
    expect(made).toBe(1);
  });
});
