/**
 * Requests in the store's mailbox: run a schedule now, cancel a job, stop. This scheduler carries out what it can, each request at
 * most once, and answers it. The asking side is in ask-scheduler.ts.
 */
import { isDeepStrictEqual } from "node:util";
import { AsyncLock } from "../../async-lock.js";
import { wakeAfter } from "../../clock.js";
import { isoTimeMs } from "../../iso-time.js";
import { dayInJobId } from "../../state/job-log/job-id.js";
import type { JobOrder, NewRequest, RequestAnswer, ScheduleRequest } from "../../state/mailbox.js";
import type { ClaimRefusal, ScheduleKey } from "../../state/store.js";
import { SchedulerError } from "../errors.js";
import type { TriggerResult } from "../options.js";
import { keyText, reportError, reportTrouble, type SchedulerContext } from "../context.js";

export interface RequestedActions {
  /** Starts a job for the request, or returns why not. */
  run(
    request: ScheduleRequest,
  ): Promise<{ readonly id: string } | ClaimRefusal | "stopped" | "full" | "answered">;
  /** Whether as many jobs run here as may over all agents. */
  isFull(): boolean;
  /** Tells a job to end; `false` when there is none with this id. */
  cancel(jobId: string): boolean;
  /** Stops this scheduler. Returns at once. */
  stop(): void;
  /** Whether a job of this id runs here. */
  hasJob(jobId: string): boolean;
}

type Answer = Omit<RequestAnswer, "id">;

/** The refusal of a scheduler that has as many jobs as it may. */
const FULL: ClaimRefusal = "at_capacity";
/** The refusal of an order whose key was used with a different prompt or data. */
export const KEY_REUSED = "key_reused";
/** A request that this node left because it is full is looked at again. */
const LEFT_LOOK_MS = 250;
/** How long an order of this process counts, until it is carried out. */
const OWN_TTL_MS = 60_000;
const DAY_MS = 86_400_000;

export class Requests {
  readonly #context: SchedulerContext;
  readonly #actions: RequestedActions;
  /** The ids of requests that are being carried out here. */
  readonly #inHand = new Set<string>();
  /** Orders with the same key are carried out one after the other. */
  readonly #keys = new Map<string, AsyncLock>();
  #looking: Promise<void> | undefined;
  #isWanted = false;
  #callOff: () => void = () => {};
  #unsubscribe: () => void = () => {};
  /** Carries out this kind only. */
  only: NewRequest["action"] | undefined;

  constructor(context: SchedulerContext, actions: RequestedActions) {
    this.#context = context;
    this.#actions = actions;
  }

  /** Carries out the requests that are there and those to come; `only`: one kind of them. */
  open(only?: NewRequest["action"]): void {
    this.#unsubscribe();
    this.only = only;
    this.#unsubscribe = this.#context.store.mailbox.onPost(() => void this.look());
    void this.look();
  }

  /** Resolves when nothing is being carried out, and nothing will be. */
  async close(): Promise<void> {
    this.#unsubscribe();
    this.#unsubscribe = () => {};
    this.#callOff();
    await this.#looking;
    this.#callOff();
  }

