/** A journal with a part that counts, in a directory of its own, on a disk that can be watched. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { FakeClock } from "../../../../src/clock.js";
import type { Logger } from "../../../../src/logger.js";
import type { JournalPart } from "../../../../src/state/file/journal/journal-part.js";
import { JournalReader } from "../../../../src/state/file/journal/journal-reader.js";
import { Journal, type JournalOptions } from "../../../../src/state/file/journal/journal.js";
import { type TemporaryDirectory, temporaryDirectory } from "../../temporary-directory.js";
import { WatchedDisk } from "../../watched-disk.js";

export interface Note {
  readonly id: string;
  readonly text: string;
}

/** Remembers each note by its id, and where its line is. */
export class Notes implements JournalPart {
  notes: Map<string, string> = new Map();
  readonly positions: Map<string, number> = new Map();
  /** For `keepFrom`. */
  needed: number | undefined;

  apply(data: unknown, position: number): void {
    const { id, text } = data as Note;
    if (text === "refused by apply") throw new Error(text);
    this.notes.set(id, text);
    this.positions.set(id, position);
  }

  snapshot(): unknown {
    return [...this.notes];
  }

  load(snapshot: unknown): void {
    this.notes = new Map((snapshot as [string, string][] | undefined) ?? []);
  }

  idsOf(data: unknown): string[] {
    return [(data as Note).id];
  }

  keepFrom(): number | undefined {
    return this.needed;
  }
}

export class JournalWorld implements AsyncDisposable {
  readonly #temporary: TemporaryDirectory = temporaryDirectory();
  readonly directory: string = join(this.#temporary.path, "state", "journal");
  readonly watched: WatchedDisk = new WatchedDisk();
  readonly clock: FakeClock = new FakeClock();
  readonly warnings: string[] = [];
  readonly logger: Logger = {
    info: () => {},
    warn: (message) => this.warnings.push(message),
    error: (message) => this.warnings.push(message),
  };
  readonly #opened: { close(): Promise<void> }[] = [];
  checkOwner: () => Promise<void> = async () => {};

  /** A journal in the directory, and its part. With a small size, each decision begins a segment. */
  journal(options: Partial<JournalOptions> = {}): { journal: Journal; notes: Notes } {
    const notes = new Notes();
    const journal = new Journal({
      directory: this.directory,
      parts: { notes },
      disk: this.watched.disk,
      clock: this.clock,
      logger: this.logger,
      checkOwner: () => this.checkOwner(),
      ...options,
    });
    this.#opened.push(journal);
    return { journal, notes };
  }

  async opened(options: Partial<JournalOptions> = {}): Promise<{ journal: Journal; notes: Notes }> {
    const made = this.journal(options);
    await made.journal.open();
    return made;
  }

  reader(): { reader: JournalReader; notes: Notes } {
    const notes = new Notes();
    const { directory, logger, watched } = this;
    const reader = new JournalReader({ directory, parts: { notes }, disk: watched.disk, logger });
    this.#opened.push(reader);
    return { reader, notes };
  }

  path(segment: number): string {
    return join(this.directory, `${segment}.jsonl`);
  }

  bytes(segment: number): Buffer {
    return readFileSync(this.path(segment));
  }

  get files(): string[] {
    return readdirSync(this.directory).toSorted();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.watched.before = () => {};
    for (const opened of this.#opened) await opened.close();
    this.#temporary[Symbol.dispose]();
  }
}

/** Writes one note as one decision. */
export function write(journal: Journal, id: string, text: string = id): Promise<void> {
  return journal.append({ decide: () => [{ part: "notes", data: { id, text } }] });
}

/** Writes the notes one after the other. */
export async function writeAll(journal: Journal, ids: readonly string[]): Promise<void> {
  for (const id of ids) await write(journal, id);
}

export function idsFrom(from: number, to: number): string[] {
  return Array.from({ length: to - from + 1 }, (_, at) => `n${from + at}`);
}
