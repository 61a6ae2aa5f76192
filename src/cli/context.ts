/** What surrounds the command: streams, environment, directory, time. Passed in, so that a test can be the terminal. */
import { type Clock, systemClock } from "../clock.js";
import { EXIT } from "./exit-codes.js";

/** As much of a writable stream as the command needs. */
export interface CliStream {
  write(chunk: string | Uint8Array): unknown;
  readonly isTTY?: boolean | undefined;
  readonly columns?: number | undefined;
}

export interface CliContext {
  readonly stdout: CliStream;
  readonly stderr: CliStream;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The directory that the command was called in. */
  readonly cwd: string;
  readonly clock: Clock;
  /** Fires when nobody reads the output any more: what goes on for ever ends then. */
  readonly signal: AbortSignal;
}

/** A pipe that was closed at its other end, and a terminal that was: its reader had enough, which is no error; a full disk is. */
const READER_IS_GONE = new Set(["EIO", "EPIPE"]);

/** That of this process. */
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
    env: process.env,
    cwd: process.cwd(),
    clock: systemClock,
    signal: gone.signal,
  };
}