  /** Carries out the requests that are there. Does not reject. */
  look(): Promise<void> {
    this.#isWanted = true;
    this.#looking ??= this.#lookAll().finally(() => {
      this.#looking = undefined;
    });
    return this.#looking;
  }

  /** Carries out a request of this process itself. */
  async submit(request: NewRequest): Promise<Answer | "stopped"> {
    const { mailbox } = this.#context.store;
    const posted = await mailbox.post(request, { ttlMs: OWN_TTL_MS, isTaken: true });
    this.#inHand.add(posted.id);
    try {
      const answer = await this.#inTurn(posted, () => this.#carryOutOwn(posted));
      // A job that was started has a claim to be renewed.
      this.#context.loop.wake();
      return answer === "full" ? { refusal: FULL } : answer;
    } finally {
      this.#inHand.delete(posted.id);
    }
  }

  async #carryOutOwn(posted: ScheduleRequest): Promise<Answer | "stopped" | "full"> {
    let answer: Answer | "stopped" | "full" | undefined;
    try {
      answer = await this.#start(posted);
      return answer;
    } finally {
      // A store with several nodes has answered it with the claim, and keeps it.
      if (typeof answer === "object" && answer.job_id === posted.id) await this.#settle(posted, answer);
      else await this.#discard(posted);
    }
  }

  async #lookAll(): Promise<void> {
    while (this.#isWanted) {
      this.#isWanted = false;
      this.#callOff();
      try {
        const pending = await this.#context.store.mailbox.pending();
        const fresh = pending.filter(({ request }) => !this.#inHand.has(request.id));
        const isLeft = await Promise.all(
          fresh.map(({ request, isLeftOver }) => this.#handle(request, isLeftOver)),
        );
        // A job that was started has a claim to be renewed.
        if (fresh.length > 0) this.#context.loop.wake();
        if (isLeft.includes(true))
          this.#callOff = wakeAfter(this.#context.clock, LEFT_LOOK_MS, () => void this.look());
      } catch (error) {
        reportError(this.#context, "Could not read requests", error);
      }
    }
  }

  /** Returns whether a peer or a later look may carry it out. */
  async #handle(request: ScheduleRequest, isLeftOver: boolean): Promise<boolean> {
    if (
      request.action === "stop" ? !this.#isMeant(request) : request.action !== (this.only ?? request.action)
    )
      return false;
    this.#inHand.add(request.id);
    try {
      if (request.action === "stop") return await this.#stop(request, isLeftOver);
      return request.action === "cancel"
        ? await this.#cancel(request, isLeftOver)
        : await this.#run(request, isLeftOver);
    } catch (error) {
      reportTrouble(this.#context, request, "Could not answer a request for", error);
      return false;
    } finally {
      this.#inHand.delete(request.id);
    }
  }

  async #cancel(request: ScheduleRequest, isLeftOver: boolean): Promise<boolean> {
    const { store } = this.#context;
    const jobId = request.job_id ?? "";
    const isHere = this.#actions.hasJob(jobId);
    // A different node has to act on it: the one that runs the job.
    if (!isHere && this.#hasPeers && (await store.read(request)).claim?.job_id === jobId) return false;
    if (!isLeftOver && !(await store.mailbox.take(request.id))) return false;
    const isTold = this.#actions.cancel(jobId);
    await store.mailbox.answer(request, isTold ? { job_id: jobId } : { refusal: "not_running" });
    return false;
  }

  /** Whether a request to stop is for this scheduler. */
  #isMeant({ node }: ScheduleRequest): boolean {
    return (node ?? undefined) === this.#context.store.nodeName;
  }

  async #stop(request: ScheduleRequest, isLeftOver: boolean): Promise<boolean> {
    const { mailbox } = this.#context.store;
    // It was for the scheduler that had taken it, and that has ended.
    if (isLeftOver) await mailbox.answer(request, { refusal: "expired" });
    if (isLeftOver || !(await mailbox.take(request.id))) return false;
    await mailbox.answer(request, {});
    this.#actions.stop();
    return false;
  }

  async #run(request: ScheduleRequest, isLeftOver: boolean): Promise<boolean> {
    const { roster, store } = this.#context;
    const { mailbox } = store;
    const isKnown = roster.find(request) !== undefined;
    if (!isKnown && this.#hasPeers) return false;
    if (this.#hasPeers && this.#actions.isFull()) {
      await mailbox.leave(request.id, FULL);
      return true;
    }
    if (!isLeftOver && !(await mailbox.take(request.id))) return false;
    return this.#inTurn(request, () => this.#carryOut(request, isKnown, isLeftOver));
  }

  async #carryOut(request: ScheduleRequest, isKnown: boolean, isLeftOver: boolean): Promise<boolean> {
    const { mailbox } = this.#context.store;
    if (isLeftOver && (await this.#wasStarted(request))) {
      await mailbox.answer(request, { job_id: request.id });
      return false;
    }
    const answer = isKnown ? await this.#start(request) : { refusal: "unknown_schedule" };
    if (answer === "stopped") {
      await mailbox.putBack(request.id);
      return false;
    }
    if (answer === "full" && this.#hasPeers) {
      await mailbox.putBack(request.id);
      await mailbox.leave(request.id, FULL);
      return true;
    }
    await mailbox.answer(request, answer === "full" ? { refusal: FULL } : answer);
    return false;
  }

  /** Whether the scheduler before this one has started the job, and ended before it could say so. */
  async #wasStarted({ id, agent, schedule }: ScheduleRequest): Promise<boolean> {
    const { store } = this.#context;
    const { claim, last_job, retry } = await store.read({ agent, schedule });
    return (
      [claim?.job_id, last_job?.id, retry?.job_id].includes(id) || (await store.jobs.get(id)) !== undefined
    );
  }

  async #start(request: ScheduleRequest): Promise<Answer | "stopped" | "full"> {
    const known = await this.#ofKey(request);
    if (known !== undefined) return known;
    if (!this.#isFresh(request)) return { refusal: "expired" };
    const started = await this.#actions.run(request);
    if (started === "stopped" || started === "full") return started;
    if (started !== "answered")
      return typeof started === "string" ? { refusal: started } : { job_id: started.id };
    // An order with the same key was faster, or a peer has the request.
    return (await this.#ofKey(request)) ?? { refusal: "expired" };
  }

  /** The answer to an order whose key has started a job before. */
  async #ofKey(request: ScheduleRequest): Promise<Answer | undefined> {
    if (request.key == null) return undefined;
    const earlier = await this.#context.store.mailbox.findKey(request);
    if (earlier === undefined || earlier.request.id === request.id) return undefined;
    return isSameOrder(earlier.request, request) ? { job_id: earlier.jobId } : { refusal: KEY_REUSED };
  }

  /** The id of a job names the day on which it starts. */
  #isFresh({ id, expires_at }: ScheduleRequest): boolean {
    const nowMs = this.#context.clock.now().getTime();
    const dayMs = isoTimeMs(`${dayInJobId(id) ?? ""}T00:00:00Z`) ?? nowMs;
    return (isoTimeMs(expires_at) ?? 0) > nowMs && Math.abs(nowMs - dayMs) < 2 * DAY_MS;
  }

  async #inTurn<Result>(request: ScheduleRequest, act: () => Promise<Result>): Promise<Result> {
    if (request.key == null) return act();
    const text = `${keyText(request)} ${request.key}`;
    const lock = this.#keys.get(text) ?? new AsyncLock();
    this.#keys.set(text, lock);
    try {
      return await lock.take(act);
    } finally {
      if (this.#keys.size > 1_000) this.#keys.delete(text);
    }
  }

  /** Its job runs: that the answer could not be kept costs no more than the key. */
  async #settle(request: ScheduleRequest, answer: Answer): Promise<void> {
    try {
      await this.#context.store.mailbox.answer(request, answer);
    } catch (error) {
      reportTrouble(this.#context, request, "Could not keep the key of a job of", error);
    }
  }

  async #discard(request: ScheduleRequest): Promise<void> {
    try {
      await this.#context.store.mailbox.discard(request.id);
    } catch (error) {
      reportTrouble(this.#context, request, "Could not remove a request for", error);
    }
  }

  get #hasPeers(): boolean {
    return this.#context.store.holdMs !== undefined;
  }
}

