/**
 * A run on a work item: claimed from its source, renewed while the job runs, and reported when it has ended.
 * A report that fails does not fail the job; an item whose run broke is released.
 */
import { type Clock, wakeAfter } from "../../clock.js";
import { messageOf } from "../../errors.js";
import type { Logger } from "../../logger.js";
import type { WorkItem, WorkOutcome } from "../../work-sources/work-source.js";
import type { Agent, AgentSchedule, RunResult } from "../agent.js";
import { nameOf } from "../context.js";

/** Where work comes from: a WorkSourceManager, or the host's own. */
export interface WorkSources {
  getNextWorkItem(
    agent: Agent,
    options: {
      readonly workSource: unknown;
      readonly signal?: AbortSignal | undefined;
      /** The item to claim if it is available: an earlier attempt at the same slot worked on it. */
      readonly itemId?: string | undefined;
    },
  ): Promise<NextItem>;
  /** `false` when the item was no longer held. */
  reportOutcome(id: string, outcome: WorkOutcome, holder: ItemHolder): Promise<unknown>;
  /** Releases an item whose run broke; `false` when it was no longer held. */
  releaseWorkItem?(
    id: string,
    options: ItemHolder & { readonly reason: string; readonly addComment?: boolean | undefined },
  ): Promise<unknown>;
  /** Renews the claim on an item; `false` when it was lost. */
  renewWorkItem?(id: string, holder: ItemHolder): Promise<boolean>;
}

export interface NextItem {
  readonly item: WorkItem | null | undefined;
  /** There was work, but every item was claimed elsewhere first. */
  readonly isLost?: boolean | undefined;
  /** `false`: the item is not claimed, and no job runs on it. @default true */
  readonly claimed?: boolean | undefined;
  /** Names the claim on the item. */
  readonly claim?: string | undefined;
  /** How often the item has to be renewed, in milliseconds. */
  readonly renewEveryMs?: number | undefined;
}

export interface ItemHolder {
  readonly agent: Agent;
  readonly claim?: string | undefined;
}

export interface WorkRun {
  readonly agent: Agent;
  readonly scheduleName: string;
  readonly schedule: AgentSchedule;
  readonly signal: AbortSignal;
  /** The item that an earlier attempt worked on; set to the one that is claimed. */
  workItemId?: string | undefined;
  /** Called when the job has an item to work on. */
  readonly onWork?: (() => void) | undefined;
  /** Whether its slot is tried again when it ends like this. */
  readonly isTriedAgain?: ((status: string, now: Date) => boolean) | undefined;
  /** Tells the job to end. */
  stop(cause: "cancelled", reason: string): unknown;
}

export interface WorkParts {
  readonly sources: WorkSources;
  readonly clock: Clock;
  readonly logger: Logger;
}

export const NO_WORK: RunResult = {
  success: true,
  skipped: true,
  skipReason: "no_work",
  summary: "no work",
  processedWorkItem: false,
};

/** Throws what `execute` throws, after releasing the item. */
export async function runOnWork(
  run: WorkRun,
  workSource: unknown,
  { sources, clock, logger }: WorkParts,
  execute: (item: WorkItem) => Promise<RunResult | undefined> | RunResult | undefined,
): Promise<RunResult> {
  const { agent, signal } = run;
  const name = nameOf({ agent: agent.name, schedule: run.scheduleName });
  // A host's own manager may return nothing.
  const options = { workSource, signal, itemId: run.workItemId };
  const next: NextItem = (await sources.getNextWorkItem(agent, options)) ?? { item: undefined };
  const { item, claim } = next;
  if (item === null || item === undefined || next.claimed === false) {
    if (next.isLost === true || item != null)
      logger.warn(`There was work for ${name}, but it was claimed elsewhere first.`);
    return NO_WORK;
  }
  run.workItemId = item.id;
  run.onWork?.();
  const holder: ItemHolder = { agent, claim };
  logger.info(`Claimed ${item.id} for ${name}: ${item.title}`);
  const notHeld = `${item.id} is no longer held by ${name}: its outcome is not reported to its source.`;
  const giveBack = async (reason: string): Promise<void> => {
    try {
      const isHeld = await sources.releaseWorkItem?.(item.id, { ...holder, reason });
      if (isHeld === false) logger.warn(notHeld);
      else logger.info(`Released ${item.id} of ${name}: ${reason}`);
    } catch (error) {
      logger.warn(`Could not release ${item.id} of ${name}: ${messageOf(error)}`);
    }
  };
  const callOff = keepRenewing(item, next, holder, {
    sources,
    clock,
    logger,
    onLost: () =>
      run.stop("cancelled", `${item.id} was not renewed in time, and may have been claimed again`),
  });
  let result: RunResult;
  try {
    result = (await execute(item)) ?? { success: true };
  } catch (error) {
    await giveBack(`the run broke: ${messageOf(error)}`);
    throw error;
  } finally {
    callOff();
  }
  const isTriedAgain = !result.success && run.isTriedAgain?.(result.status ?? "failed", clock.now()) === true;
  if (result.status === "cancelled") await giveBack(result.error ?? "the run was cancelled");
  // The next try takes it again: its outcome is that of the last one.
  else if (isTriedAgain) await giveBack("the run failed and is tried again");
  else
    try {
      const isHeld = await sources.reportOutcome(item.id, outcomeOf(result), holder);
      if (isHeld === false) logger.warn(notHeld);
      else
        logger.info(`Reported outcome of ${item.id} for ${name}: ${result.success ? "success" : "failure"}`);
    } catch (error) {
      logger.warn(`Could not report the outcome of ${item.id} for ${name}: ${messageOf(error)}`);
    }
  return { ...result, workItem: item, processedWorkItem: true };
}

function outcomeOf({ success, summary = "Job completed", error }: RunResult): WorkOutcome {
  return { outcome: success ? "success" : "failure", summary, error };
}

const nothing = (): void => {};

/** Renews the claim on an item until the returned function is called, or the claim is lost. */
function keepRenewing(
  { id }: WorkItem,
  { renewEveryMs }: NextItem,
  holder: ItemHolder,
  { sources, clock, logger, onLost }: WorkParts & { onLost: () => void },
): () => void {
  if (typeof renewEveryMs !== "number" || !(renewEveryMs > 0) || sources.renewWorkItem === undefined)
    return nothing;
  let isOver = false;
  let callOff = nothing;
  const renew = async (): Promise<void> => {
    try {
      const isHeld = await sources.renewWorkItem?.(id, holder);
      if (isHeld === false && !isOver) {
        logger.warn(`${id} was not renewed in time and may have been claimed again: its job is cancelled.`);
        onLost();
        return;
      }
    } catch (error) {
      logger.warn(`Could not renew the claim on ${id}: ${messageOf(error)}`);
    }
    rest();
  };
  const rest = (): void => {
    if (!isOver) callOff = wakeAfter(clock, renewEveryMs, () => void renew());
  };
  rest();
  return () => {
    isOver = true;
    callOff();
  };
}
