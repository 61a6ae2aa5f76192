/** Jobs with a prompt, data and a key on a database that several nodes share. */
import { describe, expect, inject, it, onTestFinished } from "vitest";
import { type Agent, type RuntimeJob, Scheduler } from "../../../../src/index.js";
import { PostgresStore } from "../../../../src/state/postgres/index.js";
import { Child, until } from "../../child.js";
import { newSchema } from "../schema.js";

interface Seen {
  readonly prompt: string;
  readonly data: unknown;
  readonly attempt: number;
  readonly jobId: string;
}

const logger = { info() {}, warn() {}, error() {} };

async function startNode(schema: string, seen: Seen[], name = "a0"): Promise<Scheduler> {
  const connectionString = inject("databaseUrl");
  const store = new PostgresStore({ connectionString, schema, logger, leaseMs: 2_000 });
  const scheduler = new Scheduler({ store, logger, checkInterval: 200 });
  onTestFinished(() => scheduler.stop({ waitForJobs: false }));
  const run = ({ prompt, data, attempt, jobId }: RuntimeJob): void =>
    void seen.push({ prompt, data, attempt, jobId });
  const agent: Agent = { name, schedules: { work: { type: "webhook", prompt: "On {{x}}" } }, run };
  await scheduler.start([agent]);
  return scheduler;
}

describe("a trigger on a database that nodes share", () => {
  it("gives its prompt and data to the job, and to its record", async () => {
    const seen: Seen[] = [];
    const scheduler = await startNode(newSchema(), seen);
    const data = { x: "\u0000 \n", y: [1] };
    const { jobId = "" } = await scheduler.trigger("a0", "work", { data, cause: "why", trigger: "chat" });
    await until(async () => (await scheduler.jobs.get(jobId))?.status === "completed");
    expect(seen).toEqual([{ prompt: "On \u0000 \n", data, attempt: 1, jobId }]);
    expect(await scheduler.jobs.get(jobId)).toMatchObject({ trigger: "chat", data, cause: "why" });
  });

  it("starts one job for a key, whichever node it comes to", async () => {
    const seen: Seen[] = [];
    const schema = newSchema();
    const nodes = [await startNode(schema, seen), await startNode(schema, seen)];
    const results = await Promise.all(
      [...nodes, ...nodes].map((node) => node.trigger("a0", "work", { key: "k", prompt: "P" })),
    );
    expect(results).toEqual(results.map(() => results[0]));
    expect(results[0]?.success).toBe(true);
    await until(() => seen.length > 0);
    for (const node of nodes) {
      expect(await node.trigger("a0", "work", { key: "k", prompt: "P" })).toEqual(results[0]);
      expect(await node.trigger("a0", "work", { key: "k" })).toMatchObject({ code: "KEY_REUSED" });
    }
    expect(seen).toHaveLength(1);
  });

  it("whose node is killed runs again with its prompt and data, as attempt 2", async () => {
    const schema = newSchema();
    const seen: Seen[] = [];
    const args = ["-", inject("databaseUrl"), schema];
    await using killed = new Child("requested-scheduler.js", args);
    await killed.line((line) => line === "ready");
    await using asker = new Child("asker.js", args);
    await asker.line((line) => line === "ready");
    asker.say(`slow {"prompt":"P {{x}}","data":{"x":1}}`);
    await killed.line((line) => line.startsWith("ran"));
    killed.signal("SIGKILL");
    await startNode(schema, seen, "slow");
    await until(() => seen.length > 0);
    expect(seen).toMatchObject([{ prompt: "P 1", data: { x: 1 }, attempt: 2 }]);
    expect(asker.lines.filter((line) => line.includes("job-"))).toHaveLength(1);
  });
});
