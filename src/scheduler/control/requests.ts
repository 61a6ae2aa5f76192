/**
 * Requests that other processes, such as the `rota` command, write into the state: run a schedule now, cancel a job.
 * Each is acted on once, and the reply is written into the state. The asking side is in ask-scheduler.ts.
 */
import { isoTimeMs } from "../../iso-time.js";
import type { RequestAnswer, ScheduleRequest, ScheduleState } from "../../state/schedule-state.js";
import type { ClaimRefusal, OutsideChange, ScheduleChange, ScheduleKey } from "../../state/store.js";
import { reportTrouble, type SchedulerContext } from "../context.js";

export interface RequestedActions {
  /** Starts a job now, or returns why not. */
  run(key: ScheduleKey): Promise<{ readonly id: string } | ClaimRefusal | "stopped" | "full">;
  /** Whether as many jobs run here as may over all agents. */
  isFull(): boolean;
  /** Tells a job to end; `false` when there is none with this id. */
  cancel(jobId: string): boolean;
  /** Whether a job of this id runs here. */
  hasJob(jobId: string): boolean;
}

export class Requests {
  readonly #context: SchedulerContext;
  readonly #actions: RequestedActions;

  constructor(context: SchedulerContext, actions: RequestedActions) {
    this.#context = context;
    this.#actions = actions;
  }

  /** Acts on the requests among the changes; `only`: on one kind of them. Does not reject. */
  async answer(changes: readonly OutsideChange[], only?: ScheduleRequest["action"]): Promise<void> {
    const asked = changes.filter(({ keys }) => keys.includes("request"));
    await Promise.all(asked.map(({ agent, schedule }) => this.#answer({ agent, schedule }, only)));
  }

  async #answer(key: ScheduleKey, only: ScheduleRequest["action"] | undefined): Promise<void> {
    const { store } = this.#context;
    try {
      const request = await this.#take(key, only);
      if (request === undefined) return;
      await store.update(key, await this.#act(key, request));
    } catch (error) {
      reportTrouble(this.#context, key, "Could not answer a request for", error);
    }
  }

  /** Takes the request out of the state. Several schedulers may see it: the one that takes it acts on it. */
  async #take(
    key: ScheduleKey,
    only: ScheduleRequest["action"] | undefined,
  ): Promise<ScheduleRequest | undefined> {
    const { store, clock } = this.#context;
    let taken: ScheduleRequest | undefined;
    await store.update(key, (state) => {
      const { request, request_answer: answer } = state;
      taken = undefined;
      if (request == null || request.id === answer?.id) return {};
      if (only !== undefined && request.action !== only) return {};
      const isFresh = (isoTimeMs(request.expires_at) ?? 0) > clock.now().getTime();
      if (!isFresh || this.#isForPeer(key, request, state)) return {};
      if (this.#hasPeers && request.action === "run" && this.#actions.isFull())
        return request.refusal == null ? { request: leftByFull(request) } : {};
      taken = request;
      return { request: null };
    });
    return taken;
  }

  /** Whether a different node has to act on it: the one that runs the job, or knows the schedule. */
  #isForPeer(key: ScheduleKey, { action, job_id }: ScheduleRequest, { claim }: ScheduleState): boolean {
    const { roster } = this.#context;
    if (!this.#hasPeers) return false;
    if (action !== "cancel") return roster.find(key) === undefined;
    return job_id != null && claim?.job_id === job_id && !this.#actions.hasJob(job_id);
  }

  /** Returns what to write: the reply, or the request again where a different node may be able to act on it. */
  async #act(key: ScheduleKey, request: ScheduleRequest): Promise<ScheduleChange> {
    const { id, action, job_id } = request;
    if (action === "cancel") {
      const isTold = job_id != null && this.#actions.cancel(job_id);
      return answered(isTold ? { id, job_id } : { id, refusal: "not_running" });
    }
    if (this.#context.roster.find(key) === undefined) return answered({ id, refusal: "unknown_schedule" });
    const started = await this.#actions.run(key);
    if (started === "stopped") return putBack(request);
    if (started !== "full")
      return answered(typeof started === "string" ? { id, refusal: started } : { id, job_id: started.id });
    return this.#hasPeers ? putBack(leftByFull(request)) : answered({ id, refusal: FULL });
  }

  get #hasPeers(): boolean {
    return this.#context.store.holdMs !== undefined;
  }
}

/** The refusal of a scheduler that has as many jobs as it may. */
const FULL: ClaimRefusal = "at_capacity";

/** A different node may have room. The caller sees this refusal only when no node takes the request. */
function leftByFull(request: ScheduleRequest): ScheduleRequest {
  return { ...request, refusal: FULL };
}

function answered(answer: RequestAnswer): ScheduleChange {
  return { request_answer: answer };
}

/** Unless a newer request is there. */
function putBack(request: ScheduleRequest): ScheduleChange {
  return ({ request: current }) => (current == null ? { request } : {});
}
