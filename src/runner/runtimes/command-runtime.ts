/**
 * Runs a job as a command: an argument list, never a shell. The job ends when its process exits, and the processes that
 * it started end with it.
 */
import { stat } from "node:fs/promises";
import type { Readable } from "node:stream";
import { wakeAfter, withTimeout } from "../../clock.js";
import { messageOf, quote } from "../../errors.js";
import { environmentOf, namedOnly, passed } from "./command-environment.js";
import { invalidRuntime, refuseUnknownKeys, textAt, textsAt, valuesAt } from "../configuration.js";
import { freeChunk } from "../output/free-chunk.js";
import { LastLine } from "../output/last-line.js";
import { type GroupExit, ProcessGroup } from "./process-group.js";
import type { Runtime, RuntimeConfiguration, RuntimeContext, RuntimeJob, RuntimeResult } from "../runtime.js";
import { fillTemplate, slotValues } from "./template.js";
import { secretsIn } from "../output/secrets.js";

interface Command {
  readonly program: string;
  readonly args: readonly string[];
  readonly cwd: string | undefined;
  readonly env: Readonly<Record<string, string>>;
  readonly passEnv: readonly string[];
  readonly hasInput: boolean;
}

const PROMPT = "{prompt}";
/** How long to read the pipes of a command that has exited, when a process that it started still holds them. */
const DRAIN_MS = 1_000;
/** How long a killed command may take to exit and to be read. */
const LINGER_MS = 2 * DRAIN_MS;

export function commandRuntime(configuration: RuntimeConfiguration, context: RuntimeContext): Runtime {
  const command = readCommand(configuration);
  return {
    lingerMs: LINGER_MS,
    get secrets() {
      return secretsOf(command);
    },
    run: (job) => runCommand(job, command, context),
  };
}

/** Two lists: of a variable that is in both, both values are secret. */
function secretsOf({ env, passEnv }: Command): readonly string[] {
  return [...secretsIn(passed(namedOnly(passEnv), process.env)), ...secretsIn(env)];
}

function readCommand(configuration: RuntimeConfiguration): Command {
  refuseUnknownKeys(configuration, ["command", "cwd", "env", "pass_env", "input"]);
  const [program, ...args] = textsAt(configuration, "command");
  if (program === undefined || program === "")
    throw invalidRuntime(`A command runtime has no command, expected a list such as ["node", "work.js"].`);
  const env = valuesAt(configuration, "env");
  for (const [name, value] of Object.entries(env))
    if (name === "" || name.includes("=") || `${name}${value}`.includes("\0"))
      throw invalidRuntime(
        `The env of a command runtime cannot hold ${quote(name)}: no "=" or NUL may be in it.`,
      );
  const input = configuration["input"] ?? "stdin";
  if (input !== "stdin" && input !== "none")
    throw invalidRuntime(`The input of a command runtime is ${quote(input)}, expected "stdin" or "none".`);
  const hasInput = input === "stdin" && !args.some((argument) => argument.includes(PROMPT));
  const passEnv = textsAt(configuration, "pass_env");
  return { program, args, cwd: textAt(configuration, "cwd"), env, passEnv, hasInput };
}

async function runCommand(
  job: RuntimeJob,
  command: Command,
  context: RuntimeContext,
): Promise<RuntimeResult> {
  const { signal } = job;
  if (command.cwd !== undefined && !(await isDirectory(command.cwd)))
    return failure(`The cwd ${quote(command.cwd)} of the command is not a directory.`);
  if (signal.aborted) return failure(messageOf(signal.reason));
  let group: ProcessGroup;
  try {
    group = startCommand(job, command);
  } catch (error) {
    return failure(whyNotStarted(error, command));
  }
  const stopKilling = killOnAbort(group, signal, context);
  const secrets = secretsOf(command);
  const lastOutput = new LastLine(secrets);
  const lastError = new LastLine(secrets);
  const { stdout, stderr } = group.process;
  const reading = Promise.all([
    readAll(stdout, (bytes) => {
      lastOutput.add(bytes);
      return job.write(bytes);
    }),
    readAll(stderr, (bytes) => {
      lastError.add(bytes);
      return job.write(bytes);
    }),
  ]);
  try {
    const input = command.hasInput ? feed(group, job.prompt) : undefined;
    const exit = await group.exited;
    await withTimeout(context.clock, DRAIN_MS, reading, () => {});
    return exitResult(exit, {
      summary: lastOutput.text,
      reason: lastError.reason,
      isAborted: signal.aborted,
      inputError: input?.error,
    });
  } catch (error) {
    return failure(whyNotStarted(error, command));
  } finally {
    stopKilling();
    group.release();
  }
}

