/**
 * The mailbox beside a state file: a directory with a file for each request. The scheduler that owns the state watches it
 * and carries the requests out. How the files are named and written is in request-files.ts.
 */
import { type FSWatcher, watch } from "node:fs";
import { type Clock, unrefClock, wakeAfter } from "../../../clock.js";
import { messageOf } from "../../../errors.js";
import { isoTimeMs } from "../../../iso-time.js";
import type { Logger } from "../../../logger.js";
import { randomToken, systemRandom } from "../../../random.js";
import { drawJobId } from "../../job-log/job-id.js";
import {
  isKept,
  KEY_MS,
  keptMs,
  type JobOrder,
  type Mailbox,
  type NewRequest,
  ORDER_MS,
  pollAnswer,
  type PendingRequest,
  type PostOptions,
  type RequestAnswer,
  type ScheduleRequest,
  type StartedOrder,
  type WaitOptions,
} from "../../mailbox.js";
import type { ScheduleKey } from "../../store.js";
import type { Disk } from "../disk.js";
import { isLocal } from "../local-disk.js";
import { RequestFiles } from "./request-files.js";

export interface FileMailboxOptions {
  readonly stateDir: string;
  readonly disk: Disk;
  readonly clock: Clock;
  /** Time as other processes know it. */
  readonly realClock: Clock;
  readonly logger: Logger;
}

/** Where the system does not report changes, such as on a network disk. */
const LOOK_MS = 500;
/** An answer that its caller did not fetch. */
const UNREAD_MS = 3_600_000;
const SWEEP_MS = 3_600_000;

export class FileMailbox implements Mailbox {
  readonly #options: FileMailboxOptions;
  readonly #files: RequestFiles;
  /** The orders that started jobs, by schedule and key; read when a key is first looked for. */
  #started: Promise<Map<string, StartedOrder>> | undefined;
  /** The requests that an earlier owner had taken, still to be looked at. */
  #leftOvers: readonly string[] = [];
  #sweptMs = -Infinity;
  #isLocal = true;
  #prepared: Promise<void> | undefined;

  constructor(options: FileMailboxOptions) {
    this.#options = options;
    this.#files = new RequestFiles(options.stateDir, options.disk, options.logger);
  }

  /** To be called by the owner of the state when it opens. Nothing is written before the mailbox is used. */
  open(): void {
    this.#started = undefined;
    this.#prepared = undefined;
  }

  async post(given: NewRequest, { ttlMs, isTaken = false }: PostOptions): Promise<ScheduleRequest> {
    const now = this.#options.clock.now();
    const request: ScheduleRequest = {
      ...given,
      // The job's id: a request that is carried out twice starts one job.
      id: given.action === "run" ? drawJobId(now, systemRandom) : `req-${randomToken()}`,
      created_at: now.toISOString(),
      expires_at: new Date(now.getTime() + ttlMs).toISOString(),
    };
    const { id, ...content } = request;
    if (isTaken) await this.#prepare();
    await this.#files.write(isTaken ? "taken" : ".", id, content, isKept(request));
    return request;
  }

