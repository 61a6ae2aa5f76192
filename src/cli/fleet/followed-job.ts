/** A job whose output is read again and again while it is written. Also the ends of outputs, in lines. */
import type { JobRecord } from "../../state/job-log/job-log.js";
import type { Call } from "../command.js";
import type { StateConnection } from "../location/state-location.js";
import { OutputTail } from "./output-tail.js";

/** Cutting output takes two writes; a read between them is inconsistent, so it is repeated after this time. */
const SETTLED_AFTER_MS = 50;

export interface JobNews {
  readonly record: JobRecord;
  /** What the job has written since the last read. */
  readonly bytes: Buffer;
  /** `abandoned`: its process is gone, so it stays `running` until a scheduler marks it interrupted. */
  readonly end: "ended" | "abandoned" | undefined;
}

export class FollowedJob {
  readonly #call: Call;
  readonly #connection: StateConnection;
  readonly #tail = new OutputTail();
  #record: JobRecord;

  constructor(call: Call, connection: StateConnection, record: JobRecord) {
    this.#call = call;
    this.#connection = connection;
    this.#record = record;
  }

  async next(): Promise<JobNews> {
    const { id } = this.#record;
    // Reads the record before the output, because all output is written before the job's end is recorded.
    const record = (await this.#connection.store.jobs.get(id)) ?? this.#record;
    this.#record = record;
    const isOver = record.status !== "running";
    const isAbandoned = !isOver && (await this.#connection.isAbandoned(id));
    const bytes = this.#tail.nextBytes(await this.#settledOutput());
    return { record, bytes, end: isOver ? "ended" : isAbandoned ? "abandoned" : undefined };
  }

  async #settledOutput(): Promise<Buffer> {
    const { id } = this.#record;
    const bytes = (await this.#connection.output(id)) ?? Buffer.alloc(0);
    if (this.#tail.isContinuedBy(bytes)) return bytes;
    await pause(this.#call, SETTLED_AFTER_MS);
    return (await this.#connection.output(id)) ?? Buffer.alloc(0);
  }
}

/** Returns early when the reader of the output is gone. */
export async function pause({ context }: Call, ms: number): Promise<void> {
  try {
    await context.clock.sleep(ms, context.signal);
  } catch (error) {
    if (!context.signal.aborted) throw error;
  }
}

const LINE_BREAK = 10;

/** The last lines of an output; all of it without a number. */
export function lastLines(bytes: Buffer, count: number | undefined): Buffer {
  if (count === undefined) return bytes;
  // The line break at the end of the output belongs to its last line.
  let from = bytes.at(-1) === LINE_BREAK ? bytes.length - 1 : bytes.length;
  for (let left = count; left > 0 && from >= 0; left--)
    from = from === 0 ? -1 : bytes.lastIndexOf(LINE_BREAK, from - 1);
  return count === 0 ? Buffer.alloc(0) : bytes.subarray(from + 1);
}

/** How many lines there are, with an incomplete one at the end. */
export function countLines(bytes: Buffer): number {
  let count = bytes.length > 0 && bytes.at(-1) !== LINE_BREAK ? 1 : 0;
  for (let at = bytes.indexOf(LINE_BREAK); at >= 0; at = bytes.indexOf(LINE_BREAK, at + 1)) count++;
  return count;
}

/** Puts a name before each line of a growing output, and holds an incomplete line back. */
export class NamedLines {
  readonly #name: Buffer;
  #rest: Buffer = Buffer.alloc(0);

  constructor(name: string) {
    this.#name = Buffer.from(name);
  }

  /** `isLast`: the output has ended, so an incomplete line is completed. */
  add(bytes: Buffer, isLast: boolean): Buffer {
    const all = Buffer.concat([this.#rest, bytes]);
    const to = isLast ? all.length : all.lastIndexOf(LINE_BREAK) + 1;
    this.#rest = all.subarray(to);
    const parts: Buffer[] = [];
    for (let at = 0; at < to;) {
      const end = all.indexOf(LINE_BREAK, at);
      const next = end < 0 ? to : end + 1;
      parts.push(this.#name, all.subarray(at, next));
      if (end < 0) parts.push(Buffer.from("\n"));
      at = next;
    }
    return Buffer.concat(parts);
  }
}
