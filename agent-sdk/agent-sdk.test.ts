/** Jobs through a real agent SDK, which starts a stub instead of its own program. `npm run test:sdk` runs them. */
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { query } from "@anthropic-ai/claude-agent-sdk";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { JobExecutor, MemoryStore, type RunnerResult, type SdkQuery } from "../src/index.js";

// The type check of this line is half of the test: the SDK's own function needs no wrapper.
const sdkQuery: SdkQuery = query;

const STUB = fileURLToPath(new URL("stub-executable.js", import.meta.url));

let directory = "";
beforeEach(() => (directory = mkdtempSync(join(tmpdir(), "rota-sdk-"))));
afterEach(() => rmSync(directory, { recursive: true }));

interface Ran {
  readonly result: RunnerResult;
  readonly messages: readonly unknown[];
  readonly abandonedCount: number;
}

async function ran(prompt: string, more: { timeout?: string; signal?: AbortSignal } = {}): Promise<Ran> {
  const store = new MemoryStore();
  const executor = new JobExecutor({ store, sdkQuery, graceMs: "10s" });
  const env = { PATH: process.env["PATH"], HOME: directory, STUB_PID_FILE: join(directory, "pid") };
  const options = { pathToClaudeCodeExecutable: STUB, settingSources: [], cwd: directory, env };
  const agent = { name: "thinker", runtime: { type: "messages", options } };
  const result = await executor.execute({ agent, prompt, ...more });
  const output = (await store.jobs.readOutput(result.jobId)) ?? "";
  const messages = output
    .split("\n")
    .filter((line) => line.startsWith("{"))
    .map((line): unknown => JSON.parse(line));
  return { result, messages, abandonedCount: executor.abandonedCount };
}

/** The SDK gives its program two seconds to end by itself. */
async function expectStubEnded(): Promise<void> {
  const pid = Number(readFileSync(join(directory, "pid"), "utf8"));
  await expect.poll(() => isAlive(pid), { timeout: 10_000 }).toBe(false);
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

/** Resolves when the stub has started. */
async function started(): Promise<void> {
  await expect.poll(() => existsSync(join(directory, "pid")), { timeout: 10_000 }).toBe(true);
}

describe("a job through the real agent SDK", () => {
  it("completes with the result of the SDK, and has every message in its output", async () => {
    const { result, messages } = await ran("succeed at this");
    expect(result).toMatchObject({ status: "completed", summary: "did: succeed at this" });
    expect(messages).toMatchObject([{ type: "system" }, { type: "assistant" }, { type: "result" }]);
    expect(messages).toHaveLength(3);
    await expectStubEnded();
  });

  it.each(["fail", "failAndExit"])("fails with the error of a result (%s)", async (prompt) => {
    const { result } = await ran(prompt);
    expect(result).toMatchObject({ status: "failed", error: "the model is overloaded" });
    await expectStubEnded();
  });

  it("fails when the program exits before a result", async () => {
    const { result } = await ran("crash");
    expect(result).toMatchObject({ status: "failed", error: expect.stringContaining("code 7") });
  });

  it.each(["hang", "ignore"])("times out, and the program ends (%s)", async (prompt) => {
    const { result, abandonedCount } = await ran(prompt, { timeout: "2s" });
    expect(result).toMatchObject({ status: "timeout", error: "Timed out after 2000 ms" });
    expect(abandonedCount).toBe(0);
    await expectStubEnded();
  });

  it.each(["hang", "ignore"])("is cancelled, and the program ends (%s)", async (prompt) => {
    const controller = new AbortController();
    const running = ran(prompt, { signal: controller.signal });
    await started();
    controller.abort(new Error("no longer needed"));
    const { result, abandonedCount } = await running;
    expect(result).toMatchObject({ status: "cancelled" });
    expect(abandonedCount).toBe(0);
    await expectStubEnded();
  });

  it("does not start the program when the job is cancelled before", async () => {
    const { result } = await ran("succeed", { signal: AbortSignal.abort(new Error("no longer needed")) });
    expect(result).toMatchObject({ status: "cancelled" });
    expect(existsSync(join(directory, "pid"))).toBe(false);
  });
});
