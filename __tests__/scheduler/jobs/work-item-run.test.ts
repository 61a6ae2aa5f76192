/** A run on a work item: from the source to the job, and what came of it back to the source. */
import { describe, expect, it } from "vitest";
import {
  type Agent,
  FakeClock,
  type ItemHolder,
  type JobExecution,
  type JobRecord,
  MemoryStore,
  type NextItem,
  Scheduler,
  type WorkSources,
} from "../../../src/index.js";
import { workItem } from "../work-item.js";

interface Told {
  readonly calls: string[];
  readonly sources: WorkSources;
}

/** A source with one answer, that writes down what it is told. */
function telling(next: NextItem, more: Partial<WorkSources> = {}): Told {
  const calls: string[] = [];
  const claimOf = ({ claim }: ItemHolder): string => claim ?? "no claim";
  const sources: WorkSources = {
    getNextWorkItem: async ({ name }) => {
      calls.push(`asked for ${name}`);
      return next;
    },
    reportOutcome: async (id, { outcome, summary, error }, holder) => {
      calls.push(`reported ${id} ${claimOf(holder)} ${outcome}: ${error ?? summary}`);
    },
    releaseWorkItem: async (id, holder) => {
      calls.push(`released ${id} ${claimOf(holder)}: ${holder.reason}`);
    },
    ...more,
  };
  return { calls, sources };
}

interface Ran {
  readonly record: JobRecord | undefined;
  readonly lines: string[];
  readonly clock: FakeClock;
  readonly scheduler: Scheduler;
}

async function ran(
  { sources }: Told,
  how: { readonly run?: Agent["run"]; readonly jobExecutor?: JobExecution; readonly clock?: FakeClock },
): Promise<Ran> {
  const { clock = new FakeClock(), run, jobExecutor } = how;
  const lines: string[] = [];
  const note = (line: string): unknown => lines.push(line);
  const scheduler = new Scheduler({
    store: new MemoryStore(),
    clock,
    logger: { info: note, warn: note, error: note },
    workSourceManager: sources,
    jobExecutor,
  });
  const ended: JobRecord[] = [];
  scheduler.on("job:finished", ({ job }) => void ended.push(job));
  const work = { type: "interval", interval: "1h", work_source: { type: "list" } } as const;
  await scheduler.start([{ name: "fixer", schedules: { work }, run }]);
  await clock.advance("10m");
  return { record: ended[0], lines, clock, scheduler };
}

const item = workItem();
const boom = (): never => {
  throw new Error("boom");
};

