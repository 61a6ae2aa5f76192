/** The types of work sources, and the errors for unknown ones. */
import { describe, expect, it, onTestFinished } from "vitest";
import { FakeClock } from "../../src/clock.js";
import { processLogger } from "../../src/logger.js";
import { WorkSourceError } from "../../src/work-sources/errors.js";
import { WorkSourceManager } from "../../src/work-sources/manager.js";
import { MemoryWork } from "../../src/work-sources/memory-source.js";
import {
  registerWorkSource,
  type WorkSourceContext,
  WorkSourceRegistry,
} from "../../src/work-sources/registry.js";
import { thrownBy } from "../thrown-by.js";

const connect = (): ReturnType<MemoryWork["connect"]> => new MemoryWork().connect();

describe("a registry of work sources", () => {
  it.each([{ type: "memory" }, { type: "directory", path: "inbox" }])("has the type $type", (config) => {
    expect(new WorkSourceRegistry().create(config)).toHaveProperty("claimWork");
  });

  it("creates an adapter of a registered type", () => {
    const registry = new WorkSourceRegistry();
    const adapter = connect();
    registry.register("own", () => adapter);
    expect(registry.create({ type: "own" })).toBe(adapter);
  });

  it("passes the configuration and the clock to the factory", () => {
    const registry = new WorkSourceRegistry();
    const clock = new FakeClock();
    const seen: unknown[] = [];
    registry.register("own", (config, context) => {
      seen.push(config, context.clock);
      return connect();
    });
    const config = { type: "own", color: "red" };
    registry.create(config, { clock });
    expect(seen).toEqual([config, clock]);
  });

  it("passes a logger that never throws to the factory", () => {
    const registry = new WorkSourceRegistry();
    const contexts: WorkSourceContext[] = [];
    registry.register("own", (_, context) => {
      contexts.push(context);
      return connect();
    });
    const warn = (): void => {
      throw new Error("no paper");
    };
    registry.create({ type: "own" }, { logger: { ...processLogger, warn } });
    expect(() => contexts[0]?.logger.warn("hello")).not.toThrow();
  });

  it("rejects a type that is registered already", () => {
    expect(thrownBy(() => new WorkSourceRegistry().register("directory", connect))).toMatchObject({
      name: "WorkSourceError",
      code: "DUPLICATE_WORK_SOURCE",
      message: 'A work source of type "directory" is already registered: choose a different name.',
    });
  });

  it("rejects an unknown type and names the known types", () => {
    const registry = new WorkSourceRegistry();
    registry.register("own", connect);
    expect(thrownBy(() => registry.create({ type: "jira" }))).toMatchObject({
      code: "UNKNOWN_WORK_SOURCE",
      message: expect.stringMatching(
        /Unknown work source type "jira", expected memory, directory, (.+, )?own\./,
      ),
    });
  });

  it.each(["constructor", "__proto__", "toString"])("does not have the type %s", (type) => {
    expect(thrownBy(() => new WorkSourceRegistry().create({ type }))).toMatchObject({
      code: "UNKNOWN_WORK_SOURCE",
    });
  });

  it("removes a type, and only that type", () => {
    const registry = new WorkSourceRegistry();
    const undo = registry.register("own", connect);
    undo();
    expect(() => registry.create({ type: "own" })).toThrow("Unknown work source type");
    registry.register("own", () => connect());
    undo();
    expect(() => registry.create({ type: "own" })).not.toThrow();
  });

  it("rethrows a WorkSourceError of a factory unchanged", () => {
    const registry = new WorkSourceRegistry();
    const error = new WorkSourceError("No token.", { code: "WORK_SOURCE_FORBIDDEN" });
    registry.register("own", () => {
      throw error;
    });
    expect(thrownBy(() => registry.create({ type: "own" }))).toBe(error);
  });

  it("names the type and the reason when a factory fails", () => {
    const registry = new WorkSourceRegistry();
    const cause = new Error("no color");
    registry.register("own", () => {
      throw cause;
    });
    const error = thrownBy(() => registry.create({ type: "own" }));
    expect(error).toBeInstanceOf(WorkSourceError);
    expect(error).toMatchObject({ code: "INVALID_WORK_SOURCE", cause });
    expect(error).toHaveProperty("message", 'A work source of type "own" could not be created: no color');
  });
});

describe("a type in the default registry", () => {
  it("serves managers without a registry until it is removed", async () => {
    const work = new MemoryWork({ items: [{ title: "a" }] });
    const undo = registerWorkSource("host", () => work.connect());
    onTestFinished(undo);
    const options = { workSource: { type: "host" } };
    expect((await new WorkSourceManager().getNextWorkItem({ name: "x" }, options)).item?.title).toBe("a");
    undo();
    await expect(new WorkSourceManager().getNextWorkItem({ name: "x" }, options)).rejects.toMatchObject({
      code: "UNKNOWN_WORK_SOURCE",
    });
  });

  it("is unknown to a new registry", () => {
    onTestFinished(registerWorkSource("host", connect));
    expect(() => new WorkSourceRegistry().create({ type: "host" })).toThrow("Unknown work source type");
  });
});
