/** `rota migrate`, `rota nodes`, and `rota doctor` on a database. */
import { describe, expect, it } from "vitest";
import { judgeClocks, judgeNodes } from "../../../src/cli/doctor/database.js";
import { SCHEMA_VERSION } from "../../../src/state/postgres/schema/migrate.js";
import { runDoctor } from "../run-doctor.js";
import { Scene } from "../scene.js";
import { NOW, Terminal } from "../terminal.js";
import { DatabaseScene } from "./database-scene.js";

describe("rota migrate", () => {
  it("creates the tables, and prints the version", async () => {
    const scene = DatabaseScene.unmade();
    expect(await scene.run("migrate")).toBe(0);
    expect(scene.err).toBe(`Created version ${SCHEMA_VERSION} in ${scene.location}.\n`);
    expect(await scene.run("migrate")).toBe(0);
    expect(scene.err).toBe(`${scene.location} is up to date: version ${SCHEMA_VERSION}.\n`);
  });

  it("prints both versions as JSON", async () => {
    const scene = DatabaseScene.unmade();
    await scene.run("migrate", "--json");
    expect(scene.json).toEqual({ database: scene.location, from: 0, to: SCHEMA_VERSION });
  });

  it("refuses the schema of a newer version", async () => {
    const scene = await DatabaseScene.newer();
    expect(await scene.run("migrate")).toBe(1);
    expect(scene.err).toMatch(/has version 99, .*: update Rota\.\n$/);
  });

  it.each(["migrate", "nodes"])("needs the name of a database, like rota %s", async (command) => {
    const scene = new Scene();
    expect(await scene.run(command)).toBe(2);
    expect(scene.err).toContain(
      "name one with --database-url, ROTA_DATABASE_URL, or `database` in the configuration",
    );
  });

  it("prints why the database cannot be reached", async () => {
    const terminal = new Terminal();
    expect(await terminal.run("migrate", "--database-url", "postgres://a:s3cr3t@127.0.0.1:1/b")).toBe(1);
    expect(terminal.err).toBe(
      "rota: Could not use postgres://a@127.0.0.1:1/b: connect ECONNREFUSED 127.0.0.1:1\n",
    );
  });
});

describe("rota nodes", () => {
  it("lists the nodes with their claims, and marks late nodes", async () => {
    const scene = await DatabaseScene.made();
    const gone = scene.store({ nodeName: "gone" });
    await gone.open();
    await scene.silence();
    const here = scene.store({ nodeName: "here" });
    await here.open();
    await here.define({ schedules: [{ agent: "reports", schedule: "hourly" }] });
    await here.claim({ agent: "reports", schedule: "hourly" });
    expect(await scene.run("nodes")).toBe(0);
    expect(scene.lines[1]).toMatch(/^gone .* 0 +late$/);
    expect(scene.lines[2]).toMatch(/^here .* 1 +alive$/);
    expect(scene.err).toBe(`2 nodes, 1 late on ${scene.location}.\n`);
  });

  it("cuts no name of a node on a terminal of 80 columns", async () => {
    const scene = await DatabaseScene.made({ columns: 80, env: { NO_COLOR: "1" } });
    const nodeName = "scheduler-of-the-reporting-department-0001";
    await scene.store({ nodeName }).open();
    await scene.run("nodes");
    expect(scene.out).toContain(`${nodeName} `);
    expect(Math.max(...scene.lines.map(({ length }) => length))).toBeLessThanOrEqual(80);
  });

  it("lists the nodes as JSON", async () => {
    const scene = await DatabaseScene.made();
    const node = scene.store({ nodeName: "one" });
    await node.open();
    expect(await scene.run("nodes", "--json")).toBe(0);
    const time = expect.stringMatching(/^\d{4}-.*Z$/) as string;
    const [found] = scene.json as object[];
    expect(found).toMatchObject({ name: "one", pid: process.pid, started_at: time, seen_at: time });
    expect(found).toMatchObject({ late: false, claims: 0 });
  });

  it("prints that no scheduler runs", async () => {
    const scene = await DatabaseScene.made();
    expect(await scene.run("nodes")).toBe(0);
    expect(scene.err).toBe(`No scheduler runs on ${scene.location}.\n`);
  });
});

describe("rota doctor on a database", () => {
  it("reports the database, its clock, its schema and its nodes", async () => {
    const scene = await DatabaseScene.made();
    const node = scene.store();
    await node.open();
    expect(await runDoctor(scene)).toBe(0);
    expect(scene.out).toContain(`✓ database         ${scene.location}\n`);
    // This terminal's clock is months behind the database's.
    expect(scene.out).toMatch(
      /✓ database clock {3}\d{4}-\S+Z: this machine's clock is \S+( \S+)? behind it\./,
    );
    expect(scene.out).toContain(`✓ schema           ${scene.schema}, version ${SCHEMA_VERSION}\n`);
    expect(scene.out).toContain("✓ nodes            1 node alive\n");
  });

  it("fails when the database cannot be reached, without printing the password", async () => {
    const scene = new Scene();
    expect(await runDoctor(scene, "--database-url", "postgres://a:s3cr3t@127.0.0.1:1/b")).toBe(1);
    expect(scene.out).toContain("✗ database         Could not use postgres://a@127.0.0.1:1/b: connect");
  });

  it("creates nothing in an empty database", async () => {
    const scene = DatabaseScene.unmade();
    expect(await runDoctor(scene)).toBe(0);
    expect(scene.out).toContain(`✓ schema           ${scene.schema} does not exist yet`);
    expect(await scene.isMade()).toBe(false);
  });

  it.each([
    ["agree", 500, /^2026-03-01T12:00:00.000Z$/],
    ["differ", 600_000, /this machine's clock is 10m ahead of it/],
    ["differ the other way", -600_000, /this machine's clock is 10m behind it/],
  ])("reports whether the clocks %s", (_, aheadMs, message) => {
    const ours = new Date(Date.parse(NOW) + aheadMs);
    const { verdict, message: said } = judgeClocks(new Date(NOW), ours, 100);
    expect([verdict, message.test(said)]).toEqual(["ok", true]);
  });

  it("warns of late nodes", () => {
    const at = new Date(NOW);
    const seenAt = new Date(at.getTime() - 60_000);
    const late = { name: "n", host: "h", pid: 1, startedAt: seenAt, seenAt, isLate: true, claimCount: 0 };
    expect(judgeNodes([late], at)).toMatchObject([
      { verdict: "failure", message: "no node is alive, and none signed off: start one again" },
      { verdict: "warning", message: expect.stringContaining("last seen n 1m ago") as string },
    ]);
  });
});