function startCommand(
  job: RuntimeJob,
  { program, args, cwd, env, passEnv, hasInput }: Command,
): ProcessGroup {
  if (job.prompt.includes("\0") && args.some((argument) => argument.includes(PROMPT)))
    throw new Error("the prompt holds a NUL, which no argument can");
  const values = { prompt: job.prompt, ...slotValues(job) };
  const filled = args.map((argument) => fillTemplate(argument, values));
  return new ProcessGroup(program, filled, {
    cwd,
    env: environmentOf(job, env, passEnv, process.env),
    hasInput,
  });
}

/** On abort, sends SIGTERM to the whole group, SIGKILL after the grace, and at last detaches from it. */
function killOnAbort(
  group: ProcessGroup,
  signal: AbortSignal,
  { clock, graceMs }: RuntimeContext,
): () => void {
  let cancelTimer: (() => void) | undefined;
  const kill = (): void => {
    group.kill("SIGKILL");
    cancelTimer = wakeAfter(clock, LINGER_MS, () => group.release());
  };
  const ask = (): void => {
    group.kill("SIGTERM");
    cancelTimer = wakeAfter(clock, graceMs, kill);
  };
  if (signal.aborted) ask();
  else signal.addEventListener("abort", ask, { once: true });
  return () => {
    cancelTimer?.();
    signal.removeEventListener("abort", ask);
  };
}

/** Writes the prompt to stdin. A command may close its stdin unread: its exit code decides. */
function feed({ process: { stdin } }: ProcessGroup, prompt: string): { readonly error: Error | undefined } {
  const input: { error: Error | undefined } = { error: undefined };
  stdin?.on("error", (error) => (input.error = error));
  stdin?.end(prompt);
  return input;
}

/** Reads no faster than `keep` resolves. */
async function readAll(stream: Readable | null, keep: (bytes: Buffer) => Promise<void>): Promise<void> {
  if (stream === null) return;
  try {
    for await (const bytes of stream) {
      if (!Buffer.isBuffer(bytes)) continue;
      await keep(bytes);
      freeChunk(bytes);
    }
  } catch {
    // `release` destroyed the stream before its end.
  }
}

async function isDirectory(path: string): Promise<boolean> {
  try {
    return (await stat(path)).isDirectory();
  } catch {
    return false;
  }
}

interface ExitFacts {
  readonly summary: string | undefined;
  /** The last line of stderr. */
  readonly reason: string | undefined;
  readonly isAborted: boolean;
  readonly inputError: Error | undefined;
}

function exitResult(
  { code, signal }: GroupExit,
  { summary, reason, isAborted, inputError }: ExitFacts,
): RuntimeResult {
  const exitCode = code ?? undefined;
  if (code === 0 && !isAborted) return { success: true, summary, exitCode };
  const how = signal === null ? `exited with code ${code}` : `was ended by ${signal}`;
  const why = isAborted ? " after it was told to end" : "";
  const input = inputError === undefined ? "" : ", and had not read its whole input";
  const end = reason === undefined ? "." : `: ${reason}`;
  return { success: false, summary, exitCode, error: `The command ${how}${why}${input}${end}` };
}

function failure(error: string): RuntimeResult {
  return { success: false, error };
}

/** Names the program, and never its arguments or environment: they may hold secrets. */
function whyNotStarted(error: unknown, { program }: Command): string {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  const name = quote(program);
  switch (code) {
    case "ENOENT":
      if (/[\s|&;<>$`*]/.test(program))
        return `The command ${name} was not found: it is one program, and there is no shell. Write its arguments as a list, or [sh, -c, ${name}].`;
      return program.includes("/")
        ? `The command ${name} was not found, or the interpreter that its first line names.`
        : `The command ${name} was not found: give its full path, or add its directory to PATH.`;
    case "EACCES":
      return program.includes("/")
        ? `The command ${name} may not be executed: try chmod +x ${program}, unless it is a directory.`
        : `The command ${name} may not be executed: it is not a program, its permissions forbid it, or a directory in its PATH is not readable.`;
    case "E2BIG":
      return `The arguments of the command ${name} or its env are too long: leave ${PROMPT} out, and the prompt comes on stdin.`;
    default:
      return `The command ${name} could not be started: ${messageOf(error)}.`;
  }
}
