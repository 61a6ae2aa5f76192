/** The documentation of the configuration: its first example runs, and its error message is real. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { loadConfig } from "../../src/config/load-config.js";
import { JobExecutor } from "../../src/runner/job-executor.js";
import { MemoryStore } from "../../src/state/memory/memory-store.js";
import { directoryWith } from "./config-directory.js";
import { refusalOf } from "./problems-of.js";

const page = readFileSync(new URL("../../docs/configuration.md", import.meta.url), "utf8");

function blocks(language: string): readonly string[] {
  return Array.from(
    page.matchAll(new RegExp(`^\`\`\`${language}\n(.*?)^\`\`\`$`, "gms")),
    ([, text = ""]) => text,
  );
}

describe("docs/configuration.md", () => {
  it("starts with a configuration that runs unchanged", async () => {
    const directory = directoryWith({ "rota.yaml": blocks("yaml")[0] ?? "" });
    const { agents } = await loadConfig(join(directory, "rota.yaml"));
    const [agent] = agents;
    expect(Object.keys(agent?.schedules ?? {})).toEqual(["often", "nightly"]);
    const executor = new JobExecutor({ store: new MemoryStore() });
    const result = await executor.execute({ agent: agent ?? { name: "none" }, prompt: "Say hello." });
    expect(result).toMatchObject({ status: "completed", summary: "I was told: Say hello." });
  });

  it("shows a real error message", () => {
    const text = [
      "agents:",
      "  - name: writer",
      "    timeout: 5m",
      "    shedules:",
      "  - name: reader",
      "    schedules:",
      "      nightly:",
      "        type: cron",
      '        expression: "61 * * * *"',
    ].join("\n");
    expect(blocks("text")).toEqual([`${refusalOf(text).message}\n`]);
  });
});
