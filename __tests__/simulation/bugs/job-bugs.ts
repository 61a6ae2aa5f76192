/** Bugs of jobs in the scheduler: their start, their claims, and how their ends are written. */
import type * as heldClaims from "../../../src/scheduler/claims/held-claims.js";
import type * as claimEnd from "../../../src/scheduler/jobs/claim-end.js";
import type * as job from "../../../src/scheduler/jobs/job.js";
import type * as jobCompleter from "../../../src/scheduler/jobs/job-completer.js";
import type * as jobStarter from "../../../src/scheduler/jobs/job-starter.js";
import type * as stateAfterJob from "../../../src/scheduler/planning/state-after-job.js";
import type { Claim, FinishResult, JobFinish, StateStore } from "../../../src/state/store.js";
import { type Arguments, overridden, type PlantedBug, seam, type Seam, withStore } from "../seams.js";

type FinishJobs = StateStore["finishJobs"];
type Start = jobStarter.JobStarter["start"];

const WRITTEN: FinishResult = { claim: "ended", record: "written" };

/** Replaces the store's `finishJobs`, as the completer calls it. */
function finishing(replace: (finishJobs: FinishJobs) => FinishJobs): Seam {
  return seam<typeof jobCompleter>("scheduler/jobs/job-completer", ({ JobCompleter }) => ({
    JobCompleter: class extends JobCompleter {
      constructor(...[context, claims]: Arguments<typeof JobCompleter>) {
        const { store } = context;
        const finishJobs = replace((ends) => store.finishJobs(ends));
        super(withStore(context, overridden(store, { finishJobs })), claims);
      }
    },
  }));
}

/** Replaces the results of `finishJobs`. */
function finishResults(replace: (result: FinishResult) => FinishResult): Seam {
  return finishing((finishJobs) => async (ends) => (await finishJobs(ends)).map(replace));
}

/** Replaces the end of a job that ran a slot. */
function slotJobEnd(replace: (original: typeof claimEnd.SlotJobEnd) => typeof claimEnd.SlotJobEnd): Seam {
  return seam<typeof claimEnd>("scheduler/jobs/claim-end", ({ SlotJobEnd }) => ({
    SlotJobEnd: replace(SlotJobEnd),
  }));
}

