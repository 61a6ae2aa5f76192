/** Bugs of slots that are tried again, and of what comes due beside them. */
import type * as nextTry from "../../../src/scheduler/planning/next-try.js";
import type * as stateAfterJob from "../../../src/scheduler/planning/state-after-job.js";
import type * as unrunSlots from "../../../src/scheduler/planning/unrun-slots.js";
import type * as claimRules from "../../../src/state/claim-rules.js";
import type { ScheduleStatePatch } from "../../../src/state/schedule-state.js";
import { type PlantedBug, seam } from "../seams.js";

export const RETRY_BUGS: readonly PlantedBug[] = [
  {
    name: "what comes due beside a job that is tried again is forgotten",
    seams: [
      seam<typeof claimRules>("state/claim-rules", ({ failedTry }) => ({
        slotBeside: () => undefined,
        failedTry: (...given) => withoutBeside(failedTry(...given)),
      })),
    ],
    seed: 45,
    breaks: ["every slot is a run or a counted skip"],
  },
  {
    name: "what comes due beside a job whose process dies is forgotten",
    seams: [
      seam<typeof claimRules>("state/claim-rules", ({ interruption }) => ({
        interruption: (...given) => withoutBeside(interruption(...given)),
      })),
    ],
    seed: 11,
    breaks: ["every slot is a run or a counted skip"],
  },
  {
    name: "what came due beside a requested job is not counted when that is over",
    seams: [
      seam<typeof unrunSlots>("scheduler/planning/unrun-slots", () => ({ withBeside: (_, unrun) => unrun })),
    ],
    seed: 11,
    breaks: ["every slot is a run or a counted skip"],
  },
  {
    name: "a try has the number of the one before it",
    seams: [
      seam<typeof nextTry>("scheduler/planning/next-try", ({ nextTry: original }) => ({
        nextTry: (...given) => {
          const again = original(...given);
          const { retry } = again ?? {};
          return retry == null ? again : { ...again, retry: { ...retry, attempt: retry.attempt - 1 } };
        },
      })),
    ],
    seed: 2,
    breaks: ["attempts at a slot count up"],
  },
  {
    name: "the failure of a last try does not count",
    seams: [
      seam<typeof stateAfterJob>("scheduler/planning/state-after-job", ({ stateAfterJob: original }) => ({
        stateAfterJob: (input, run) => {
          const conclusion = original(input, run);
          const { patch } = conclusion;
          const isLastTry = input.state.retry != null && patch.retry == null && run.result.error != null;
          return isLastTry ? { ...conclusion, patch: { ...patch, failure_count: 0 } } : conclusion;
        },
      })),
    ],
    seed: 24,
    breaks: ["an interval counts from completion", "no silence"],
  },
];

function withoutBeside(patch: ScheduleStatePatch): ScheduleStatePatch {
  return patch.retry == null ? patch : { ...patch, retry: { ...patch.retry, beside: null } };
}
