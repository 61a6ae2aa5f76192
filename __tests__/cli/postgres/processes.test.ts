/** Commands on a database as processes: schedulers that share a fleet, wrong clocks, a missing driver. */
import { cpSync, mkdirSync, symlinkSync } from "node:fs";
import { createServer, type AddressInfo } from "node:net";
import { once } from "node:events";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import type { JobRecord } from "../../../src/index.js";
import { stateDirectory } from "../../state/temporary-directory.js";
import { RotaProcess } from "../run/rota-process.js";
import { fleetText } from "../run/run-scene.js";
import { rota } from "../terminal.js";
import { DatabaseScene } from "./database-scene.js";

const YEAR_MS = 365 * 86_400_000;
const ROOT = fileURLToPath(new URL("../../../", import.meta.url));

/** Shifts the wall clock of a process. */
function skewed(ms: number): string[] {
  const program = `const Real = Date; globalThis.Date = class extends Real {
    constructor(...args) { if (args.length === 0) super(Real.now() + ${ms}); else super(...args); }
    static now() { return Real.now() + ${ms}; } };`;
  return ["--import", `data:text/javascript,${encodeURIComponent(program)}`];
}

/** An installation of Rota without `pg`. */
function withoutDriver(): { readonly directory: string; readonly main: string } {
  const directory = stateDirectory();
  cpSync(join(ROOT, "lib"), join(directory, "lib"), { recursive: true });
  cpSync(join(ROOT, "package.json"), join(directory, "package.json"));
  mkdirSync(join(directory, "node_modules"));
  for (const name of ["commander", "yaml", "zod"])
    symlinkSync(join(ROOT, "node_modules", name), join(directory, "node_modules", name));
  return { directory, main: join(directory, "lib/cli/main.js") };
}

describe("rota run on a database", () => {
  it("shares the fleet with a second run: each slot has one job, and both nodes are listed", async () => {
    const scene = await DatabaseScene.made();
    scene.write(fleetText({ a: { interval: "1s" }, b: { interval: "1s" } }));
    const nodes = ["one", "two"].map(
      (name) => new RotaProcess(["--json", "--node-name", name, ...scene.where], scene.cwd),
    );
    for (const node of nodes) await node.heard("scheduler:started");
    await scene.run("nodes", "--json");
    expect(scene.json).toMatchObject([{ late: false }, { late: false }]);
    expect((scene.json as { name: string }[]).map(({ name }) => name).toSorted()).toEqual(["one", "two"]);
    const { jobs } = scene.store();
    await vi.waitFor(async () => expect((await jobs.list()).length).toBeGreaterThanOrEqual(6), {
      timeout: 30_000,
      interval: 100,
    });
    for (const node of nodes) node.signal("SIGTERM");
    expect(await Promise.all(nodes.map((node) => node.end()))).toEqual([0, 0]);
    const records = await jobs.list({ limit: Infinity });
    const slots = records.map(({ agent, slot }: JobRecord) => `${agent} ${slot}`);
    expect(new Set(slots).size).toBe(slots.length);
    expect(records.every(({ status }) => status === "completed")).toBe(true);
    await scene.run("nodes", "--json");
    expect(scene.json).toEqual([]);
  });

  it("prints the address without its password, and creates the tables", async () => {
    const scene = new DatabaseScene();
    scene.write(fleetText({ a: {} }));
    const url = new URL(scene.url);
    url.password ||= "s3cr3t";
    const node = new RotaProcess(["--database-url", url.href, "--database-schema", scene.schema], scene.cwd);
    await node.heard("completed");
    expect(node.err).toBe(
      `Running 1 agent with 1 schedule from rota.yaml, state in ${scene.location}. Ctrl-C stops.\n`,
    );
    node.signal("SIGINT");
    expect(await node.end()).toBe(0);
    expect(node.out + node.err).not.toContain(url.password);
  });

  it("runs and prints the database's times on a machine with a wrong clock", async () => {
    const scene = await DatabaseScene.made();
    scene.write(fleetText({ a: { interval: "1s" } }));
    const node = new RotaProcess(["--json", ...scene.where], scene.cwd, skewed(YEAR_MS));
    await node.heard("scheduler:started");
    const { jobs } = scene.store();
    await vi.waitFor(async () => expect((await jobs.list()).length).toBeGreaterThanOrEqual(2), {
      timeout: 30_000,
      interval: 100,
    });
    node.signal("SIGTERM");
    expect(await node.end()).toBe(0);
    const [first = ""] = node.out.split("\n");
    const { time } = JSON.parse(first) as { time: string };
    expect(Math.abs(Date.parse(time) - Date.now())).toBeLessThan(3_600_000);
  });

  it("does not start when the database cannot be reached", async () => {
    const scene = new DatabaseScene();
    scene.write(fleetText({ a: {} }));
    const args = ["run", "--database-url", "postgres://a:s3cr3t@127.0.0.1:1/b"];
    expect(await rota(args, scene.cwd)).toEqual({
      exitCode: 1,
      out: "",
      err: "rota: Could not use postgres://a@127.0.0.1:1/b: connect ECONNREFUSED 127.0.0.1:1\n",
    });
  });
});