export const JOB_BUGS: readonly PlantedBug[] = [
  {
    name: "claims written during a stop are started",
    seams: [
      seam<typeof jobStarter>("scheduler/jobs/job-starter", ({ JobStarter }) => ({
        JobStarter: class extends JobStarter {
          override start(...[claims, askedMs]: Parameters<Start>): ReturnType<Start> {
            return super.start(claims, askedMs, () => true);
          }
        },
      })),
    ],
    breaks: ["nothing starts after stop"],
  },
  {
    name: "a start is counted twice",
    seams: [
      seam<typeof jobStarter>("scheduler/jobs/job-starter", ({ JobStarter }) => ({
        JobStarter: class extends JobStarter {
          override get startCount(): number {
            return 2 * super.startCount;
          }
        },
      })),
    ],
    breaks: ["counters"],
  },
  {
    name: "leases are not renewed",
    seams: [
      seam<typeof heldClaims>("scheduler/claims/held-claims", ({ HeldClaims }) => ({
        HeldClaims: class extends HeldClaims {
          constructor(...[context]: Arguments<typeof HeldClaims>) {
            super(withStore(context, overridden(context.store, { renew: async () => true })));
          }
        },
      })),
      seam<typeof job>("scheduler/jobs/job", ({ Job }) => ({
        Job: class extends Job {
          override continueUnder(): boolean {
            return false;
          }
        },
      })),
    ],
    breaks: ["no schedule twice at once", "one start per slot", "waiting is not lateness"],
  },
  {
    name: "an interval counts from the start",
    seams: [
      seam<typeof stateAfterJob>("scheduler/planning/state-after-job", ({ stateAfterJob: after }) => ({
        stateAfterJob: (input, run) => after(input, { ...run, finishedAt: run.startedAt }),
      })),
    ],
    breaks: ["an interval counts from completion"],
  },
  {
    name: "a job ends as failed though it was cancelled",
    seams: [
      seam<typeof job>("scheduler/jobs/job", ({ failureOf }) => ({
        failureOf: (error) => failureOf(error, false),
      })),
    ],
    breaks: ["one final status per job"],
  },
  {
    name: "a job that failed frees no capacity",
    seams: [
      seam<typeof jobCompleter>("scheduler/jobs/job-completer", ({ JobCompleter }) => ({
        JobCompleter: class extends JobCompleter {
          override add(end: claimEnd.ClaimEnd): void {
            if (end.finish(() => {}).record?.status !== "failed") super.add(end);
          }
        },
      })),
    ],
    breaks: ["counters", "nothing stays blocked"],
  },
  {
    name: "the end of a job is told with every try to record it",
    seams: [
      slotJobEnd(
        (SlotJobEnd) =>
          class extends SlotJobEnd {
            override finish(onClaimEnded: () => void): JobFinish {
              this.close("ended");
              return super.finish(onClaimEnded);
            }
          },
      ),
    ],
    breaks: ["one final status per job", "a result that is told counts"],
  },
  {
    name: "ends that could not be written together are forgotten",
    seed: 248,
    seams: [
      finishing((finishJobs) => async (ends) => {
        try {
          return await finishJobs(ends);
        } catch (error) {
          if (ends.length === 1) throw error;
          return new Promise(() => {});
        }
      }),
    ],
    breaks: ["counters", "nothing stays blocked", "every end is told", "no result is lost"],
  },
  {
    name: "a finish is not repeated after a failure",
    seams: [finishing((finishJobs) => (ends) => finishJobs(ends).catch(() => ends.map(() => WRITTEN)))],
    breaks: ["a result that is told counts", "one start per slot"],
  },
  {
    name: "a scheduler that goes on gives up the end of a job",
    seams: [
      seam<typeof jobCompleter>("scheduler/jobs/job-completer", ({ JobCompleter }) => ({
        JobCompleter: class extends JobCompleter {
          constructor(...[context, claims]: Arguments<typeof JobCompleter>) {
            super(context, claims);
            // As after a stop, always.
            Object.defineProperty(this, "isOpen", { get: () => false, set: () => {} });
          }
        },
      })),
    ],
    breaks: ["no result is lost"],
  },
  {
    name: "a superseded end is taken for ended",
    seed: 142,
    seams: [
      finishResults((result) => (result.claim === "superseded" ? { ...result, claim: "ended" } : result)),
    ],
    breaks: ["a result that is told counts"],
  },
  {
    name: "a record that failed is taken for written",
    seams: [
      finishResults((result) =>
        result.claim !== "failed" && result.record === "failed" ? { ...result, record: "written" } : result,
      ),
    ],
    breaks: ["one final status per job", "no result is lost", "every end is told"],
  },
  {
    name: "a claim that has ended settles its job twice",
    seams: [
      seam<typeof job>("scheduler/jobs/job", ({ Job }) => ({
        Job: class extends Job {
          override settle(): void {
            if (this.phase === "ended") super.settle();
          }
        },
      })),
      slotJobEnd(
        (SlotJobEnd) =>
          class extends SlotJobEnd {
            override finish(onClaimEnded: () => void): JobFinish {
              return super.finish(() => {
                onClaimEnded();
                this.settle("ended");
              });
            }
          },
      ),
    ],
    breaks: ["counters", "capacity of the fleet"],
  },
  {
    name: "a job that continued under a newer claim ends the old one",
    seed: 142,
    seams: [
      seam<typeof job>("scheduler/jobs/job", ({ Job }) => ({
        Job: class extends Job {
          readonly first: Claim;
          constructor(...args: Arguments<typeof Job>) {
            super(...args);
            this.first = args[0];
          }
        },
      })),
      slotJobEnd(
        (SlotJobEnd) =>
          class extends SlotJobEnd {
            override finish(onClaimEnded: () => void): JobFinish {
              const { first } = this.holder as job.Job & { readonly first: Claim };
              return { ...super.finish(onClaimEnded), claim: first };
            }
          },
      ),
    ],
    breaks: ["counters", "nothing stays blocked", "every end is told"],
  },
];
