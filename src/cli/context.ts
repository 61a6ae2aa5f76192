/** The environment of a call: streams, variables, directory, clock. Passed in, so that tests can replace it. */
import { type Clock, systemClock } from "../clock.js";
import { EXIT } from "./exit-codes.js";

/** The part of a writable stream that the command uses. */
export interface CliStream {
  write(chunk: string | Uint8Array): unknown;
  readonly isTTY?: boolean | undefined;
  readonly columns?: number | undefined;
}

export interface CliContext {
  readonly stdout: CliStream;
  readonly stderr: CliStream;
  /** What a command reads that was told to; absent in tests that give nothing. */
  readonly stdin?: AsyncIterable<string | Uint8Array> | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The working directory. */
  readonly cwd: string;
  readonly clock: Clock;
  /** Aborts when the reader of the output is gone, which ends commands that would run forever. */
  readonly signal: AbortSignal;
}

/** The reader closed the pipe or the terminal. Not an error of the command, unlike a full disk. */
const READER_IS_GONE = new Set(["EIO", "EPIPE"]);

/** The context of this process. */
export function processContext(): CliContext {
  const gone = new AbortController();
  for (const stream of [process.stdout, process.stderr]) {
    stream.on("error", (error: NodeJS.ErrnoException) => {
      gone.abort(error);
      if (READER_IS_GONE.has(error.code ?? "")) return;
      process.exitCode = EXIT.failure;
      if (stream !== process.stderr)
        process.stderr.write(`rota: could not write the output: ${error.message}\n`);
    });
  }
  return {
    stdout: process.stdout,
    stderr: process.stderr,
    // Opened by its first use: most commands read nothing.
    get stdin() {
      return process.stdin;
    },
    env: process.env,
    cwd: process.cwd(),
    clock: systemClock,
    signal: gone.signal,
  };
}