describe("a command on a database, as a process", () => {
  it("ends by itself", async () => {
    const scene = await DatabaseScene.made();
    const { exitCode, err } = await rota(["list", ...scene.where], scene.cwd);
    expect({ exitCode, err }).toEqual({
      exitCode: 0,
      err: `4 schedules. No scheduler runs on ${scene.location}.\n`,
    });
  });

  it("gives up on a server that does not reply", async () => {
    const server = createServer(() => {}).listen(0, "127.0.0.1");
    await once(server, "listening");
    onTestFinished(() => void server.close());
    const { port } = server.address() as AddressInfo;
    const url = `postgres://a@127.0.0.1:${port}/b?connect_timeout=1`;
    const { exitCode, err } = await rota(["jobs", "--database-url", url], stateDirectory());
    expect({ exitCode, err }).toEqual({
      exitCode: 1,
      err: `rota: Could not use postgres://a@127.0.0.1:${port}/b: timeout expired\n`,
    });
  });

  it.each([YEAR_MS, -YEAR_MS, 600_000])(
    "goes by the database's clock, when its own is wrong by %i ms",
    async (ms) => {
      const scene = await DatabaseScene.made();
      const nodeArgs = skewed(ms);
      const before = Date.now();
      const paused = await rota(["pause", "reports/hourly", "--for", "2h", ...scene.where], scene.cwd, {
        nodeArgs,
      });
      expect(paused.exitCode).toBe(0);
      const { paused_until } = await scene.stateOf("reports/hourly");
      const awayMs = Date.parse(paused_until ?? "") - before;
      expect(Math.round(awayMs / 600_000)).toBe(12);
      const doctor = await rota(["doctor", ...scene.where], scene.cwd, { nodeArgs });
      expect(doctor.out).toMatch(/database clock .*: this machine's clock is \S+ (ahead of|behind) it/);
    },
  );

  it("prints how to install a missing driver", async () => {
    const { directory, main } = withoutDriver();
    const args = ["list", "--database-url", "postgres://a:s3cr3t@db/b"];
    expect(await rota(args, directory, { main })).toEqual({
      exitCode: 1,
      out: "",
      err: "rota: postgres://a@db/b needs the package pg: `npm install pg` installs it\n",
    });
  });

  it("fails rota doctor without the driver", async () => {
    const { directory, main } = withoutDriver();
    const { exitCode, out } = await rota(["doctor", "--database-url", "postgres://a@db/b"], directory, {
      main,
    });
    expect(exitCode).toBe(1);
    expect(out).toContain("✗ database         postgres://a@db/b needs the package pg: `npm install pg`");
  });
});
