/** A state file that is cut short, or deleted, while a scheduler runs or before it starts. */
import { readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { FakeClock } from "../../../src/clock.js";
import { FileStore } from "../../../src/state/file/file-store.js";
import { updateScheduleState } from "../../../src/state/file/state-functions.js";
import { emptyDocument, renderAgent } from "../../../src/state/file/yaml/state-document.js";
import { readDocument } from "../../../src/state/file/yaml/read-document.js";
import { listening } from "../listening.js";
import { stateDirectory } from "../temporary-directory.js";

const PAST = "2026-01-01T00:00:00.000Z";
const NAMES = ["a", "b", "c"] as const;
const KEYS = NAMES.flatMap((agent) => ["off", "on"].map((schedule) => ({ agent, schedule })));

/** An owner whose agents have a disabled schedule each, which would be due if it were not. */
async function opened() {
  const stateDir = stateDirectory();
  const { logger, warnings } = listening();
  // The time of the file is far from that of the clock, so that nothing seems to be written just now.
  const store = new FileStore({ stateDir, logger }, { realClock: new FakeClock() });
  onTestFinished(() => store.close());
  await store.open();
  await store.define({ schedules: KEYS });
  for (const agent of NAMES) {
    await store.update({ agent, schedule: "off" }, { next_run_at: PAST });
    await store.update({ agent, schedule: "off" }, { status: "disabled" });
    await store.update({ agent, schedule: "on" }, { failure_count: 3 });
  }
  const path = join(stateDir, "state.yaml");
  return { store, path, stateDir, warnings, text: readFileSync(path, "utf8") };
}

const copiesIn = (stateDir: string): string[] =>
  readdirSync(stateDir).filter((name) => name.startsWith("state.yaml.corrupt-"));

/** Where lines end, and some places within lines. */
const cutsOf = (text: string): number[] =>
  Array.from({ length: text.length }, (_, at) => at).filter((at) => text[at - 1] === "\n" || at % 17 === 0);

describe("a file with an end mark", () => {
  it("says so in its first line", async () => {
    const { text } = await opened();
    expect(text.split("\n")[0]).toContain('The last line is "# end of state".');
    expect(text.endsWith("\n# end of state\n")).toBe(true);
  });

  it("is cut when it ends anywhere before, and whole without the mark's newline", async () => {
    const { text } = await opened();
    for (let length = 0; length <= text.length; length++) {
      const { isCut } = await readDocument(Buffer.from(text.slice(0, length)), emptyDocument());
      expect([length, isCut]).toEqual([length, length < text.length - 1]);
    }
  });

  it.each([
    ["with CR LF", (text: string) => text.replaceAll("\n", "\r\n")],
    ["with a byte order mark", (text: string) => `\ufeff${text}`],
    ["with empty lines after it", (text: string) => `${text}\n\n`],
    ["with an agent added after it", (text: string) => `${text}  more:\n    note: 1\n`],
    ["without its first line and its last", (text: string) => text.split("\n").slice(1, -2).join("\n")],
  ])("is whole %s", async (_, edit) => {
    const { text } = await opened();
    const { document, damages, isCut } = await readDocument(Buffer.from(edit(text)), emptyDocument());
    expect({ damages, isCut }).toEqual({ damages: [], isCut: false });
    expect([...document.agents.keys()].slice(0, 3)).toEqual([...NAMES]);
    expect(document.agents.has("more")).toBe(edit(text).includes("more:"));
  });

  it("has one mark again after an agent was added behind it", async () => {
    const { store, path, text } = await opened();
    writeFileSync(path, `${text}  more:\n    note: 1\n`);
    await store.update({ agent: "a", schedule: "on" }, { failure_count: 4 });
    expect(readFileSync(path, "utf8").match(/^# end of state$/gm)).toHaveLength(1);
    expect(readFileSync(path, "utf8")).toMatch(/ {2}more:\n {4}note: 1\n# end of state\n$/);
  });
});

describe("a file that was written before there was an end mark", () => {
  const text = `# The state of Rota's schedules. Edits are noticed; keys Rota does not know are kept.\nagents:\n${NAMES.map(
    (name) => renderAgent({ name, other: {}, schedules: new Map([["off", { status: "disabled" }]]) }),
  ).join("")}`;

  it("is whole, and gets one when it is next written", async () => {
    const stateDir = stateDirectory();
    const path = join(stateDir, "state.yaml");
    writeFileSync(path, text);
    const { logger, warnings } = listening();
    await updateScheduleState(stateDir, "a", "on", { failure_count: 1 }, { logger });
    expect(warnings).toEqual([]);
    expect(copiesIn(stateDir)).toEqual([]);
    expect(readFileSync(path, "utf8")).toMatch(/^# .*The last line is.*\n[^]*\n# end of state\n$/);
  });
});

describe("a file that is cut while its owner runs", () => {
  it("costs nothing wherever it is cut: what was disabled stays so, with a warning and a copy", async () => {
    const { store, path, stateDir, warnings, text } = await opened();
    for (const length of cutsOf(text)) {
      truncateSync(path, length);
      const { claims } = await store.claimDue(10);
      expect([length, claims]).toEqual([length, []]);
      await vi.waitFor(() => expect(readFileSync(path, "utf8")).toBe(text));
      for (const agent of NAMES) {
        expect(await store.read({ agent, schedule: "off" })).toMatchObject({ status: "disabled" });
        expect(await store.read({ agent, schedule: "on" })).toMatchObject({ failure_count: 3 });
      }
      // One warning for each cut.
      expect(warnings.splice(0)).toEqual([expect.stringContaining(`${path} was cut short`)]);
    }
    expect(copiesIn(stateDir)).toHaveLength(5);
  });

  it("keeps the edits in what is left of it", async () => {
    const { store, path, text } = await opened();
    const edited = text.replace("failure_count: 3", "failure_count: 7");
    writeFileSync(path, edited.slice(0, edited.indexOf("  c:")));
    expect(await store.read({ agent: "a", schedule: "on" })).toMatchObject({ failure_count: 7 });
    expect(await store.read({ agent: "c", schedule: "off" })).toMatchObject({ status: "disabled" });
  });

  it("is not taken for cut while an editor still writes it", async () => {
    const stateDir = stateDirectory();
    const { logger, warnings } = listening();
    await using store = new FileStore({ stateDir, logger });
    await store.open();
    await store.update({ agent: "a", schedule: "on" }, { failure_count: 3 });
    const path = join(stateDir, "state.yaml");
    const text = readFileSync(path, "utf8");
    writeFileSync(path, text.slice(0, 150));
    const reading = store.update({ agent: "a", schedule: "on" }, { missed_count: 1 });
    await setTimeout(300);
    writeFileSync(path, text.replace("failure_count: 3", "failure_count: 4"));
    expect(await reading).toMatchObject({ failure_count: 4, missed_count: 1 });
    expect(warnings).toEqual([]);
    expect(copiesIn(stateDir)).toEqual([]);
  });
});

describe("a file that was cut before its owner starts", () => {
  it("is told and kept, and what is left of it counts", async () => {
    const { store, path, stateDir, text } = await opened();
    await store.close();
    truncateSync(path, text.indexOf("  c:"));
    const { logger, warnings } = listening();
    await using next = new FileStore({ stateDir, logger }, { realClock: new FakeClock() });
    await next.open();
    expect(warnings).toEqual([
      expect.stringMatching(/state\.yaml: line \d+: the last line, "# end of state", is missing/),
    ]);
    expect(await next.read({ agent: "b", schedule: "off" })).toMatchObject({ status: "disabled" });
    await next.update({ agent: "b", schedule: "on" }, { failure_count: 9 });
    const [copy = ""] = copiesIn(stateDir);
    expect(readFileSync(join(stateDir, copy), "utf8")).toBe(text.slice(0, text.indexOf("  c:")));
  });
});

describe("a file that is deleted", () => {
  it("while its owner runs is written again at once, with a warning", async () => {
    const { store, path, warnings, text } = await opened();
    rmSync(path);
    expect((await store.claimDue(10)).claims).toEqual([]);
    await vi.waitFor(() => expect(readFileSync(path, "utf8")).toBe(text));
    expect(warnings).toEqual([expect.stringContaining(`${path} was deleted while the scheduler runs`)]);
    expect(await store.read({ agent: "c", schedule: "off" })).toMatchObject({ status: "disabled" });
  });

  it("just before a change of its owner loses neither the change nor what was disabled", async () => {
    const { store, path } = await opened();
    rmSync(path);
    await store.update({ agent: "a", schedule: "on" }, { failure_count: 9 });
    expect(await store.read({ agent: "b", schedule: "off" })).toMatchObject({ status: "disabled" });
    expect(readFileSync(path, "utf8")).toContain("failure_count: 9");
  });

  it("while no scheduler runs is a fresh start", async () => {
    const { store, path, stateDir } = await opened();
    await store.close();
    rmSync(path);
    await using next = new FileStore({ stateDir }, { realClock: new FakeClock() });
    await next.open();
    expect(await next.read({ agent: "a", schedule: "off" })).toMatchObject({ status: "idle" });
  });
});
