/** A command ends when it is told to, whatever it does and has started, and nothing of it is left. */
import { describe, expect, it } from "vitest";
import { until } from "../../state/child.js";
import { isAlive, node, run, scene } from "./command-scene.js";
import type { Ended, Scene } from "../scene.js";

describe("a command whose job is stopped", () => {
  const script = (onTerm: string): string =>
    `process.on("SIGTERM", () => { ${onTerm} }); console.log("ready"); setInterval(() => {}, 1000)`;

  async function cancelled(command: string[], graceMs: number): Promise<Ended> {
    const stage = scene(graceMs);
    const controller = new AbortController();
    const ready = settleOnOutput(stage);
    const running = stage.executor.execute({
      agent: { name: "worker", runtime: { type: "command", command } },
      prompt: "",
      signal: controller.signal,
    });
    await ready;
    controller.abort(new Error("not needed"));
    return stage.ended(await running);
  }

  /** Resolves when the first piece of output has been written. */
  function settleOnOutput({ store }: Scene): Promise<void> {
    const open = store.jobs.openOutput.bind(store.jobs);
    return new Promise((resolve) => {
      store.jobs.openOutput = async (id) => {
        const output = await open(id);
        resolve();
        return output;
      };
    });
  }

  it("gets SIGTERM, and may end within the grace", async () => {
    const { result, output } = await cancelled(node(script(`console.log("bye"); process.exit(0)`)), 60_000);
    expect(result).toMatchObject({ success: false, status: "cancelled", exitCode: 0, summary: "bye" });
    expect(output).toBe("ready\nbye\n");
  });

  it("gets SIGKILL after the grace when it ignores SIGTERM", async () => {
    const { result } = await cancelled(node(script("")), 50);
    expect(result).toMatchObject({
      status: "cancelled",
      error: "The command was ended by SIGKILL after it was told to end.",
    });
  });

  it("has timed out when it was stopped at its timeout", async () => {
    const runtime = { type: "command", command: node(`setInterval(() => {}, 1000)`) };
    const { result } = await scene().run({ runtime, timeout: 50 });
    expect(result).toMatchObject({ status: "timeout", error: "Timed out after 50 ms" });
  });

  it("ends together with its child processes that ignore SIGTERM", async () => {
    const grandchild = `process.on("SIGTERM", () => {}); console.log(process.pid); setInterval(() => {}, 1000)`;
    const parent = `require("node:child_process").spawn(process.execPath, ["-e", ${JSON.stringify(grandchild)}], { stdio: "inherit" });
      setInterval(() => {}, 1000)`;
    const { result, output } = await cancelled(node(parent), 50);
    expect(result.status).toBe("cancelled");
    const pid = Number(output);
    expect(pid).toBeGreaterThan(0);
    await until(() => !isAlive(pid));
  });
});

describe("a process that a command leaves behind", () => {
  const start = (detached: boolean): string => {
    const grandchild = `console.log(process.pid); process.send(1); setInterval(() => {}, 1000)`;
    return `const child = require("node:child_process").spawn(process.execPath, ["-e", ${JSON.stringify(grandchild)}],
        { stdio: ["ignore", "inherit", "inherit", "ipc"], detached: ${detached} });
      child.on("message", () => process.exit(0))`;
  };

  it("is killed when the command exits", async () => {
    const { result, output } = await run(node(start(false)));
    expect(result.status).toBe("completed");
    const pid = Number(output);
    expect(pid).toBeGreaterThan(0);
    await until(() => !isAlive(pid));
  });

  it("does not delay the end of the job when it has left the process group and holds the pipes", async () => {
    const { result, output } = await run(node(start(true)));
    expect(result.status).toBe("completed");
    const pid = Number(output);
    expect(isAlive(pid)).toBe(true);
    process.kill(pid, "SIGKILL");
  });
});

describe("a command that floods stderr", () => {
  it("ends, and its output has the head and the tail", async () => {
    const script = `const line = "e".repeat(99) + "\\n"; let n = 0;
      const more = () => { while (n++ < 100_000) if (!process.stderr.write(line)) return process.stderr.once("drain", more);
        process.stderr.write("end\\n"); console.log("done") }; more()`;
    const { result, output } = await run(node(script));
    expect(result).toMatchObject({ status: "completed", summary: "done" });
    expect(output?.length).toBeLessThan(1_000_100);
    expect(output).toContain("bytes of output were cut here");
    expect(output).toContain("\nend\n");
  });
});
