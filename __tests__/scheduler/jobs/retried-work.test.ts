import { describe, expect, it } from "vitest";
import {
  type ExecuteOptions,
  FakeClock,
  MemoryWork,
  type RunResult,
  type WorkItem,
  WorkSourceManager,
  WorkSourceRegistry,
} from "../../../src/index.js";
import { isFields } from "../../../src/fields.js";
import { agent, every, scene, type Scene, START } from "../scene.js";

const SCHEDULE = { ...every("1h"), retries: 2, work_source: { type: "inbox" } as never };
const FAILED = { success: false, error: "out of luck" };

interface Inbox {
  readonly stage: Scene;
  readonly work: MemoryWork;
  readonly first: WorkItem;
  /** The titles of the items that were worked on, and the outcomes that the source was told. */
  readonly items: string[];
  readonly outcomes: string[];
}

/** Two items in a source; the first job gets the first one. `run` is called with the number of the job. */
async function inbox(run: (count: number) => Partial<RunResult> & { success: boolean }): Promise<Inbox> {
  const clock = new FakeClock(START);
  const work = new MemoryWork({ clock });
  const first = work.add({ title: "First", created_at: "2026-02-01T00:00:00Z" });
  work.add({ title: "Second", created_at: "2026-02-02T00:00:00Z" });
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
  const execute = ({ workItem }: ExecuteOptions): RunResult => {
    items.push(String(isFields(workItem) ? workItem["title"] : workItem));
    return run(items.length);
  };
  const stage = scene({
    clock,
    workSourceManager: new WorkSourceManager({ registry, clock }),
    jobExecutor: { execute },
  });
  await stage.scheduler.start([agent("a", { x: SCHEDULE })]);
  return { stage, work, first, items, outcomes };
}

describe("a slot that is tried again", () => {
  it.each([
    ["completes", 2, "success"],
    ["fails in every try", 3, "failure"],
  ])("works on the same item, which is reported once: it %s", async (_, failures, told) => {
    const { stage, items, outcomes } = await inbox((count) => ({ success: count > failures }));
    await stage.clock.advance("1m");
    expect(items).toEqual(["First", "First", "First"]);
    expect(stage.jobs.map(({ attempt }) => attempt)).toEqual([1, 2, 3]);
    expect(outcomes).toEqual([told]);
  });

  it.each<[string, () => RunResult]>([
    ["failed", () => FAILED],
    [
      "threw",
      () => {
        throw new Error("out of luck");
      },
    ],
  ])("works on the same item where a more urgent one came meanwhile: its job %s", async (_, fail) => {
    const { stage, work, items } = await inbox((count) => (count < 3 ? fail() : { success: true }));
    await stage.clock.advance("1s");
    work.add({ title: "Urgent", priority: "critical" });
    await stage.clock.advance("1m");
    expect(items).toEqual(["First", "First", "First"]);
    expect(await stage.state("a", "x")).not.toHaveProperty("retry");
    // The next slot takes the most urgent one, as ever.
    await stage.clock.advance("1h");
    expect(items.at(-1)).toBe("Urgent");
  });

  it("works on the same item after a restart", async () => {
    const { stage, work, items, first } = await inbox((count) => ({ success: count > 1 }));
    await stage.clock.advance("1s");
    expect(await stage.state("a", "x")).toMatchObject({ retry: { attempt: 2, work_item: first.id } });
    work.add({ title: "Urgent", priority: "critical" });
    await stage.scheduler.stop();
    await stage.again().scheduler.start([agent("a", { x: SCHEDULE })]);
    await stage.clock.advance("1m");
    expect(items).toEqual(["First", "First"]);
  });

  it("works on the next item where its own is no longer available, and stays with that one", async () => {
    const { stage, work, first, items } = await inbox((count) => ({ success: count > 2 }));
    await stage.clock.advance("1s");
    await work.connect().claimWork(first.id);
    work.add({ title: "Urgent", priority: "critical" });
    await stage.clock.advance("10s");
    expect(items).toEqual(["First", "Urgent"]);
    work.add({ title: "More urgent", priority: "critical", created_at: "2026-01-01T00:00:00Z" });
    await stage.clock.advance("1m");
    expect(items).toEqual(["First", "Urgent", "Urgent"]);
  });

  it("is over where there is no work left", async () => {
    const { stage, work, items } = await inbox(() => ({ success: false }));
    await stage.clock.advance("1s");
    const elsewhere = work.connect();
    for (const { id } of work.list()) await elsewhere.claimWork(id);
    await stage.clock.advance("1m");
    expect(items).toEqual(["First"]);
    expect(await stage.state("a", "x")).toMatchObject({ no_work_count: 1 });
    expect(await stage.state("a", "x")).not.toHaveProperty("retry");
  });
});
