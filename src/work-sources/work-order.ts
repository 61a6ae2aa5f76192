/** The order of work items: the most urgent first, then the oldest, then by id, so that all nodes have the same order. */
import type { WorkItem, WorkPriority } from "./work-source.js";

/** Most urgent first. */
export const PRIORITIES: readonly WorkPriority[] = ["critical", "high", "medium", "low"];

/** The values that decide the order. */
export type WorkRank = Pick<WorkItem, "createdAt" | "id" | "priority">;

/** Below zero when `a` comes before `b`. */
export function compareWork(a: WorkRank, b: WorkRank): number {
  return (
    PRIORITIES.indexOf(a.priority) - PRIORITIES.indexOf(b.priority) ||
    a.createdAt.getTime() - b.createdAt.getTime() ||
    (a.id < b.id ? -1 : Number(a.id > b.id))
  );
}
