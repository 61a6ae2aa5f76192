/**
 * Bugs that the simulator has to notice, each planted by replacing exports of a module of src/. What has no seam yet is in
 * edited-bugs.ts.
 */
import type * as pass from "../../src/scheduler/loop/pass.js";
import type * as loop from "../../src/scheduler/loop/wakeable-loop.js";
import type * as dueSlot from "../../src/scheduler/planning/due-slot.js";
import type * as planWrites from "../../src/scheduler/planning/plan-writes.js";
import type * as planner from "../../src/scheduler/planning/planner.js";
import type * as stateAfterJob from "../../src/scheduler/planning/state-after-job.js";
import { dropBusySlot } from "../../src/scheduler/planning/state-after-job.js";
import type { Roster } from "../../src/scheduler/roster.js";
import type * as claimRules from "../../src/state/claim-rules.js";
import type * as newClaims from "../../src/state/owner/new-claims.js";
import type * as bookEntry from "../../src/state/owner/book-entry.js";
import type * as claimQueue from "../../src/state/owner/claim-queue.js";
import type * as leases from "../../src/state/owner/leases.js";
import type { ScheduleState, ScheduleStatePatch } from "../../src/state/schedule-state.js";
import type { ClaimToken, ScheduleKey, SkippedSlot } from "../../src/state/store.js";
import { type EditedBug, withEdits } from "./edited-bugs.js";
import { seam, type Seam, withSeams } from "./seams.js";
import type { Rota } from "./simulation.js";

/** What a bug is called, and how it is noticed. */
export interface Catch {
  /** Finishes the sentence "the simulator notices when". */
  readonly name: string;
  /** A seed whose simulation shows the bug, where the first seeds do not. */
  readonly seed?: number;
  /** The guarantees that the bug breaks. The first one that the simulator finds broken has to be one of them. */
  readonly breaks: readonly string[];
}

export interface SeamBug extends Catch {
  readonly seams: readonly Seam[];
}

export type PlantedBug = SeamBug | EditedBug;

/** Rota with the bug in it. */
export function withBug(bug: PlantedBug): Promise<Rota> {
  return "seams" in bug ? withSeams(bug.seams) : withEdits(bug);
}

type Make = newClaims.NewClaims["make"];

/** A replaced class takes what the original takes, and keeps some of that for itself. */
type Arguments<Class extends abstract new (...args: never[]) => unknown> = ConstructorParameters<Class>;

