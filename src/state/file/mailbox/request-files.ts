/**
 * The files of the mailbox: `requests/<id>.json` waits, `requests/taken/<id>.json` was taken by a scheduler, and
 * `requests/answers/<id>.json` is the answer. Each is written elsewhere and renamed, so that a reader sees all of it or nothing.
 */
import type { FileHandle } from "node:fs/promises";
import { join } from "node:path";
import { messageOf } from "../../../errors.js";
import { type Fields, isFields } from "../../../fields.js";
import { isoTimeMs } from "../../../iso-time.js";
import type { Logger } from "../../../logger.js";
import { randomToken } from "../../../random.js";
import { REQUESTED_ACTIONS, type RequestAnswer, type ScheduleRequest } from "../../mailbox.js";
import { StateFileError } from "../../errors.js";
import { JOB_TRIGGERS } from "../../schedule-state.js";
import {
  attempt,
  type Disk,
  errorCode,
  makePrivateDirectory,
  openRegular,
  removeQuietly,
  syncDirectory,
  unless,
} from "../disk.js";

export type RequestFolder = "." | "taken" | "answers";

const ID = /^(?:job|req)-[0-9a-z-]{1,64}$/;
const SUFFIX = ".json";
/** Larger files are no requests of ours: a prompt and data together have at most 1 MB. */
const MOST_BYTES = 8_000_000;

export class RequestFiles {
  readonly directory: string;
  readonly #disk: Disk;
  readonly #logger: Logger;

  constructor(stateDir: string, disk: Disk, logger: Logger) {
    this.directory = join(stateDir, "requests");
    this.#disk = disk;
    this.#logger = logger;
  }

  folder(folder: RequestFolder): string {
    return folder === "." ? this.directory : join(this.directory, folder);
  }

