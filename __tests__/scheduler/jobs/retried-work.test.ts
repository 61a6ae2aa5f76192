import { expect, it } from "vitest";
import {
  FakeClock,
  MemoryWork,
  type ExecuteOptions,
  WorkSourceManager,
  WorkSourceRegistry,
} from "../../../src/index.js";
import { isFields } from "../../../src/fields.js";
import { agent, every, scene, START } from "../scene.js";

it.each([
  ["completes", 2, "success"],
  ["fails in every try", 3, "failure"],
])(
  "a slot that is tried again works on the same item, which is reported once: it %s",
  async (_, failures, told) => {
    const clock = new FakeClock(START);
    const work = new MemoryWork({ clock });
    work.add({ title: "First", createdAt: new Date("2026-02-01T00:00:00Z") });
    work.add({ title: "Second", createdAt: new Date("2026-02-02T00:00:00Z") });
    const outcomes: string[] = [];
    const registry = new WorkSourceRegistry();
    registry.register("inbox", () => {
      const source = work.connect();
      const complete = source.completeWork.bind(source);
      source.completeWork = (id, outcome) => {
        outcomes.push(outcome.outcome);
        return complete(id, outcome);
      };
      return source;
    });
    const items: string[] = [];
    let left = failures;
    const execute = ({ workItem }: ExecuteOptions): { success: boolean } => {
      items.push(String(isFields(workItem) ? workItem["title"] : workItem));
      return { success: left-- <= 0 };
    };
    const workSourceManager = new WorkSourceManager({ registry, clock });
    const { scheduler, jobs } = scene({ clock, workSourceManager, jobExecutor: { execute } });
    await scheduler.start([
      agent("a", { x: { ...every("1h"), retries: 2, work_source: { type: "inbox" } as never } }),
    ]);
    await clock.advance("1m");
    expect(items).toEqual(["First", "First", "First"]);
    expect(jobs.map(({ attempt }) => attempt)).toEqual([1, 2, 3]);
    expect(outcomes).toEqual([told]);
  },
);
