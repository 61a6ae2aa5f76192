/** Bugs of the loop and of planning: when a pass runs, what it claims, and which plans it makes. */
import type * as pass from "../../../src/scheduler/loop/pass.js";
import type * as loop from "../../../src/scheduler/loop/wakeable-loop.js";
import type * as dueSlot from "../../../src/scheduler/planning/due-slot.js";
import type * as planWrites from "../../../src/scheduler/planning/plan-writes.js";
import type * as unrun from "../../../src/scheduler/planning/unrun-slots.js";
import type * as planner from "../../../src/scheduler/planning/planner.js";
import type * as stateAfterJob from "../../../src/scheduler/planning/state-after-job.js";
import { dropBusySlot } from "../../../src/scheduler/planning/state-after-job.js";
import type { Roster } from "../../../src/scheduler/roster.js";
import type { ScheduleState, ScheduleStatePatch } from "../../../src/state/schedule-state.js";
import type { Definitions, SkippedSlot } from "../../../src/state/store.js";
import { type Arguments, overridden, type PlantedBug, seam, withStore } from "../seams.js";

export const LOOP_BUGS: readonly PlantedBug[] = [
  {
    name: "the loop awaits its jobs",
    seams: [
      seam<typeof pass>("scheduler/loop/pass", ({ Pass }) => ({
        Pass: class extends Pass {
          readonly #context;
          readonly #jobs;
          constructor(...args: Arguments<typeof Pass>) {
            super(...args);
            this.#context = args[0];
            this.#jobs = args[2].jobs;
          }
          override async run(): Promise<number> {
            const sleepMs = await super.run();
            while (this.#jobs.size > 0) await this.#context.clock.sleep(10);
            return sleepMs;
          }
        },
      })),
    ],
    breaks: ["nobody delays another", "what may run runs at once"],
  },
  {
    name: "a wake during a pass is lost",
    seed: 79,
    seams: [
      seam<typeof loop>("scheduler/loop/wakeable-loop", ({ WakeableLoop }) => ({
        WakeableLoop: class extends WakeableLoop {
          #isInPass = false;
          override run(repeated: loop.Repeated): Promise<void> {
            return super.run({
              run: async () => {
                this.#isInPass = true;
                const sleepMs = await repeated.run();
                this.#isInPass = false;
                return sleepMs;
              },
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
      seam<typeof pass>("scheduler/loop/pass", ({ Pass }) => ({
        Pass: class extends Pass {
          readonly #checkMs: number;
          constructor(...args: Arguments<typeof Pass>) {
            super(...args);
            this.#checkMs = args[0].checkInterval;
          }
          override async run(): Promise<number> {
            const sleepMs = await super.run();
            return sleepMs === 0 ? this.#checkMs : sleepMs;
          }
        },
      })),
    ],
    breaks: ["what may run runs at once", "nobody delays another"],
  },
  {
    name: "a trigger forgets the fleet's limit",
    seams: [
      seam<typeof pass>("scheduler/loop/pass", ({ Pass }) => ({
        Pass: class extends Pass {
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
          override async noteWaiting(slots: readonly SkippedSlot[]): Promise<boolean> {
            const drop = ({ agent, schedule, slot }: SkippedSlot): Promise<unknown> => {
              const key = { agent, schedule };
              const decide = (state: ScheduleState): ScheduleStatePatch =>
                dropBusySlot(this.input(key, state), slot).patch;
              return this.#context.store.update(key, decide);
            };
            await Promise.all(slots.map(drop));
            return slots.length > 0;
          }
        },
      })),
    ],
    breaks: ["every slot is accounted for", "every skip is told"],
  },
  {
    name: "of several slots that pass only the first is counted",
    seams: [
      seam<typeof unrun>("scheduler/planning/unrun-slots", ({ unrunSlots }) => ({
        unrunSlots: (replaced) => {
          const found = unrunSlots(replaced);
          return found && { ...found, lastSlot: found.slot, count: 1 };
        },
      })),
    ],
    breaks: ["every slot is a run or a counted skip"],
  },
  {
    name: "slots that pass while a job runs are forgotten",
    seams: [
      seam<typeof unrun>("scheduler/planning/unrun-slots", ({ unrunSlots }) => ({
        unrunSlots: (replaced) => (replaced.isRun ? undefined : unrunSlots(replaced)),
      })),
    ],
    breaks: ["every slot is a run or a counted skip"],
  },
  {
    name: "slots that pass during a pause are forgotten",
    seams: [
      seam<typeof unrun>("scheduler/planning/unrun-slots", ({ unrunSlots }) => ({
        unrunSlots: (replaced) =>
          unrunSlots({ ...replaced, state: { ...replaced.state, accounted_until: null } }),
      })),
    ],
    breaks: ["every slot is a run or a counted skip"],
  },
  {
    name: "slots that were not run are counted and not told",
    seams: [
      seam<typeof planner>("scheduler/planning/planner", ({ Planner }) => ({
        Planner: class extends Planner {
          override tellPassed(): void {}
        },
      })),
    ],
    breaks: ["every skip is told"],
  },
  {
    name: "a slot that is dropped is planned again for the same moment",
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
    seed: 282,
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
  {
    name: "an idle scheduler does not see that the clock was set back",
    seams: [
      seam<typeof planner>("scheduler/planning/planner", ({ Planner }) => ({
        Planner: class extends Planner {
          readonly #isIdle: () => boolean;
          constructor(...[context, hasJob]: Arguments<typeof Planner>) {
            super(context, hasJob);
            this.#isIdle = () => !context.roster.definitions().schedules.some(hasJob);
          }
          override async adoptAll(): Promise<void> {
            if (!this.#isIdle()) await super.adoptAll();
          }
        },
      })),
    ],
    breaks: ["no silence"],
  },
  {
    name: "the roster is replaced after the store has defined it",
    seed: 34,
    seams: [
      seam<typeof planner>("scheduler/planning/planner", ({ Planner }) => ({
        Planner: class extends Planner {
          constructor(...[context, hasJob]: Arguments<typeof Planner>) {
            const { store } = context;
            let next = context.roster;
            const define = async (definitions: Definitions): ReturnType<typeof store.define> => {
              const defined = await store.define(definitions);
              context.roster = next;
              return defined;
            };
            const late = Object.create(context, {
              store: { value: overridden(store, { define }) },
              roster: {
                get: () => context.roster,
                set(roster: Roster) {
                  next = roster;
                },
              },
            }) as typeof context;
            super(late, hasJob);
          }
        },
      })),
    ],
    breaks: ["agents change at the next pass"],
  },
  {
    name: "a pass forgets when the next slot is due",
    seams: [
      seam<typeof pass>("scheduler/loop/pass", ({ Pass }) => ({
        Pass: class extends Pass {
          constructor(...[context, plans, options]: Arguments<typeof Pass>) {
            const { store } = context;
            const claimDue = async (limit: number): ReturnType<typeof store.claimDue> => ({
              ...(await store.claimDue(limit)),
              nextDueAt: undefined,
            });
            super(withStore(context, overridden(store, { claimDue })), plans, options);
          }
        },
      })),
    ],
    breaks: ["what may run runs at once", "nobody delays another"],
  },
];