  waitForAnswer({ id }: ScheduleRequest, options: WaitOptions): Promise<RequestAnswer | undefined> {
    const subscribe = (changed: () => void): (() => void) =>
      this.#watch(this.#files.folder("answers"), changed);
    return pollAnswer(options, LOOK_MS, () => this.#answerOf(id), subscribe);
  }

  async withdraw({ id }: ScheduleRequest): Promise<RequestAnswer | "taken" | undefined> {
    if (await this.#files.remove(".", id)) return undefined;
    return (await this.#answerOf(id)) ?? "taken";
  }

  onPost(listener: () => void): () => void {
    let stop: (() => void) | undefined;
    let isStopped = false;
    const begin = async (): Promise<void> => {
      try {
        await this.#prepare();
      } catch (error) {
        this.#options.logger.warn(`Could not make the directory of requests: ${messageOf(error)}`);
      }
      if (isStopped) return;
      stop = this.#watch(this.#files.directory, listener);
      listener();
    };
    void begin();
    return () => {
      isStopped = true;
      stop?.();
    };
  }

  async pending(): Promise<readonly PendingRequest[]> {
    const { clock, logger } = this.#options;
    await this.#prepare();
    const nowMs = clock.now().getTime();
    const found: PendingRequest[] = [];
    const taken = this.#leftOvers;
    this.#leftOvers = [];
    const answered = new Set(taken.length === 0 ? [] : await this.#files.ids("answers"));
    for (const id of taken) {
      const request = answered.has(id) ? undefined : await this.#files.readRequest("taken", id);
      if (request !== undefined) found.push({ request, isLeftOver: true });
    }
    for (const id of await this.#files.ids(".")) {
      const request = await this.#files.readRequest(".", id);
      if (request === undefined) continue;
      if ((isoTimeMs(request.expires_at) ?? 0) <= nowMs) await this.#files.remove(".", id);
      else found.push({ request, isLeftOver: false });
    }
    void this.#sweep().catch((error: unknown) =>
      logger.debug?.(`Could not remove old requests: ${messageOf(error)}`),
    );
    return found.toSorted((a, b) => (a.request.created_at < b.request.created_at ? -1 : 1));
  }

  take(id: string): Promise<boolean> {
    return this.#files.move(id, ".", "taken");
  }

  async putBack(id: string): Promise<void> {
    await this.#files.move(id, "taken", ".");
  }

  /** The state has one owner: no peer could take the request. */
  async leave(): Promise<void> {}

  async answer(request: ScheduleRequest, answer: Omit<RequestAnswer, "id">): Promise<void> {
    const { id } = request;
    const { job_id } = answer;
    const is_kept = job_id != null && isKept(request);
    if (job_id != null && request.key != null)
      (await this.#started)?.set(keyOf(request), { request, jobId: job_id });
    await this.#files.write("answers", id, { ...answer, is_kept }, is_kept);
    if (!is_kept) await this.#files.remove("taken", id);
  }

  async discard(id: string): Promise<void> {
    await this.#files.remove("taken", id);
  }

  async ofJob(jobId: string): Promise<ScheduleRequest | undefined> {
    const request = await this.#files.readRequest("taken", jobId);
    return request?.action === "run" ? request : undefined;
  }

  async findKey(wanted: ScheduleKey & Pick<JobOrder, "key">): Promise<StartedOrder | undefined> {
    const started = (this.#started ??= this.#readStarted());
    started.catch(() => {
      this.#started = undefined;
    });
    const order = (await started).get(keyOf(wanted));
    if (order === undefined) return undefined;
    const ageMs = this.#options.clock.now().getTime() - (isoTimeMs(order.request.created_at) ?? 0);
    return ageMs < KEY_MS ? order : undefined;
  }

  /** What is taken before this store uses the mailbox was taken by an earlier owner. */
  #prepare(): Promise<void> {
    const prepare = async (): Promise<void> => {
      await this.#files.prepare();
      this.#leftOvers = await this.#files.ids("taken");
      this.#isLocal = await isLocal(this.#options.disk, this.#files.directory);
    };
    this.#prepared ??= prepare().catch((error: unknown) => {
      this.#prepared = undefined;
      throw error;
    });
    return this.#prepared;
  }

  async #readStarted(): Promise<Map<string, StartedOrder>> {
    const started = new Map<string, StartedOrder>();
    const requests: ScheduleRequest[] = [];
    for (const id of await this.#files.ids("taken")) {
      const request = await this.#files.readRequest("taken", id);
      if (request?.key != null) requests.push(request);
    }
    for (const request of requests.toSorted((a, b) => (a.created_at < b.created_at ? -1 : 1))) {
      const answer = await this.#files.readAnswer(request.id);
      if (answer?.job_id != null) started.set(keyOf(request), { request, jobId: answer.job_id });
    }
    return started;
  }

  /** An answer that is not kept is removed by the caller that it is for. */
  async #answerOf(id: string): Promise<RequestAnswer | undefined> {
    const found = await this.#files.readAnswer(id);
    if (found === undefined) return undefined;
    const { isKept: isStaying, ...answer } = found;
    if (!isStaying) await this.#files.remove("answers", id).catch(() => {});
    return answer;
  }

  /** Also looks now and then: where a disk is shared, the system reports the changes of this machine only. */
  #watch(directory: string, changed: () => void): () => void {
    let watcher: FSWatcher | undefined;
    try {
      watcher = watch(directory, { persistent: false }, changed);
      watcher.on("error", () => watcher?.close());
    } catch {}
    let callOff: (() => void) | undefined;
    const look = (): void => {
      callOff = wakeAfter(unrefClock, LOOK_MS, look);
      changed();
    };
    if (watcher === undefined || !this.#isLocal) look();
    return () => {
      callOff?.();
      watcher?.close();
    };
  }

  async #sweep(): Promise<void> {
    const { realClock } = this.#options;
    if (realClock.monotonic() - this.#sweptMs < SWEEP_MS) return;
    this.#sweptMs = realClock.monotonic();
    const nowMs = realClock.now().getTime();
    await this.#files.sweep("taken", nowMs, async (id) => {
      const request = id === undefined ? undefined : await this.#files.readRequest("taken", id);
      return request === undefined ? UNREAD_MS : keptMs(request);
    });
    await this.#files.sweep("answers", nowMs, async (id) => {
      const answer = id === undefined ? undefined : await this.#files.readAnswer(id);
      return answer?.isKept === true ? ORDER_MS : UNREAD_MS;
    });
    await this.#files.sweep(".", nowMs, (id) => (id === undefined ? KEY_MS : Infinity));
  }
}

function keyOf({ agent, schedule, key }: ScheduleKey & Pick<JobOrder, "key">): string {
  return JSON.stringify([agent, schedule, key]);
}
