/** A program that edits the state file again and again beside a busy scheduler: none of its edits is overwritten. */
import { readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { Children } from "../child.js";
import { stateDirectory } from "../temporary-directory.js";

type Write = (path: string, text: string) => void;

const inPlace: Write = (path, text) => writeFileSync(path, text);
const byRename: Write = (path, text) => {
  writeFileSync(`${path}.edited`, text);
  renameSync(`${path}.edited`, path);
};

/** Adds an agent to the file so many times, each time as an editor does: reads the text, changes it, writes it. */
async function editOften(path: string, count: number, write: Write): Promise<void> {
  for (let edit = 0; edit < count;) {
    const text = readFileSync(path, "utf8");
    // Between two versions of an editor that writes in place.
    if (!text.includes("\nagents:\n")) continue;
    write(path, text.replace("\nagents:\n", `\nagents:\n  edit-${edit}:\n    note: ${edit}\n`));
    edit++;
    await setTimeout(5 + ((edit * 7) % 23));
  }
}

function editsIn(path: string): number[] {
  const { agents } = parse(readFileSync(path, "utf8")) as { agents: Record<string, { note?: number }> };
  return Object.values(agents).flatMap(({ note }) => note ?? []);
}

describe("edits beside a busy scheduler", () => {
  it.each([
    { schedules: 20, edits: 200, how: "in place", write: inPlace, mostLost: 0 },
    { schedules: 300, edits: 100, how: "in place", write: inPlace, mostLost: 0 },
    // No system call compares and replaces a file: a rename may fall into the microseconds between the two.
    { schedules: 20, edits: 200, how: "by a rename", write: byRename, mostLost: 2 },
    { schedules: 300, edits: 100, how: "by a rename", write: byRename, mostLost: 1 },
  ])(
    "are kept: $edits edits $how, $schedules schedules, all but $mostLost",
    async ({ schedules, edits, write, mostLost }) => {
      await using children = new Children();
      const stateDir = stateDirectory();
      const scheduler = children.start("keep-busy.js", [stateDir, String(schedules)]);
      await scheduler.linesOf("running", 1);
      const path = join(stateDir, "state.yaml");
      await setTimeout(500);
      await editOften(path, edits, write);
      await setTimeout(1_500);
      scheduler.say("stop");
      await scheduler.linesOf("stopped", 1);
      const kept = new Set(editsIn(path));
      const lost = Array.from({ length: edits }, (_, edit) => edit).filter((edit) => !kept.has(edit));
      expect(lost.length, `lost ${lost.join(", ")}`).toBeLessThanOrEqual(mostLost);
      expect(scheduler.lines).toEqual(["running", "stopped"]);
    },
    120_000,
  );
});
