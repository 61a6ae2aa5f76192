/** Stopping `rota run` while its database is unreachable, or while other processes use it. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { describe, expect, inject, it, onTestFinished } from "vitest";
import { PostgresStore } from "../../../src/state/postgres/index.js";
import { until } from "../../state/child.js";
import { type Line, lineTo } from "../../state/postgres/connection/line.js";
import { newSchema, sharedPool } from "../../state/postgres/schema.js";
import { Terminal } from "../terminal.js";
import { ENDLESS, fleetText, RunScene } from "../run/run-scene.js";

interface Stage {
  readonly scene: RunScene;
  readonly line: Line;
  readonly store: PostgresStore;
  readonly schema: string;
  /** Lets the job end by itself. */
  readonly letEnd: () => void;
}

/** A run whose job continues until the test releases it or it is cancelled. */
async function busy(...args: string[]): Promise<Stage> {
  const scene = RunScene.with();
  const schema = newSchema();
  const line = await lineTo(inject("databaseUrl"));
  const store = new PostgresStore({ pool: sharedPool(), schema, clock: scene.clock });
  onTestFinished(() => store.close());
  const script = `${ENDLESS} setInterval(() => { if (require("fs").existsSync("go")) process.exit(0); }, 5)`;
  scene.write(fleetText({ slow: { script, more: `, cwd: ${scene.cwd}` } }));
  scene.start("--database-url", line.url, "--database-schema", schema, ...args);
  onTestFinished(() => line.mend());
  await scene.heard("started");
  await scene.heard("Running");
  return { scene, line, store, schema, letEnd: () => writeFileSync(join(scene.cwd, "go"), "") };
}

describe("rota run, stopped while its database is unreachable,", () => {
  it("exits with 1 when a job was cancelled because its lease expired", async () => {
    const { scene, line, store } = await busy("--stop-timeout", "10m");
    await line.cut();
    scene.host.signal("SIGTERM");
    await scene.seen("Stopping 1 job(s)");
    await line.mend();
    await scene.goOnUntil(() => scene.exitCode !== undefined);
    expect(await store.jobs.list()).toMatchObject([{ status: "interrupted" }]);
    expect(scene.exitCode).toBe(1);
  });

  it("exits with 1 when a job's end cannot be recorded, and prints what it waits for", async () => {
    const { scene, line, letEnd } = await busy("--stop-timeout", "10m");
    await line.cut();
    letEnd();
    await scene.seen("Could not record the end of a job of slow/work");
    scene.host.signal("SIGTERM");
    expect(scene.err).toContain("waiting up to 10m for the end of 1 job to be recorded: slow/work (job-");
    await scene.seen("Gave up recording the end of a job of slow/work");
    expect(await scene.end()).toBe(1);
  });

  it("exits with 0 when the job's end is recorded in time", async () => {
    const { scene, line, letEnd } = await busy("--stop-timeout", "10m");
    await line.cut();
    letEnd();
    await scene.seen("Could not record the end of a job of slow/work");
    scene.host.signal("SIGTERM");
    await line.mend();
    await scene.goOnUntil(() => scene.exitCode !== undefined);
    expect(scene.exitCode).toBe(0);
  });
});

describe("rota run on a database, at a second signal,", () => {
  it("prints when a running scheduler records its job as interrupted", async () => {
    const { scene } = await busy();
    scene.host.signal("SIGINT");
    scene.host.signal("SIGINT");
    expect(scene.err).toContain(
      "Exiting immediately: cancelled 1 job. A running scheduler records it as interrupted when its lease expires.",
    );
  });
});

describe("rota run on a database, while a stop waits for a job,", () => {
  it("lets rota cancel cancel the job", async () => {
    const { scene, store, schema } = await busy("--stop-timeout", "10m");
    scene.host.signal("SIGINT");
    const other = new Terminal();
    await until(async () => (await store.jobs.list()).length > 0);
    const [job] = await store.jobs.list();
    const url = inject("databaseUrl");
    const asking = other.run("cancel", job?.id ?? "", "--database-url", url, "--database-schema", schema);
    while (scene.exitCode === undefined || other.err === "") {
      await scene.clock.advance(100);
      await other.clock.advance(100);
      await setTimeout(2);
    }
    expect(await asking).toBe(0);
    expect(other.err).toBe(`Cancelling ${job?.id}.\n`);
    expect(await store.jobs.list()).toMatchObject([{ status: "cancelled" }]);
  });
});