export const SEAM_BUGS: readonly SeamBug[] = [
  {
    name: "the loop awaits its jobs",
    seams: [
      seam<typeof pass>("scheduler/loop/pass", ({ Checker }) => ({
        Checker: class extends Checker {
          readonly #context;
          readonly #jobs;
          constructor(...args: Arguments<typeof Checker>) {
            super(...args);
            this.#context = args[0];
            this.#jobs = args[2].jobs;
          }
          override async check(): Promise<number> {
            const sleepMs = await super.check();
            while (this.#jobs.size > 0) await this.#context.clock.sleep(10);
            return sleepMs;
          }
        },
      })),
    ],
    breaks: ["nobody delays another", "what may run runs at once"],
  },
  {
    name: "completing checks no token",
    seams: [
      seam<typeof leases>("state/owner/leases", ({ Leases }) => ({
        Leases: class<Held extends leases.Leased> extends Leases<Held> {
          override find({ agent, schedule }: ClaimToken): Held | undefined {
            return [...this.values()].find(
              ({ claim }) => claim.agent === agent && claim.schedule === schedule,
            );
          }
        },
      })),
    ],
    breaks: ["one live claim"],
  },
  {
    name: "what a crash left running stays blocked",
    seams: [
      seam<typeof claimRules>("state/claim-rules", ({ claimableMs }) => ({
        interruption: () => ({}),
        claimableMs: (state) => (state.status === "running" ? undefined : claimableMs(state)),
      })),
    ],
    breaks: ["nothing stays blocked", "what may run runs at once"],
  },
  {
    name: "capacity is forgotten within one pass",
    seams: [seam<typeof bookEntry>("state/owner/book-entry", () => ({ hasCapacity: () => true }))],
    breaks: ["capacity of an agent"],
  },
  {
    name: "a wake during a pass is lost",
    seams: [
      seam<typeof loop>("scheduler/loop/wakeable-loop", ({ CheckLoop }) => ({
        CheckLoop: class extends CheckLoop {
          #isInPass = false;
          constructor(...[clock, inner]: Arguments<typeof CheckLoop>) {
            super(clock, async () => {
              this.#isInPass = true;
              const sleepMs = await inner();
              this.#isInPass = false;
              return sleepMs;
            });
          }
          override wake(): void {
            if (!this.#isInPass) super.wake();
          }
        },
      })),
    ],
    breaks: ["what may run runs at once"],
  },
  {
    name: "what comes due during a pass waits for the next check",
    seams: [
      seam<typeof pass>("scheduler/loop/pass", ({ Checker }) => ({
        Checker: class extends Checker {
          readonly #checkMs: number;
          constructor(...args: Arguments<typeof Checker>) {
            super(...args);
            this.#checkMs = args[0].checkInterval;
          }
          override async check(): Promise<number> {
            const sleepMs = await super.check();
            return sleepMs === 0 ? this.#checkMs : sleepMs;
          }
        },
      })),
    ],
    breaks: ["what may run runs at once"],
  },
  {
    name: "a trigger forgets the fleet's limit",
    seams: [
      seam<typeof pass>("scheduler/loop/pass", ({ Checker }) => ({
        Checker: class extends Checker {
          override get isFull(): boolean {
            return false;
          }
        },
      })),
    ],
    breaks: ["capacity of the fleet"],
  },
  {
    name: "a slot is dropped silently at capacity",
    seams: [
      seam<typeof planner>("scheduler/planning/planner", ({ Planner }) => ({
        Planner: class extends Planner {
          readonly #context;
          constructor(...args: Arguments<typeof Planner>) {
            super(...args);
            this.#context = args[0];
          }
          override async noteWaiting(slots: readonly SkippedSlot[]): Promise<void> {
            const drop = ({ agent, schedule, slot }: SkippedSlot): Promise<unknown> => {
              const key = { agent, schedule };
              const decide = (state: ScheduleState): ScheduleStatePatch =>
                dropBusySlot(this.input(key, state), slot).patch;
              return this.#context.store.update(key, decide);
            };
            await Promise.all(slots.map(drop));
          }
        },
      })),
    ],
    breaks: ["every slot is accounted for"],
  },
  {
    name: "a slot that is dropped is planned again for the same moment",
    seed: 55,
    seams: [
      seam<typeof stateAfterJob>("scheduler/planning/state-after-job", ({ dropSlot }) => ({
        dropBusySlot: (input, slot) => {
          const last_completed_at = input.state.last_completed_at ?? slot.toISOString();
          return dropSlot({ ...input, state: { ...input.state, last_completed_at } }, {});
        },
      })),
    ],
    breaks: ["what may run runs at once", "nobody delays another", "a busy agent drops its slot"],
  },
  {
    name: "plans are made for the definition that was",
    seams: [
      seam<typeof planner>("scheduler/planning/planner", ({ Planner }) => ({
        Planner: class extends Planner {
          constructor(...[context, hasJob]: Arguments<typeof Planner>) {
            const setLate = async (roster: Roster): Promise<void> => {
              for (let turn = 0; turn < 50; turn++) await Promise.resolve();
              context.roster = roster;
            };
            const late = Object.create(context, {
              roster: {
                get: () => context.roster,
                set(roster: Roster) {
                  void setLate(roster);
                },
              },
            }) as typeof context;
            super(late, hasJob);
          }
        },
      })),
    ],
    breaks: ["no silence", "agents change at the next pass", "cron starts are on the grid"],
  },
  {
    name: "what is gone keeps its plan",
    seams: [
      seam<typeof planner>("scheduler/planning/planner", ({ Planner }) => ({
        Planner: class extends Planner {
          readonly #context;
          constructor(...args: Arguments<typeof Planner>) {
            super(...args);
            this.#context = args[0];
          }
          override adopt(roster: Roster): Promise<void> {
            this.#context.roster = roster;
            return super.adopt(roster);
          }
        },
      })),
    ],
    breaks: ["agents change at the next pass"],
  },
  {
    name: "a completion overwrites that its schedule was disabled",
    seams: [
      seam<typeof claimRules>("state/claim-rules", ({ completion }) => ({
        completion: (state, patch) => completion({ ...state, status: "idle" }, patch),
      })),
    ],
    breaks: ["no acknowledged update is lost"],
  },
  {
    name: "lateness is judged when a slot is claimed",
    seams: [
      seam<typeof newClaims>("state/new-claims", ({ NewClaims }) => ({
        NewClaims: class extends NewClaims {
          override make(...[entry, times, asked]: Parameters<Make>): ReturnType<Make> {
            return super.make(entry, times && { ...times, seenAt: times.claimedAt }, asked);
          }
        },
      })),
    ],
    breaks: ["waiting is not lateness"],
  },
  {
    name: "what is written about a slot that waits makes it late",
    seed: 16,
    seams: [
      seam<typeof claimQueue>("state/owner/claim-queue", ({ ClaimBook }) => ({
        ClaimBook: class extends ClaimBook {
          override note(key: ScheduleKey, state: Partial<ScheduleState>): void {
            super.note(key, { ...state, next_run_at: null });
            super.note(key, state);
          }
        },
      })),
    ],
    breaks: ["waiting is not lateness"],
  },
  {
    name: "the end of a pause is run as a slot",
    seams: [
      seam<typeof dueSlot>("scheduler/planning/due-slot", ({ judgeClaim }) => ({
        judgeClaim: (claim, schedule) => {
          const verdict = judgeClaim(claim, schedule);
          const isPause = claim.source === "paused" && verdict.action === "plan";
          return isPause ? { action: "run", source: "paused" } : verdict;
        },
      })),
    ],
    breaks: ["a pause is no slot"],
  },
  {
    name: "plans whose write failed are forgotten",
    seed: 171,
    seams: [
      seam<typeof planWrites>("scheduler/planning/plan-writes", ({ PlanWrites }) => ({
        PlanWrites: class extends PlanWrites {
          override async writeAll(plans: readonly planWrites.PlanWrite[]): Promise<void> {
            await super.writeAll(plans);
            this.forget(plans.map(({ key }) => key));
          }
        },
      })),
    ],
    breaks: ["no silence", "agents change at the next pass"],
  },
  {
    name: "a clock that is set back silences everybody",
    seams: [
      seam<typeof planner>("scheduler/planning/planner", ({ Planner }) => ({
        Planner: class extends Planner {
          override async adoptAll(): Promise<void> {}
        },
      })),
    ],
    breaks: ["no silence"],
  },
];