describe("a run on a work item", () => {
  it("reports a success to its source, under its claim", async () => {
    const told = telling({ item, claim: "c1" });
    const { record, scheduler } = await ran(told, { run: ({ workItem: given }) => `did ${given?.title}` });
    expect(told.calls).toEqual(["asked for fixer", "reported list:7 c1 success: did Fix the login"]);
    expect(record).toMatchObject({
      status: "completed",
      work_item: { id: "list:7", title: "Fix the login" },
    });
    await scheduler.stop();
  });

  it("reports a failure to its source", async () => {
    const told = telling({ item });
    const { record, scheduler } = await ran(told, { run: boom });
    expect(told.calls.slice(1)).toEqual(["reported list:7 no claim failure: boom"]);
    expect(record).toMatchObject({ status: "failed", work_item: { id: "list:7" } });
    await scheduler.stop();
  });

  it("releases its item when the executor throws", async () => {
    const told = telling({ item, claim: "c1" });
    const { record, scheduler } = await ran(told, { jobExecutor: { execute: boom } });
    expect(told.calls.slice(1)).toEqual(["released list:7 c1: the run broke: boom"]);
    expect(record).toMatchObject({ status: "failed", error: "boom" });
    await scheduler.stop();
  });

  it("releases its item when it is cancelled", async () => {
    const told = telling({ item });
    const clock = new FakeClock();
    const { scheduler } = await ran(told, { clock, run: ({ signal }) => clock.sleep("1h", signal) });
    const stopped = scheduler.stop({ waitForJobs: false });
    await clock.advance("1s");
    await stopped;
    expect(told.calls.slice(1)).toEqual([expect.stringMatching(/^released list:7 no claim: /)]);
  });

  it("does not fail because its source rejects the report", async () => {
    const told = telling({ item }, { reportOutcome: async () => boom() });
    const { record, lines, scheduler } = await ran(told, { run: () => "done" });
    expect(record).toMatchObject({ status: "completed", summary: "done" });
    expect(lines).toContain("Could not report the outcome of list:7 for fixer/work: boom");
    await scheduler.stop();
  });

  it.each([
    ["reports", "done", { reportOutcome: async () => false }],
    ["releases", "cancelled", { releaseWorkItem: async () => false }],
  ])("that %s an item which it no longer holds logs a warning", async (_, end, refusing) => {
    const told = telling({ item }, refusing);
    const jobExecutor = {
      execute: () =>
        ({ success: end === "done", status: end === "done" ? "completed" : "cancelled" }) as const,
    };
    const { lines, scheduler } = await ran(told, { jobExecutor });
    expect(lines.at(-1)).toBe(
      "list:7 is no longer held by fixer/work: its outcome is not reported to its source.",
    );
    await scheduler.stop();
  });

  it("fails when the source rejects", async () => {
    const told = telling({ item }, { getNextWorkItem: async () => boom() });
    const { record, scheduler } = await ran(told, { run: () => "done" });
    expect(record).toMatchObject({ status: "failed", error: "boom" });
    await scheduler.stop();
  });

  it("does not run when its item was claimed elsewhere first, and logs a warning", async () => {
    const told = telling({ item: undefined, isLost: true });
    const { record, lines, scheduler } = await ran(told, { run: boom });
    expect(record).toBeUndefined();
    expect(lines).toContain("There was work for fixer/work, but it was claimed elsewhere first.");
    await scheduler.stop();
  });

  it("does not run on an item that its manager did not claim, and reports nothing about it", async () => {
    const told = telling({ item, claimed: false });
    const { record, lines, scheduler } = await ran(told, { run: boom });
    expect(record?.error ?? null).toBeNull();
    expect(told.calls).toEqual(["asked for fixer"]);
    expect(lines).toContain("There was work for fixer/work, but it was claimed elsewhere first.");
    await scheduler.stop();
  });

  it.each([null, undefined])("does not run when its manager returns %s", async (nothing) => {
    const told = telling(nothing as never);
    const { record, scheduler } = await ran(told, { run: boom });
    expect(record?.error ?? null).toBeNull();
    expect(told.calls).toEqual(["asked for fixer"]);
    await scheduler.stop();
  });

  it("runs on an item that its manager says is claimed", async () => {
    const told = telling({ item, claimed: true });
    const { record, scheduler } = await ran(told, { run: () => "done" });
    expect(record).toMatchObject({ status: "completed", summary: "done" });
    await scheduler.stop();
  });

  it.each([0, -1, Number.NaN, "5m"])("is not renewed every %s", async (renewEveryMs) => {
    let renewals = 0;
    const renewWorkItem = async (): Promise<boolean> => {
      renewals++;
      return true;
    };
    const clock = new FakeClock();
    const told = telling({ item, renewEveryMs: renewEveryMs as never }, { renewWorkItem });
    const { scheduler } = await ran(told, { clock, run: () => clock.sleep("5m") });
    expect(renewals).toBe(0);
    await scheduler.stop();
  });

  it("logs what it claimed and reported", async () => {
    const { lines, scheduler } = await ran(telling({ item }), { run: () => "done" });
    expect(lines).toContain("Claimed list:7 for fixer/work: Fix the login");
    expect(lines).toContain("Reported outcome of list:7 for fixer/work: success");
    await scheduler.stop();
  });

  it("renews its claim while the job runs, and not longer", async () => {
    let renewals = 0;
    const renewWorkItem = async (): Promise<boolean> => {
      renewals++;
      if (renewals === 2) throw new Error("not now");
      return true;
    };
    const told = telling({ item, claim: "c1", renewEveryMs: 60_000 }, { renewWorkItem });
    const clock = new FakeClock();
    const { lines, scheduler } = await ran(told, { clock, run: () => clock.sleep("5m") });
    expect(renewals).toBe(4);
    expect(lines).toContain("Could not renew the claim on list:7: not now");
    await clock.advance("10m");
    expect(renewals).toBe(4);
    await scheduler.stop();
  });

  it("cancels its job when its claim was lost, and stops renewing", async () => {
    let renewals = 0;
    const renewWorkItem = async (): Promise<boolean> => {
      renewals++;
      return false;
    };
    const told = telling({ item, renewEveryMs: 60_000 }, { renewWorkItem });
    const clock = new FakeClock();
    const { record, lines, scheduler } = await ran(told, {
      clock,
      run: ({ signal }) => clock.sleep("5m", signal),
    });
    expect(renewals).toBe(1);
    expect(lines).toContain(
      "list:7 was not renewed in time and may have been claimed again: its job is cancelled.",
    );
    expect(record).toMatchObject({ status: "cancelled", duration_ms: 60_000 });
    await scheduler.stop();
  });
});

describe("the host's executor", () => {
  it("receives everything about the job", async () => {
    const seen: unknown[] = [];
    const execute: JobExecution["execute"] = (options) => {
      seen.push(options);
      return { success: true };
    };
    const { record, scheduler } = await ran(telling({ item }), { jobExecutor: { execute } });
    expect(seen).toMatchObject([
      {
        agent: { name: "fixer" },
        triggerType: "interval",
        schedule: "work",
        source: "first-run",
        attempt: 1,
        workItem: item,
        workItemId: "list:7",
        workItemTitle: "Fix the login",
        job: { id: record?.id },
      },
    ]);
    await scheduler.stop();
  });
});
