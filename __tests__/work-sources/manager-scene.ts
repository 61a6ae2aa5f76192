/** A manager over work in memory. */
import { FakeClock } from "../../src/clock.js";
import { WorkSourceManager } from "../../src/work-sources/manager.js";
import { MemoryWork } from "../../src/work-sources/memory-source.js";
import type { NewWork } from "../../src/work-sources/work-source.js";
import { type WorkSourceFactory, WorkSourceRegistry } from "../../src/work-sources/registry.js";

export const HOUR_MS = 3_600_000;
export const A = { name: "a" } as const;
export const B = { name: "b" } as const;
export const workSource = { type: "own" } as const;
/** A manager with a source of type "own". */
export function managerOf(factory: WorkSourceFactory, clock: FakeClock = new FakeClock()): WorkSourceManager {
  const registry = new WorkSourceRegistry();
  registry.register("own", factory);
  return new WorkSourceManager({ registry, clock });
}

export function scene(items: readonly NewWork[] = [{ title: "only" }]): {
  clock: FakeClock;
  work: MemoryWork;
  manager: WorkSourceManager;
} {
  const clock = new FakeClock();
  const work = new MemoryWork({ clock, items });
  return { clock, work, manager: managerOf(() => work.connect(), clock) };
}
