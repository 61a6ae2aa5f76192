import { readFileSync } from "node:fs";
import { afterEach, describe, expect, it } from "vitest";
import { oldNodeMessage } from "../../src/cli/node-version.js";
import { runDoctor } from "./run-doctor.js";
import { Scene } from "./scene.js";
import { MAIN, rota } from "./terminal.js";

const { platform } = process;

afterEach(() => {
  Object.defineProperty(process, "platform", { value: platform });
});

describe("rota on a Node that is too old", () => {
  it.each([
    ["18.20.8", "18.20.8 is too old: Rota needs 20.19 or newer"],
    ["20.18.3", "20.18.3 is too old: Rota needs 20.19 or newer"],
    ["20.19.0", undefined],
    ["22.0.0", undefined],
  ])("judges %s", (version, message) => {
    expect(oldNodeMessage(version)).toBe(message);
  });

  it("prints a sentence and exits with 1", async () => {
    const scene = new Scene();
    const fake = scene.write(
      'Object.defineProperty(process, "versions", { value: { ...process.versions, node: "18.20.8" } });',
      "old.cjs",
    );
    expect(await rota(["list"], scene.cwd, { nodeArgs: ["--require", fake] })).toEqual({
      exitCode: 1,
      out: "",
      err: "rota: Node 18.20.8 is too old: Rota needs 20.19 or newer\n",
    });
  });

  it("loads the program only after that, because an old Node cannot parse it", () => {
    const entry = readFileSync(MAIN, "utf8");
    expect(entry).not.toMatch(/^import /m);
    expect(entry).not.toMatch(/\b(await|using)\b/);
    expect(entry.length).toBeLessThan(2_000);
  });
});

describe("rota on Windows", () => {
  it.each(["list", "run", "doctor"])(
    "says for %s what to use instead of a state directory",
    async (command) => {
      const scene = new Scene();
      Object.defineProperty(process, "platform", { value: "win32" });
      expect(await (command === "doctor" ? runDoctor(scene) : scene.run(command))).toBe(1);
      expect(scene.err + scene.out).toContain(
        "A state directory is not supported on Windows: run Rota in WSL, or keep the state in PostgreSQL with --database-url",
      );
    },
  );
});
