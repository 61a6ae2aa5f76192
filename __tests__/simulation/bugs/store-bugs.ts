/** Bugs of a store with one owner: claims, their ends, and what is recovered after a crash. */
import type * as claimRules from "../../../src/state/claim-rules.js";
import type * as memoryJobLog from "../../../src/state/memory/memory-job-log.js";
import type * as memoryStore from "../../../src/state/memory/memory-store.js";
import type * as claimQueue from "../../../src/state/owner/claim-queue.js";
import type * as dueOrder from "../../../src/state/owner/due-order.js";
import type * as jobFinishes from "../../../src/state/owner/job-finishes.js";
import type * as operations from "../../../src/state/owner/operations.js";
import type { OwnedJobLog } from "../../../src/state/owner/owned-job-log.js";
import { ScheduleMap } from "../../../src/state/schedule-map.js";
import type { ScheduleState } from "../../../src/state/schedule-state.js";
import type { ClaimToken, ScheduleKey } from "../../../src/state/store.js";
import { type Arguments, overridden, type PlantedBug, seam } from "../seams.js";

type Take = claimQueue.ClaimQueue["take"];
type CloseRecords = OwnedJobLog["closeRecords"];

export const STORE_BUGS: readonly PlantedBug[] = [
  {
    name: "the end of a claim checks no token",
    seams: [
      seam<typeof claimQueue>("state/owner/claim-queue", ({ ClaimQueue }) => ({
        ClaimQueue: class extends ClaimQueue {
          readonly #latest = new ScheduleMap<ClaimToken>();
          override take(...args: Parameters<Take>): ReturnType<Take> {
            const taken = super.take(...args);
            for (const claim of taken.claims) this.#latest.set(claim, claim);
            return taken;
          }
          override find(claim: ClaimToken): claimQueue.HeldClaim | undefined {
            return super.find(this.#latest.get(claim) ?? claim) ?? super.find(claim);
          }
        },
      })),
    ],
    breaks: ["one live claim"],
  },
  {
    name: "what a crash left running stays blocked",
    seams: [
      seam<typeof operations>("state/owner/operations", ({ RecoverOperation }) => ({
        RecoverOperation: class extends RecoverOperation {
          override apply(): void {}
        },
      })),
      seam<typeof claimRules>("state/claim-rules", ({ claimableMs }) => ({
        claimableMs: (state) => (state.status === "running" ? undefined : claimableMs(state)),
      })),
    ],
    breaks: ["nothing stays blocked", "what may run runs at once"],
  },
  {
    name: "a recorded job is run again after a crash",
    seams: [
      seam<typeof operations>("state/owner/operations", ({ RecoverOperation }) => ({
        RecoverOperation: class extends RecoverOperation {
          constructor(...[now]: Arguments<typeof RecoverOperation>) {
            super(now, new Map());
          }
        },
      })),
    ],
    breaks: ["a recorded job is not run again"],
  },
  {
    name: "a slot that was interrupted gets the time of the recovery",
    seams: [
      seam<typeof claimRules>("state/claim-rules", ({ interruption }) => ({
        interruption: (state, now) => {
          const patch = interruption(state, now);
          return patch.retry == null
            ? patch
            : { ...patch, retry: { ...patch.retry, slot: now.toISOString() } };
        },
      })),
    ],
    breaks: ["an interrupted slot keeps its time"],
  },
  {
    name: "the attempts at an interrupted slot are not counted",
    seams: [
      seam<typeof claimQueue>("state/owner/claim-queue", ({ ClaimQueue }) => ({
        ClaimQueue: class extends ClaimQueue {
          override take(...args: Parameters<Take>): ReturnType<Take> {
            const taken = super.take(...args);
            for (const claim of taken.claims) Object.assign(claim, { attempt: 1 });
            return taken;
          }
        },
      })),
    ],
    breaks: ["attempts at a slot count up"],
  },
  {
    name: "a slot that was interrupted is dropped",
    seams: [
      seam<typeof claimRules>("state/claim-rules", ({ interruption, NO_SLOT }) => ({
        interruption: (state, now) => ({ ...interruption(state, now), ...NO_SLOT }),
      })),
    ],
    breaks: ["an interrupted slot keeps its time", "every slot is accounted for"],
  },
  {
    name: "what is gone keeps its plan",
    seams: [
      seam<typeof operations>("state/owner/operations", ({ UnplanOperation }) => ({
        UnplanOperation: class extends UnplanOperation {
          override apply(): void {}
        },
      })),
    ],
    breaks: ["agents change at the next pass"],
  },
  {
    name: "a claim that is not held is taken for a running job",
    seams: [seam<typeof claimRules>("state/claim-rules", () => ({ seenState: (state) => state }))],
    seed: 79,
    breaks: ["nothing stays blocked"],
  },
  {
    name: "a stop leaves claims that are not held",
    seams: [
      seam<typeof memoryStore>("state/memory/memory-store", ({ MemoryStore }) => ({
        MemoryStore: class extends MemoryStore {
          protected override async free(
            ...[commit, keys]: Parameters<memoryStore.MemoryStore["free"]>
          ): Promise<void> {
            if (keys !== undefined) await super.free(commit, keys);
          }
        },
      })),
    ],
    breaks: ["a stop frees claims that are not held"],
  },
  {
    name: "records that could not be closed together are taken for closed",
    seams: [
      seam<typeof jobFinishes>("state/owner/job-finishes", ({ JobFinishes }) => ({
        JobFinishes: class extends JobFinishes {
          constructor(store: jobFinishes.FinishingStore) {
            const closeRecords: CloseRecords = async (records) => {
              try {
                return await store.log().closeRecords(records);
              } catch {
                return records.map(() => undefined);
              }
            };
            super({ ...store, log: () => overridden(store.log(), { closeRecords }) });
          }
        },
      })),
    ],
    breaks: ["one final status per job", "no result is lost", "every end is told"],
  },
  {
    name: "a record that was opened cannot be closed",
    seams: [
      seam<typeof memoryJobLog>("state/memory/memory-job-log", ({ MemoryJobLog }) => ({
        MemoryJobLog: class extends MemoryJobLog {
          override async closeRecords(...[jobs]: Parameters<CloseRecords>): ReturnType<CloseRecords> {
            const opened = await Promise.all(jobs.map(({ id }) => this.get(id)));
            const failures = await super.closeRecords(jobs.filter((_, index) => opened[index] === undefined));
            const results = failures.values();
            return opened.map((record) =>
              record === undefined ? results.next().value : { error: new Error(`${record.id} is taken`) },
            );
          }
        },
      })),
    ],
    breaks: ["every end is told", "no result is lost", "one final status per job"],
  },
  {
    name: "capacity is forgotten within one pass",
    seams: [seam<typeof dueOrder>("state/owner/due-order", () => ({ hasCapacity: () => true }))],
    breaks: ["capacity of an agent"],
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
      seam<typeof claimQueue>("state/owner/claim-queue", ({ ClaimQueue }) => ({
        ClaimQueue: class extends ClaimQueue {
          override take(...args: Parameters<Take>): ReturnType<Take> {
            const taken = super.take(...args);
            for (const claim of taken.claims) Object.assign(claim, { seenAt: claim.claimedAt });
            return taken;
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
      seam<typeof claimQueue>("state/owner/claim-queue", ({ ClaimQueue }) => ({
        ClaimQueue: class extends ClaimQueue {
          override note(key: ScheduleKey, state: Partial<ScheduleState>): void {
            super.note(key, { ...state, next_run_at: null });
            super.note(key, state);
          }
        },
      })),
    ],
    breaks: ["waiting is not lateness"],
  },
];
