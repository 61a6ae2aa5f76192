/** Bugs of the PostgreSQL store that the simulator has to notice when several schedulers share it. */
import type * as leaseGuard from "../../src/scheduler/claims/lease-guard.js";
import type * as job from "../../src/scheduler/jobs/job.js";
import type * as scheduler from "../../src/scheduler/scheduler.js";
import type * as claimRules from "../../src/state/claim-rules.js";
import type * as jobLog from "../../src/state/postgres/jobs/postgres-job-log.js";
import type * as stateWriter from "../../src/state/postgres/writes/state-writer.js";
import type { Claim } from "../../src/state/store.js";
import { type PlantedBug, seam, sqlSeam } from "./seams.js";

/** Makes what is compared with the end of a lease later by 25 seconds. */
const endedEarly = (lease: string): ReturnType<typeof sqlSeam> =>
  sqlSeam(lease, `${lease} + interval '25 seconds'`);

export const PLANTED_POSTGRES_BUGS: readonly PlantedBug[] = [
  {
    name: "the claims of an agent are counted wrongly",
    seams: [sqlSeam("else a.capacity - (", "else a.capacity + 9 - (")],
    breaks: ["capacity of an agent"],
  },
  {
    name: "the end of a lease is not looked at",
    seams: [sqlSeam("has_expired := exists (", "has_expired := false and exists (")],
    // The record of a dead node's job is closed with its claim.
    breaks: ["a dead node's slot is free in time", "nothing stays blocked", "one final status per job"],
  },
  {
    name: "a lease is taken to have ended too early",
    seams: [
      endedEarly("until <= v_lease_now"),
      endedEarly("l.until <= coalesce($1, clock_timestamp())"),
      endedEarly("s.lease_until <= coalesce($1, clock_timestamp())"),
    ],
    breaks: ["one live claim"],
  },
  {
    name: "a renewal does not last",
    seams: [
      sqlSeam(
        "set lease_until = coalesce($4, clock_timestamp()) + $5::interval, version",
        "set lease_until = s.lease_until + 0 * (coalesce($4, clock_timestamp()) + $5::interval - now()), version",
      ),
    ],
    breaks: ["one live claim", "every slot is accounted for"],
  },
  {
    name: "the version of a row is not checked",
    seams: [sqlSeam("and s.version = w.version\n", "and w.version is not null\n")],
    breaks: ["one live claim", "no acknowledged update is lost", "every slot is accounted for"],
  },
  {
    name: "the expired claims of others are given back as if they were one's own",
    seams: [
      seam<typeof claimRules>("state/claim-rules", ({ givenBack }) => ({
        interruption: (state) => givenBack(state),
      })),
    ],
    breaks: ["a job that died with its node counts as interrupted"],
  },
  {
    name: "what is renewed is not looked at again",
    seams: [sqlSeam("from renewed r group by r.owner", "from renewed r where false group by r.owner")],
    breaks: ["a dead node's slot is free in time", "nothing stays blocked", "one final status per job"],
  },
  {
    name: "the job of a dead node is left open",
    seams: [
      seam<typeof jobLog>("state/postgres/jobs/postgres-job-log", ({ PostgresJobLog }) => ({
        PostgresJobLog: class extends PostgresJobLog {
          override async presumeInterrupted(): Promise<void> {}
          override async presumeLost(): Promise<void> {}
        },
      })),
    ],
    breaks: ["one final status per job"],
  },
  {
    name: "a scheduler goes by the clock of its machine",
    seams: [
      seam<typeof scheduler>("scheduler/scheduler", ({ Scheduler }) => ({
        Scheduler: class extends Scheduler {
          constructor(options: ConstructorParameters<typeof Scheduler>[0] = {}) {
            if (options.store !== undefined)
              Object.defineProperty(options.store, "clock", { value: undefined });
            super(options);
          }
        },
      })),
    ],
    breaks: ["nothing starts early", "the simulation runs to its end", "what may run runs within a check"],
  },
  {
    name: "a job that has ended takes the next slot's claim for its own",
    seams: [
      seam<typeof job>("scheduler/jobs/job", ({ Job }) => ({
        Job: class extends Job {
          override continueUnder(claim: Claim): boolean {
            const { slot } = this.phase === "ended" ? this.claim : claim;
            return super.continueUnder({ ...claim, slot });
          }
        },
      })),
    ],
    seed: 778,
    breaks: ["every slot is accounted for"],
  },
  {
    name: "an end whose reply was lost is taken for superseded",
    seams: [
      seam<typeof stateWriter>("state/postgres/writes/state-writer", ({ StateWriter }) => ({
        StateWriter: class extends StateWriter {
          override wasEnded(): boolean {
            return false;
          }
        },
      })),
    ],
    breaks: ["one final status per job"],
  },
  {
    name: "a job whose claim cannot be renewed is not told to stop",
    seams: [
      seam<typeof leaseGuard>("scheduler/claims/lease-guard", ({ LeaseGuard }) => ({
        LeaseGuard: class extends LeaseGuard {
          override begin(): void {}
        },
      })),
    ],
    breaks: ["a job ends before its claim is another's"],
  },
];
