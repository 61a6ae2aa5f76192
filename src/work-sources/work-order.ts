/** In which order work is taken: the most urgent first, then the oldest, then by id, so that all agree. */
import type { WorkItem, WorkPriority } from "./work-source.js";

/** Most urgent first. */
export const PRIORITIES: readonly WorkPriority[] = ["critical", "high", "medium", "low"];

/** What decides the turn of an item. */
export type WorkRank = Pick<WorkItem, "createdAt" | "id" | "priority">;

/** Below zero when `a` is to be taken before `b`. */
export function compareWork(a: WorkRank, b: WorkRank): number {
  return (
    PRIORITIES.indexOf(a.priority) - PRIORITIES.indexOf(b.priority) ||
    a.createdAt.getTime() - b.createdAt.getTime() ||
    (a.id < b.id ? -1 : Number(a.id > b.id))
  );
}