  async prepare(): Promise<void> {
    await makePrivateDirectory(this.#disk, this.folder("taken"));
    await makePrivateDirectory(this.#disk, this.folder("answers"));
  }

  /** The ids of the requests or answers in a folder. */
  async ids(folder: RequestFolder): Promise<readonly string[]> {
    const path = this.folder(folder);
    const names = (await attempt(path, "list", unless(["ENOENT"], this.#disk.readdir(path)))) ?? [];
    return names.flatMap((name) => idOf(name) ?? []);
  }

  /** A file that is damaged is set aside, and reported once. */
  async readRequest(folder: RequestFolder, id: string): Promise<ScheduleRequest | undefined> {
    const fields = await this.#read(folder, id);
    if (fields === undefined) return undefined;
    const request = requestIn(fields, id);
    if (request === undefined) await this.#setAside(folder, id, "it is not a request");
    return request;
  }

  async readAnswer(id: string): Promise<(RequestAnswer & { readonly isKept: boolean }) | undefined> {
    const fields = await this.#read("answers", id);
    if (fields === undefined) return undefined;
    const { job_id, refusal } = fields;
    return {
      id,
      ...(typeof job_id === "string" ? { job_id } : {}),
      ...(typeof refusal === "string" ? { refusal } : {}),
      isKept: fields["is_kept"] === true,
    };
  }

  /** `isDurable`: it survives a power failure when this resolves. */
  async write(folder: RequestFolder, id: string, content: object, isDurable: boolean): Promise<void> {
    const path = join(this.folder(folder), `${id}${SUFFIX}`);
    // Not in a folder that is watched.
    const draft = join(this.folder("taken"), `${id}.${randomToken()}.tmp`);
    try {
      const handle = await this.#create(draft);
      try {
        await attempt(path, "write", handle.writeFile(`${JSON.stringify(content)}\n`));
        if (isDurable) await attempt(path, "sync", handle.sync());
      } finally {
        await handle.close();
      }
      await attempt(path, "rename", this.#disk.rename(draft, path));
      if (isDurable) await attempt(path, "sync directory", syncDirectory(this.#disk, this.folder(folder)));
    } catch (error) {
      await removeQuietly(this.#disk, draft);
      throw error;
    }
  }

  /** `false` when it is not there any more. */
  async move(id: string, from: RequestFolder, to: RequestFolder): Promise<boolean> {
    const name = `${id}${SUFFIX}`;
    const [before, after] = [join(this.folder(from), name), join(this.folder(to), name)];
    try {
      await this.#disk.rename(before, after);
      return true;
    } catch (error) {
      if (errorCode(error) === "ENOENT") return false;
      throw await attempt(before, "rename", Promise.reject(error));
    }
  }

  /** `false` when it is not there any more. */
  async remove(folder: RequestFolder, id: string): Promise<boolean> {
    const path = join(this.folder(folder), `${id}${SUFFIX}`);
    const removed = this.#disk.unlink(path).then(() => true);
    return (await attempt(path, "remove", unless(["ENOENT"], removed))) ?? false;
  }

  /** Removes files of a folder that are older than `ageOf` says; drafts and damaged files too. */
  async sweep(
    folder: RequestFolder,
    nowMs: number,
    ageOf: (id: string | undefined) => Promise<number> | number,
  ): Promise<void> {
    const path = this.folder(folder);
    for (const name of (await unless(["ENOENT"], this.#disk.readdir(path))) ?? []) {
      const file = join(path, name);
      const stats = await unless(["ENOENT"], this.#disk.lstat(file));
      if (stats === undefined || stats.isDirectory()) continue;
      if (nowMs - stats.mtimeMs > (await ageOf(idOf(name)))) await removeQuietly(this.#disk, file);
    }
  }

  async #create(path: string): Promise<FileHandle> {
    const create = (): Promise<FileHandle> => this.#disk.open(path, "wx", 0o600);
    const handle = await attempt(path, "create", unless(["ENOENT"], create()));
    if (handle !== undefined) return handle;
    await this.prepare();
    return attempt(path, "create", create());
  }

  async #read(folder: RequestFolder, id: string): Promise<Fields | undefined> {
    const path = join(this.folder(folder), `${id}${SUFFIX}`);
    let handle: FileHandle | undefined;
    try {
      handle = await openRegular(this.#disk, path);
      if (handle === undefined) return undefined;
      const stats = await handle.stat();
      if (!stats.isFile() || stats.size > MOST_BYTES) throw new Error("it is too large, or not a file");
      const value: unknown = JSON.parse(await handle.readFile("utf8"));
      if (!isFields(value)) throw new Error("it is not a JSON object");
      return value;
    } catch (error) {
      // A disk that fails for a moment has not damaged the request: the next look reads it again.
      if (!isTransient(error)) await this.#setAside(folder, id, messageOf(error));
      return undefined;
    } finally {
      await handle?.close();
    }
  }

  async #setAside(folder: RequestFolder, id: string, reason: string): Promise<void> {
    const path = join(this.folder(folder), `${id}${SUFFIX}`);
    this.#logger.warn(`Ignored the request in ${path}, which is damaged: ${reason}`);
    try {
      await this.#disk.rename(path, `${path}.damaged`);
    } catch {}
  }
}

const TRANSIENT = new Set([
  "EAGAIN",
  "EBUSY",
  "EINTR",
  "EIO",
  "EMFILE",
  "ENFILE",
  "ENOMEM",
  "ESTALE",
  "ETIMEDOUT",
]);

function isTransient(error: unknown): boolean {
  const code = errorCode(error instanceof StateFileError ? error.cause : error);
  return code !== undefined && TRANSIENT.has(code);
}

function idOf(name: string): string | undefined {
  if (!name.endsWith(SUFFIX)) return undefined;
  const id = name.slice(0, -SUFFIX.length);
  return ID.test(id) ? id : undefined;
}

function requestIn(fields: Fields, id: string): ScheduleRequest | undefined {
  const { agent, schedule, created_at, expires_at } = fields;
  const action = REQUESTED_ACTIONS.find((known) => known === fields["action"]);
  const isWhole = typeof agent === "string" && typeof schedule === "string" && action !== undefined;
  if (!isWhole || typeof created_at !== "string" || typeof expires_at !== "string") return undefined;
  if (isoTimeMs(created_at) === undefined || isoTimeMs(expires_at) === undefined) return undefined;
  const text = (key: string): string | null => {
    const value = fields[key];
    return typeof value === "string" ? value : null;
  };
  return {
    id,
    agent,
    schedule,
    action,
    created_at,
    expires_at,
    job_id: text("job_id"),
    ...(action === "stop" ? { node: text("node") } : {}),
    trigger: JOB_TRIGGERS.find((known) => known === fields["trigger"]) ?? null,
    prompt: text("prompt"),
    data: fields["data"] ?? null,
    key: text("key"),
    cause: text("cause"),
    author: text("author"),
  };
}
