import { setTimeout } from "node:timers/promises";
import { Pool } from "pg";
import { describe, expect, inject, it, onTestFinished } from "vitest";
import { Child, Children } from "../../child.js";
import { newSchema, sharedPool } from "../schema.js";
import { startServer } from "../server.js";
import { claimedBy, fleetOf } from "./slots.js";

describe("processes that share a PostgreSQL store", () => {
  it.each([2, 3])("run every slot once when there are %i of them", async (count) => {
    await using children = new Children();
    const fleet = await fleetOf(children, { agents: 200, slots: 10, batch: 50, leaseMs: 30_000 });
    const nodes = Array.from({ length: count }, () => fleet.start());
    expect(await claimedBy(nodes)).toBe(2_000);
    expect(await fleet.accepted()).toEqual({ slots: 2_000, tokens: 2_000 });
    expect(await fleet.left()).toEqual({ unfinished: 0, claims: 0 });
  });

  it("lose no slot and run no slot twice while they are killed again and again", async () => {
    await using children = new Children();
    const fleet = await fleetOf(children, { agents: 100, slots: 30, batch: 20, leaseMs: 1_500 });
    const steady = fleet.start();
    for (let killed = 0; killed < 3; killed++) {
      const victim = fleet.start();
      await victim.line((line) => line === "ready");
      await setTimeout(100);
      await victim.kill();
    }
    await claimedBy([steady]);
    expect(await fleet.left()).toEqual({ unfinished: 0, claims: 0 });
  });

  it("write nothing stale when one is stopped past its lease and goes on", async () => {
    await using children = new Children();
    const fleet = await fleetOf(children, { agents: 100, slots: 40, batch: 20, leaseMs: 1_000 });
    const [stopped, steady] = [fleet.start(), fleet.start()];
    await Promise.all([stopped, steady].map((node) => node.line((line) => line === "ready")));
    stopped.signal("SIGSTOP");
    await setTimeout(2_500);
    stopped.signal("SIGCONT");
    await claimedBy([stopped, steady]);
    expect(await fleet.left()).toEqual({ unfinished: 0, claims: 0 });
  });

  it("go on when the server is restarted under them, and run nothing twice", async () => {
    const server = await startServer();
    onTestFinished(() => server.stop());
    const pool = new Pool({ connectionString: server.url });
    pool.on("error", () => {});
    onTestFinished(() => pool.end());
    await using children = new Children();
    const size = { agents: 100, slots: 40, batch: 20, leaseMs: 1_500 };
    const fleet = await fleetOf(children, size, { url: server.url, pool });
    const nodes = [fleet.start(), fleet.start()];
    await Promise.all(nodes.map((node) => node.line((line) => line === "ready")));
    for (let restarts = 0; restarts < 3; restarts++) {
      await setTimeout(100);
      await server.restart();
    }
    await claimedBy(nodes);
    expect(await fleet.left()).toEqual({ unfinished: 0, claims: 0 });
  });

  it("go on when their connections are ended under them, and run nothing twice", async () => {
    await using children = new Children();
    const fleet = await fleetOf(children, { agents: 100, slots: 40, batch: 20, leaseMs: 1_500 });
    const nodes = [fleet.start(), fleet.start()];
    await Promise.all(nodes.map((node) => node.line((line) => line === "ready")));
    for (let round = 0; round < 10; round++) {
      await sharedPool().query(
        `select pg_terminate_backend(pid) from pg_stat_activity where query like '%' || $1 || '%' and pid <> pg_backend_pid()`,
        [fleet.schema],
      );
      await setTimeout(50);
    }
    await claimedBy(nodes);
    expect(await fleet.left()).toEqual({ unfinished: 0, claims: 0 });
  });
});

describe("a process whose scheduler could not start on a PostgreSQL store", () => {
  it("ends by itself, and leaves no node behind", async () => {
    const schema = newSchema();
    const program = new URL("../processes/failing-start.js", import.meta.url).href;
    await using child = new Child(program, [inject("databaseUrl"), schema]);
    await child.end();
    expect([child.exitCode, child.lines]).toEqual([0, ["no schedule is taken"]]);
    const { rows } = await sharedPool().query(`select from "${schema}".nodes`);
    expect(rows).toEqual([]);
  });
});