function isSameOrder(one: JobOrder, other: JobOrder): boolean {
  return (
    (one.prompt ?? null) === (other.prompt ?? null) && isDeepStrictEqual(one.data ?? null, other.data ?? null)
  );
}

/** Whether a schedule's job has to be started through the mailbox, so that what it is started with is kept. */
export function hasOrder({ prompt, data, key, cause, author, trigger }: JobOrder): boolean {
  return [prompt, data, key, cause, author, trigger].some((value) => value != null);
}

/** What `trigger` returns for an answer. */
export function triggerResult(answer: Answer | "stopped"): TriggerResult {
  if (answer === "stopped")
    throw new SchedulerError("The scheduler was stopped meanwhile", { code: "NOT_RUNNING" });
  const { job_id, refusal } = answer;
  if (job_id != null) return { success: true, jobId: job_id };
  if (refusal === KEY_REUSED)
    throw new SchedulerError("The key was used within 24 hours with a different prompt or different data", {
      code: "KEY_REUSED",
    });
  const skipReason = SKIP_REASONS.find((reason) => reason === refusal);
  if (skipReason !== undefined) return { success: false, skipped: true, skipReason };
  throw new SchedulerError(`The job was not started: ${refusal ?? "no reason was given"}`, {
    code: "NOT_RUNNING",
  });
}

const SKIP_REASONS: readonly ClaimRefusal[] = ["disabled", "already_running", "at_capacity"];

export function requestToRun({ agent, schedule }: ScheduleKey, order: JobOrder): NewRequest {
  const { trigger, prompt, data, key, cause, author } = order;
  return { agent, schedule, action: "run", trigger, prompt, data, key, cause, author };
}
