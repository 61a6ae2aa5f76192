/**
 * What other processes ask of this scheduler through the state, such as the `rota` command does: to run a schedule now,
 * to cancel a job. Each is acted on once, and answered there. How to ask is in ask-scheduler.ts.
 */
import { isoTimeMs } from "../iso-time.js";
import type { RequestAnswer, ScheduleRequest } from "../state/schedule-state.js";
import type { ClaimRefusal, OutsideChange, ScheduleKey } from "../state/state-store.js";
import { reportTrouble, type SchedulerContext } from "./scheduler-context.js";

/** What can be asked for. */
export interface RequestedActions {
  /** Starts a job now, or answers why not. */
  run(key: ScheduleKey): Promise<{ readonly id: string } | ClaimRefusal | "stopped">;
  /** Tells a job to end; `false` when there is none with this id. */
  cancel(jobId: string): boolean;
}

export class Requests {
  readonly #context: SchedulerContext;
  readonly #actions: RequestedActions;
  /** Those under way, by id: who asks writes a request again until it is answered. */
  readonly #underWay = new Set<string>();

  constructor(context: SchedulerContext, actions: RequestedActions) {
    this.#context = context;
    this.#actions = actions;
  }

  /** Looks for requests among what somebody has changed. Does not reject. */
  async answer(changes: readonly OutsideChange[]): Promise<void> {
    const asked = changes.filter(({ keys }) => keys.includes("request"));
    await Promise.all(asked.map(({ agent, schedule }) => this.#answer({ agent, schedule })));
  }

  async #answer(key: ScheduleKey): Promise<void> {
    const { store, clock } = this.#context;
    let id: string | undefined;
    try {
      const { request, request_answer } = await store.read(key);
      if (request == null || request.id === request_answer?.id || this.#underWay.has(request.id)) return;
      if ((isoTimeMs(request.expires_at) ?? 0) <= clock.now().getTime()) return;
      ({ id } = request);
      this.#underWay.add(id);
      const answer = await this.#act(key, request);
      if (answer !== undefined)
        await store.update(key, (state) => ({
          request_answer: answer,
          // Another may have come meanwhile.
          ...(state.request?.id === id && { request: null }),
        }));
    } catch (error) {
      reportTrouble(this.#context, key, "Could not answer a request for", error);
    } finally {
      if (id !== undefined) this.#underWay.delete(id);
    }
  }

  /** Nothing when the scheduler stops: whoever runs the schedule next may be asked again. */
  async #act(key: ScheduleKey, { id, action, job_id }: ScheduleRequest): Promise<RequestAnswer | undefined> {
    if (action === "cancel") {
      const isTold = job_id != null && this.#actions.cancel(job_id);
      return isTold ? { id, job_id } : { id, refusal: "not_running" };
    }
    if (this.#context.roster.find(key) === undefined) return { id, refusal: "unknown_schedule" };
    const started = await this.#actions.run(key);
    if (started === "stopped") return undefined;
    return typeof started === "string" ? { id, refusal: started } : { id, job_id: started.id };
  }
}
