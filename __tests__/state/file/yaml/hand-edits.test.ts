/** The state file between hands: what people and other programs put there stays, and is read once. */
import { appendFileSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { FleetState } from "../../../../src/state/file/fleet-state.js";
import { emptyDocument } from "../../../../src/state/file/yaml/state-document.js";
import { readDocument } from "../../../../src/state/file/yaml/read-document.js";
import {
  getScheduleState,
  readFleetState,
  updateScheduleState,
  writeFleetState,
} from "../../../../src/state/file/state-functions.js";
import { renderAgent } from "../../../../src/state/file/yaml/state-document.js";
import { around, GOOD_AGENT, goodAgent, HEAD } from "./hostile-file.js";
import { listening } from "../../listening.js";
import { temporaryDirectory } from "../../temporary-directory.js";

const { logger } = listening();

describe("comments in an agent", () => {
  const edited = `  edited: # mine
    # why it is so
    note: |
      two
      lines
    schedules:
      daily:
        status: disabled # until Monday
`;

  it.each([
    ["as they are", edited],
    ["with CR LF", edited.replaceAll("\n", "\r\n")],
  ])("survive a write to another agent, %s", async (_, chunk) => {
    using directory = temporaryDirectory();
    writeFileSync(join(directory.path, "state.yaml"), around(chunk));
    await updateScheduleState(directory.path, "last", "daily", { failure_count: 9 }, { logger });
    expect(readFileSync(join(directory.path, "state.yaml"), "utf8")).toContain(chunk);
    expect(await getScheduleState(directory.path, "edited", "daily")).toMatchObject({ status: "disabled" });
  });

  it("survive a write to another agent, at the end of a file without a newline", async () => {
    using directory = temporaryDirectory();
    writeFileSync(join(directory.path, "state.yaml"), `agents:\n${edited.trimEnd()}`);
    await updateScheduleState(directory.path, "other", "daily", { failure_count: 9 }, { logger });
    expect(readFileSync(join(directory.path, "state.yaml"), "utf8")).toContain(edited);
    expect(await getScheduleState(directory.path, "other", "daily")).toMatchObject({ failure_count: 9 });
  });

  it("go with a write to the agent itself, and what it says stays", async () => {
    using directory = temporaryDirectory();
    const path = join(directory.path, "state.yaml");
    writeFileSync(path, around(edited));
    await updateScheduleState(directory.path, "edited", "daily", { failure_count: 9 }, { logger });
    expect(await readFleetState(path)).toMatchObject({
      agents: {
        edited: { note: "two\nlines\n", schedules: { daily: { status: "disabled", failure_count: 9 } } },
      },
    });
  });
});

describe("an edit", () => {
  const names = Array.from({ length: 1_000 }, (_, index) =>
    index % 2 === 0 ? `agent-${index}` : `agent ${index}`,
  );
  const simple = (name: string): string =>
    renderAgent({ name, other: {}, schedules: new Map([["daily", { status: "idle", failure_count: 2 }]]) });
  const file = (edit: (name: string) => string): Buffer => Buffer.from(HEAD + names.map(edit).join(""));

  it.each(["agent-500", "agent 501"])(
    "of %s, one of 1,000 agents, leaves the others as they were read",
    async (edited) => {
      const first = await readDocument(file(simple), emptyDocument());
      const edit = (name: string): string =>
        name === edited ? simple(name).replace("failure_count: 2", "failure_count: 3") : simple(name);
      const bytes = file(edit);
      const { document, damages } = await readDocument(bytes, first.document);
      const reread = names.filter((name) => document.agents.get(name) !== first.document.agents.get(name));
      expect(reread).toEqual([edited]);
      expect(document.agents.get(edited)?.schedules.get("daily")).toMatchObject({ failure_count: 3 });
      expect(damages).toEqual([]);
      // Else each edit would keep another whole file in memory.
      expect(document.agents.get(edited)?.text.buffer).not.toBe(bytes.buffer);
    },
  );

  it("that adds and one that removes an agent are seen by those who know the file", async () => {
    using directory = temporaryDirectory();
    const path = join(directory.path, "state.yaml");
    writeFileSync(path, around(""));
    await getScheduleState(directory.path, "first", "daily", { logger });
    appendFileSync(path, "  more:\n    schedules:\n      daily:\n        failure_count: 7\n");
    expect(await getScheduleState(directory.path, "more", "daily")).toMatchObject({ failure_count: 7 });
    writeFileSync(path, HEAD + goodAgent("last"));
    expect(Object.keys((await readFleetState(path)).agents)).toEqual(["last"]);
  });

  it("is seen although it is put in place of what is read, with its size and time", async () => {
    const known = await readDocument(Buffer.from(HEAD + goodAgent("a")), emptyDocument());
    const swapped = Buffer.from(HEAD + goodAgent("a").replace("failure_count: 2", "failure_count: 4"));
    const { document } = await readDocument(swapped, known.document);
    expect(document.agents.get("a")?.schedules.get("daily")).toMatchObject({ failure_count: 4 });
  });
});

describe("the whole state", () => {
  const FLEET: FleetState = {
    fleet: { started_at: "2026-03-01T00:00:00.000Z" },
    newer_top: { list: [1, [2, { three: null }]], big: 12345678901234567890n, 'odd "key"': "a\nb" },
    agents: {
      plain: GOOD_AGENT,
      "odd: name": { ...GOOD_AGENT, error_message: "\u2028\ud83d" },
      bare: {},
    },
  };

  it("is read as it was written", async () => {
    using directory = temporaryDirectory();
    const path = join(directory.path, "fleet.yaml");
    await writeFleetState(path, FLEET);
    expect(await readFleetState(path)).toEqual(FLEET);
    await writeFleetState(path, await readFleetState(path));
    expect(await readFleetState(path)).toEqual(FLEET);
  });

  it("is replaced by a write, and nothing of the old one is left", async () => {
    using directory = temporaryDirectory();
    const path = join(directory.path, "state.yaml");
    await writeFleetState(path, FLEET);
    await writeFleetState(path, { fleet: {}, agents: { other: {} } });
    expect(await readFleetState(path)).toEqual({ fleet: {}, agents: { other: {} } });
  });

  it("is the caller's own: what is done to it is not state until it is written", async () => {
    using directory = temporaryDirectory();
    const path = join(directory.path, "state.yaml");
    await writeFleetState(path, FLEET);
    const read = await readFleetState(path);
    Object.assign(read.agents["plain"]?.schedules?.["daily"] ?? {}, { failure_count: 99 });
    expect(await readFleetState(path)).toEqual(FLEET);
    const written = structuredClone(FLEET);
    await writeFleetState(path, written);
    Object.assign(written.agents["plain"]?.schedules?.["daily"] ?? {}, { failure_count: 99 });
    expect(await readFleetState(path)).toEqual(FLEET);
  });

  it("keeps names that every object has as its own", async () => {
    using directory = temporaryDirectory();
    const path = join(directory.path, "state.yaml");
    const agents = JSON.parse(
      '{"__proto__": {"schedules": {"__proto__": {"status": "idle"}}}, "constructor": {}}',
    ) as FleetState["agents"];
    await writeFleetState(path, { fleet: {}, agents });
    expect(JSON.stringify(await readFleetState(path))).toBe(JSON.stringify({ fleet: {}, agents }));
  });

  const holdsItself: Record<string, unknown> = {};
  holdsItself["self"] = holdsItself;

  it.each<[string, unknown, RegExp]>([
    ["nothing", null, /null, expected a map/],
    ["no agents", { fleet: {} }, /agents: it is undefined, expected a map/],
    ["an agent that is a list", { fleet: {}, agents: { a: [] } }, /"a": it is an array, expected a map/],
    ["schedules that are a text", { fleet: {}, agents: { a: { schedules: "x" } } }, /schedules of "a"/],
    [
      "a schedule that is null",
      { fleet: {}, agents: { a: { schedules: { b: null } } } },
      /"a"\/"b": it is null/,
    ],
    [
      "a status there is not",
      { fleet: {}, agents: { a: { schedules: { b: { status: 1 } } } } },
      /"a"\/"b": status is 1/,
    ],
    ["an agent without a name", { fleet: {}, agents: { "": {} } }, /Invalid agent name ""/],
    ["a Date", { fleet: { at: new Date(0) }, agents: {} }, /1970-01-01T00:00:00.000Z is neither/],
    ["a function", { fleet: {}, agents: { a: { run: () => {} } } }, /a function is neither/],
    ["a Map", { fleet: {}, agents: { a: { x: new Map() } } }, /an object is neither/],
    ["what holds itself", { fleet: holdsItself, agents: {} }, /more than 40 levels/],
    [
      "a key too long for YAML",
      { fleet: { ["x".repeat(2_000)]: [] }, agents: {} },
      /the key "x+…" is too long/,
    ],
  ])("is refused when it has %s, and the old one stays", async (_, state, message) => {
    using directory = temporaryDirectory();
    const path = join(directory.path, "state.yaml");
    await writeFleetState(path, FLEET);
    await expect(writeFleetState(path, state as FleetState)).rejects.toMatchObject({
      name: "StateError",
      code: "INVALID_STATE",
      message: expect.stringMatching(message) as unknown,
    });
    expect(await readFleetState(path)).toEqual(FLEET);
  });
});
