/** What Rota promises about work from outside and how jobs are dispatched, one test a promise. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import {
  type Agent,
  type AgentSchedule,
  FakeClock,
  type JobRecord,
  MemoryStore,
  MemoryWork,
  Scheduler,
  type SchedulerOptions,
  WorkSourceManager,
  WorkSourceRegistry,
} from "../../src/index.js";

const quiet = { info() {}, warn() {}, error() {} };
const inbox: AgentSchedule = {
  type: "interval",
  interval: "5m",
  prompt: "Do this.",
  work_source: { type: "inbox" },
};

interface Fleet {
  readonly clock: FakeClock;
  readonly store: MemoryStore;
  readonly work: MemoryWork;
  readonly prompts: string[];
  readonly skips: string[];
  readonly scheduler: Scheduler;
}

async function working(run: (prompt: string) => unknown, more: SchedulerOptions = {}): Promise<Fleet> {
  const clock = new FakeClock("2026-03-01T00:00:00Z");
  const store = new MemoryStore();
  const work = new MemoryWork({ clock });
  const registry = new WorkSourceRegistry();
  registry.register("inbox", () => work.connect());
  const workSourceManager = new WorkSourceManager({ registry, clock, logger: quiet });
  const scheduler = new Scheduler({ store, clock, logger: quiet, workSourceManager, ...more });
  onTestFinished(() => scheduler.stop({ waitForJobs: false }));
  const skips: string[] = [];
  scheduler.on("schedule:skipped", ({ reason }) => void skips.push(reason));
  const prompts: string[] = [];
  const agent: Agent = {
    name: "worker",
    schedules: { inbox },
    run: ({ prompt }) => {
      prompts.push(prompt);
      return run(prompt);
    },
  };
  await scheduler.start([agent]);
  return { clock, store, work, prompts, skips, scheduler };
}

describe("a schedule with a work source", () => {
  it("takes one item before each job, and each item once", async () => {
    const { clock, work, prompts } = await working(() => "done");
    const items = ["One", "Two"].map((title) => work.add({ title }));
    await clock.advance("20m");
    expect(prompts).toHaveLength(2);
    expect(items.map(({ id }) => work.standingOf(id))).toEqual(["done", "done"]);
  });

  it("runs nothing without work, reports no_work, and moves its next run by the interval", async () => {
    const { clock, store, prompts, skips } = await working(() => "done");
    await clock.advance("1s");
    expect(prompts).toEqual([]);
    expect(skips).toEqual(["no_work"]);
    const { next_run_at } = await store.read({ agent: "worker", schedule: "inbox" });
    expect(next_run_at).toBe("2026-03-01T00:05:00.000Z");
  });

  it("makes no record and no start or end of a job without work, but counts it in the state", async () => {
    const { clock, store, scheduler, work } = await working(() => "done");
    const events: string[] = [];
    scheduler.on("job:started", () => events.push("started"));
    scheduler.on("job:finished", () => events.push("finished"));
    await clock.advance("11m");
    expect(await store.jobs.list()).toEqual([]);
    expect(events).toEqual([]);
    const key = { agent: "worker", schedule: "inbox" };
    expect(await store.read(key)).toMatchObject({
      no_work_count: 3,
      last_no_work_at: "2026-03-01T00:10:00.000Z",
      last_completed_at: "2026-03-01T00:10:00.000Z",
    });
    work.add({ title: "Fix it" });
    await clock.advance("5m");
    expect(events).toEqual(["started", "finished"]);
    expect(await store.jobs.list()).toMatchObject([
      { status: "completed", slot: "2026-03-01T00:15:00.000Z" },
    ]);
    expect((await store.read(key)).no_work_count).toBe(3);
  });

  it("keeps the record of a job without work that a caller has triggered and has the id of", async () => {
    const { clock, store, scheduler } = await working(() => "done");
    await clock.advance("1m");
    const { jobId } = await scheduler.trigger("worker", "inbox");
    await clock.advance("1s");
    expect(await store.jobs.list()).toMatchObject([{ id: jobId, status: "completed", summary: "no work" }]);
  });

  it("records a job that fails to look for work", async () => {
    const sources = {
      getNextWorkItem: () => Promise.reject(new Error("source is away")),
      reportOutcome: () => Promise.resolve(),
    };
    const { clock, store, scheduler } = await working(() => "done", { workSourceManager: sources });
    const events: string[] = [];
    scheduler.on("job:started", () => events.push("started"));
    scheduler.on("job:finished", ({ job }) => events.push(job.status));
    await clock.advance("6m");
    expect(events.slice(-2)).toEqual(["started", "failed"]);
    expect(await store.jobs.list({ status: "failed" })).toMatchObject([{ error: "source is away" }]);
  });

  it("builds its prompt from the schedule's prompt and the item's title, description and URL", async () => {
    const { clock, work, prompts } = await working(() => "done");
    const { id } = work.add({
      title: "Fix it",
      description: "It is broken.",
      url: "https://example.org/1",
    });
    await clock.advance("6m");
    expect(prompts).toEqual([
      `Do this.\n\n# Fix it\n\nIt is broken.\n\nSource: memory\nId: ${id}\nPriority: medium\nURL: https://example.org/1`,
    ]);
  });

  it("reports a failing job as a failure of its item", async () => {
    const { clock, work } = await working(() => {
      throw new Error("no idea");
    });
    const { id } = work.add({ title: "Fix it" });
    await clock.advance("6m");
    expect(work.standingOf(id)).toBe("failed");
  });

  it("asks its source one time for each job", async () => {
    let asked = 0;
    const workSourceManager = {
      getNextWorkItem: async () => {
        asked++;
        return { item: null };
      },
      reportOutcome: async () => {},
    };
    const { clock } = await working(() => "done", { workSourceManager });
    await clock.advance("11m");
    expect(asked).toBe(3);
  });

  it("passes the trigger and the schedule to onTrigger", async () => {
    const seen: unknown[] = [];
    const { clock } = await working(() => {}, {
      onTrigger: ({ agent, scheduleName, job }) =>
        seen.push([agent.name, scheduleName, job.trigger, job.slot]),
    });
    await clock.advance("1s");
    expect(seen).toEqual([["worker", "inbox", "interval", "2026-03-01T00:00:00.000Z"]]);
  });

  it("passes the trigger and the schedule to the executor of the job", async () => {
    const seen: unknown[] = [];
    const { clock, work } = await working(() => {}, {
      jobExecutor: {
        execute: (options) => {
          seen.push(options);
          return { success: true };
        },
      },
    });
    work.add({ title: "Fix it" });
    await clock.advance("6m");
    expect(seen).toMatchObject([
      { triggerType: "interval", schedule: "inbox", source: "first-run", workItemTitle: "Fix it" },
    ]);
  });
});

describe("a job that is dispatched by HTTP", () => {
  async function dispatched(
    answer: { readonly status: number; readonly body?: string } | "hang",
    more: Partial<Agent> = {},
  ): Promise<{ record: JobRecord | undefined; requests: string[] }> {
    const requests: string[] = [];
    const server = createServer((request, response) => {
      requests.push([request.method, request.url, request.headers["x-key"]].join(" "));
      if (answer === "hang") return;
      response.writeHead(answer.status, { "content-type": "application/json" }).end(answer.body ?? "{}");
    });
    await new Promise<void>((resolve) => {
      server.listen(0, "127.0.0.1", resolve);
    });
    onTestFinished(() => {
      server.closeAllConnections();
      server.close();
    });
    const { port } = server.address() as AddressInfo;
    const clock = new FakeClock();
    const scheduler = new Scheduler({ store: new MemoryStore(), clock, logger: quiet });
    onTestFinished(() => scheduler.stop({ waitForJobs: false }));
    const ended: JobRecord[] = [];
    scheduler.on("job:finished", ({ job }) => void ended.push(job));
    const runtime = {
      type: "http" as const,
      url: `http://127.0.0.1:${port}/hook`,
      headers: { "x-key": "k" },
    };
    const schedules = { hook: { type: "interval", interval: "1h" } } as const;
    await scheduler.start([{ name: "caller", schedules, runtime, ...more }]);
    await vi.waitFor(
      async () => {
        await clock.advance("1s");
        expect(ended).toHaveLength(1);
      },
      { timeout: 20_000 },
    );
    return { record: ended[0], requests };
  }

  it("sends its method, address and headers, and has completed with the status and the body", async () => {
    const { record, requests } = await dispatched({ status: 200, body: '{"ok":true}' });
    expect(requests).toEqual(["POST /hook k"]);
    expect(record).toMatchObject({ status: "completed", exit_code: 200, response_body: { ok: true } });
  });

  it.each([404, 500])("has failed when the response has status %i", async (status) => {
    const { record } = await dispatched({ status });
    expect(record).toMatchObject({ status: "failed", exit_code: status });
  });

  it("has failed when no server listens", async () => {
    const { record } = await dispatched(
      { status: 200 },
      { runtime: { type: "http", url: "http://127.0.0.1:1/hook" } },
    );
    expect(record).toMatchObject({ status: "failed", exit_code: null });
  });

  it("is ended by its timeout, and recorded so", async () => {
    const { record } = await dispatched("hang", { timeout: "5s" });
    expect(record).toMatchObject({ status: "timeout", error: "Timed out after 5000 ms" });
  });

  it.each([
    [99 * 1024, "kept"],
    [101 * 1024, "dropped"],
  ])("keeps a body of up to 100 kB: one of %i bytes is %s, and the job succeeds", async (bytes, fate) => {
    const text = "x".repeat(bytes);
    const { record } = await dispatched({ status: 200, body: JSON.stringify(text) });
    expect(record?.status).toBe("completed");
    expect(record?.response_body).toBe(fate === "kept" ? text : null);
  });
});
