/** Any name that a file can hold and give back is good; the others are refused before anything is written. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import * as yaml from "yaml";
import { FileStore } from "../../src/state/file/file-store.js";
import {
  getAgentScheduleStates,
  getScheduleState,
  updateScheduleState,
} from "../../src/state/file/state-functions.js";
import { listening } from "./listening.js";
import { temporaryDirectory } from "./temporary-directory.js";
import { text } from "./file/yaml/tricky-state.js";

const NAMES = [
  "a.b", "a/b", "../a", "C:\\a", "a: b", "a:", "'a'", '"a"', "a\nb", "a\r\nb", "\n", " a", "a ", " ", "\t", "🐑", "日本",
  "é", "e\u0301", "__proto__", "constructor", "toString", "hasOwnProperty", "0", "007", "-1", "1e3", "0x1f", "null", "~",
  "true", "yes", "No", "y", "-", "---", "...", "?", "!", "&a", "*a", "#", "{}", "[]", "|", ">", "%", "@", "`", "<<", "=",
  "agents", "schedules", "status", "\0", "\u001b[31m", "\u007f", "\u0085", "\u2028", "\ufeff", "\ufffe", "\uffff",
  "x".repeat(128), "\u0001".repeat(128), "🐑".repeat(64),
]; // prettier-ignore

describe("a name", () => {
  it("comes back as it was given, of an agent and of a schedule, from a store that did not write it", async () => {
    using directory = temporaryDirectory();
    await using writer = new FileStore({ stateDir: directory.path });
    await Promise.all(
      NAMES.map((name, index) =>
        writer.update({ agent: name, schedule: NAMES.at(-1 - index) ?? "" }, { failure_count: index }),
      ),
    );
    const { logger, warnings } = listening();
    await using reader = new FileStore({ stateDir: directory.path, logger });
    const read = await Promise.all(NAMES.map(async (name) => [...(await reader.list(name))]));
    expect(read).toEqual(
      NAMES.map((_, index) => [[NAMES.at(-1 - index), expect.objectContaining({ failure_count: index })]]),
    );
    expect(warnings).toEqual([]);
    const file = yaml.parse(readFileSync(join(directory.path, "state.yaml"), "utf8"), {
      mapAsMap: true,
    }) as Map<string, Map<string, unknown>>;
    expect([...(file.get("agents") ?? new Map<string, unknown>()).keys()]).toEqual(NAMES);
  });

  it("comes back as it was given, whatever it is", async () => {
    using directory = temporaryDirectory();
    await using writer = new FileStore({ stateDir: directory.path });
    await using reader = new FileStore({ stateDir: directory.path });
    const name = text.filter((value) => value !== "" && value.length <= 128);
    await fc.assert(
      fc.asyncProperty(name, name, fc.nat(), async (agent, schedule, count) => {
        await writer.update({ agent, schedule }, { failure_count: count });
        expect(await reader.read({ agent, schedule })).toMatchObject({ failure_count: count });
      }),
      { numRuns: 50 },
    );
  });

  it("is an own key of what is answered, whatever every object has by that name", async () => {
    using directory = temporaryDirectory();
    await updateScheduleState(directory.path, "__proto__", "__proto__", { failure_count: 1 });
    const states = await getAgentScheduleStates(directory.path, "__proto__");
    expect(Object.keys(states)).toEqual(["__proto__"]);
    expect(await getScheduleState(directory.path, "constructor", "toString")).toMatchObject({
      status: "idle",
    });
    expect({}).not.toHaveProperty("failure_count");
  });

  it.each([
    ["empty", ""],
    ["longer than 128 characters", "x".repeat(129)],
    ["half a character", "a\ud83d"],
    ["the other half", "\udc11a"],
    ["no text", 7 as unknown as string],
    ["nothing", undefined as unknown as string],
  ])("is refused when it is %s, and nothing is written", async (_, name) => {
    using directory = temporaryDirectory();
    const refusal = (kind: string): unknown => ({
      name: "StateError",
      code: "INVALID_STATE",
      message: expect.stringMatching(
        new RegExp(`^Invalid ${kind} name .*: expected 1 to 128 characters`),
      ) as unknown,
    });
    const update = updateScheduleState(directory.path, name, "daily", { failure_count: 1 });
    await expect(update).rejects.toMatchObject(refusal("agent") as object);
    const other = updateScheduleState(directory.path, "a", name, { failure_count: 1 });
    await expect(other).rejects.toMatchObject(refusal("schedule") as object);
    await expect(getScheduleState(directory.path, name, "daily")).rejects.toMatchObject(
      refusal("agent") as object,
    );
    await expect(getAgentScheduleStates(directory.path, name)).rejects.toMatchObject(
      refusal("agent") as object,
    );
    expect(readdirSync(directory.path)).toEqual([]);
  });
});
