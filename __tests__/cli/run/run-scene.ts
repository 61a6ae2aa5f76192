/** A run in this process: real files and real commands, on time and signals that the test sends. */
import { setTimeout } from "node:timers/promises";
import { onTestFinished } from "vitest";
import { runCommandOn } from "../../../src/cli/commands/run.js";
import type { ExitCode } from "../../../src/cli/exit-codes.js";
import { SPIN_MS } from "../../../src/cli/run/view.js";
import { Terminal, type TerminalOptions } from "../terminal.js";
import { until } from "../../state/child.js";
import { FakeHost } from "./fake-host.js";

export interface AgentText {
  /** A script for Node. */
  readonly script?: string;
  readonly interval?: string;
  readonly more?: string;
}

/** A configuration with an agent for each name, whose schedule is "work". */
export function fleetText(agents: Readonly<Record<string, AgentText>>, head = ""): string {
  const texts = Object.entries(agents).map(([name, { script = "", interval = "1h", more = "" }]) => {
    const command = JSON.stringify([process.execPath, "-e", script]);
    const schedules = `{ work: { type: interval, interval: ${interval} } }`;
    return `  - { name: ${name}, runtime: command, command: ${command}, schedules: ${schedules}${more} }\n`;
  });
  return `version: 1\n${head}agents:\n${texts.join("")}`;
}

/** Runs until it is cancelled or its parent process is gone, and never for long. */
export const ENDLESS: string =
  "const { ppid } = process; setTimeout(() => process.exit(), 60_000); " +
  "setInterval(() => { if (process.ppid !== ppid) process.exit(); }, 50);";

export class RunScene extends Terminal {
  readonly host: FakeHost;
  exitCode: ExitCode | undefined = undefined;
  #ended: Promise<void> = Promise.resolve();

  static with(options: TerminalOptions = {}): RunScene {
    return new RunScene(options, new FakeHost());
  }

  private constructor(options: TerminalOptions, host: FakeHost) {
    super({ ...options, commands: [runCommandOn(host)] });
    this.host = host;
  }

  /** All output, stdout and stderr. */
  get said(): string {
    return this.out + this.err;
  }

  get notices(): Record<string, unknown>[] {
    return this.lines.map((line) => JSON.parse(line) as Record<string, unknown>);
  }

  /** Starts the run; it ends with the test. */
  start(...args: string[]): void {
    const run = async (): Promise<void> => {
      this.exitCode = await this.run("run", ...args);
    };
    this.#ended = run();
    onTestFinished(async () => {
      if (this.exitCode === undefined) this.host.signal("SIGTERM");
      // The time that jobs are given to end, and more than what is left of them needs.
      if (this.exitCode === undefined) await this.clock.advance("1h");
      await this.#ended;
    });
  }

  /** Advances the clock until the condition holds. Work on real files takes real time. */
  async goOnUntil(condition: () => boolean): Promise<void> {
    while (!condition()) {
      await this.clock.advance(SPIN_MS);
      await setTimeout(2);
    }
  }

  /** Advances the clock until this text is printed. */
  async seen(text: string): Promise<void> {
    await this.goOnUntil(() => this.said.includes(text));
  }

  /** Resolves when this text is printed. */
  async heard(text: string): Promise<void> {
    await until(() => this.said.includes(text) || this.exitCode !== undefined);
    if (!this.said.includes(text)) throw new Error(`It ended without ${JSON.stringify(text)}: ${this.said}`);
  }

  async end(): Promise<ExitCode | undefined> {
    await this.#ended;
    return this.exitCode;
  }
}
