/** Which location a call uses, and the messages for an unusable database, which never contain a password. */
import { describe, expect, inject, it } from "vitest";
import { databaseAddress } from "../../../src/cli/location/database-address.js";
import { runDoctor } from "../run-doctor.js";
import { FLEET, Scene } from "../scene.js";
import { Terminal } from "../terminal.js";
import { DatabaseScene } from "./database-scene.js";

const SECRET = "s3cr3t";
/** Addresses of other databases, or with a typo. */
const STRANGE_URLS = [
  "mysql://app@127.0.0.1/app",
  "file:./dev.db",
  `"postgres://app:${SECRET}@db/app"`,
  `postgress://app:${SECRET}@db/app`,
  `host=db password=${SECRET} dbname=app`,
];

describe("the state's location of a call", () => {
  it("is the database of --database-url", async () => {
    const scene = await DatabaseScene.made();
    await scene.state("inbox/hook", { last_error: "from the database" });
    expect(await scene.run("list", "inbox", "--json")).toBe(0);
    expect(scene.json).toMatchObject([{ last_error: "from the database" }]);
    expect(scene.err).toBe("");
  });

  it("is the database of ROTA_DATABASE_URL, also with blanks around it", async () => {
    const scene = await DatabaseScene.made({ env: { ROTA_DATABASE_URL: ` ${inject("databaseUrl")}\n` } });
    await scene.state("inbox/hook", { last_error: "from the database" });
    expect(await scene.runAlone("list", "inbox", "--json", "--database-schema", scene.schema)).toBe(0);
    expect(scene.json).toMatchObject([{ last_error: "from the database" }]);
    expect(scene.err).toBe("");
    const option = ["--database-url", ` ${scene.url} `, "--database-schema", scene.schema];
    expect(await scene.runAlone("list", "--names", ...option)).toBe(0);
  });

  it("is the database of the configuration, with its schema", async () => {
    const scene = await DatabaseScene.made({ env: { DATABASE_URL: inject("databaseUrl") } });
    scene.write(`database: \${DATABASE_URL}\ndatabase_schema: ${scene.schema}\nstate_dir: other\n${FLEET}`);
    await scene.state("inbox/hook", { last_error: "from the database" });
    expect(await scene.runAlone("list", "inbox", "--json")).toBe(0);
    expect(scene.json).toMatchObject([{ last_error: "from the database" }]);
    expect(await scene.runAlone("nodes")).toBe(0);
    expect(scene.err).toContain(`No scheduler runs on ${scene.location}.`);
    expect(await scene.runAlone("migrate")).toBe(0);
    expect(scene.err).toContain(`${scene.location} is up to date`);
    expect(await scene.runAlone("jobs")).toBe(0);
  });

  it("is the one of ROTA_DATABASE_URL when the configuration names a different one", async () => {
    const scene = await DatabaseScene.made({ env: { ROTA_DATABASE_URL: inject("databaseUrl") } });
    scene.write(`database: postgres://127.0.0.1:1/other\n${FLEET}`);
    expect(await scene.runAlone("list", "--database-schema", scene.schema)).toBe(0);
  });

  it.each([
    ["an option", {}, ["--state-dir", "."]],
    ["an empty variable", { EMPTY: "" }, []],
  ])("is a directory where %s says so", async (_, env, args) => {
    const scene = new Scene({ env: { EMPTY: "", ...env } });
    const url = args.length === 0 ? "${EMPTY}" : "postgres://127.0.0.1:1/other";
    scene.write(`database: ${url}\n${FLEET}`);
    expect(await scene.run("list", ...args)).toBe(0);
    expect(scene.err).toContain(`No scheduler runs on ${args.length === 0 ? scene.stateDir : scene.cwd}.`);
  });

  it("is the database of the option when the environment names a different one", async () => {
    const scene = await DatabaseScene.made({ env: { ROTA_DATABASE_URL: "postgres://127.0.0.1:1/other" } });
    expect(await scene.run("list")).toBe(0);
  });

  it("is the directory of --state-dir although ROTA_DATABASE_URL is set", async () => {
    const scene = new Scene({ env: { ROTA_DATABASE_URL: "postgres://127.0.0.1:1/other" } });
    await scene.state("inbox/hook", { last_error: "from the directory" });
    expect(await scene.run("list", "inbox", "--json", "--state-dir", ".rota")).toBe(0);
    expect(scene.json).toMatchObject([{ last_error: "from the directory" }]);
  });

  it.each([
    { ROTA_DATABASE_URL: "" },
    { ROTA_DATABASE_URL: " \n" },
    { DATABASE_URL: "postgres://127.0.0.1:1/other" },
    { DATABASE_URL: "mysql://app@127.0.0.1/app" },
  ])("is a directory for the variables %j", async (env) => {
    const scene = new Scene({ env });
    expect(await scene.run("list")).toBe(0);
    expect(scene.err).toBe(`4 schedules. No scheduler runs on ${scene.stateDir}.\n`);
  });

  it.each(STRANGE_URLS)("is refused when the configuration has %s, without printing it", async (url) => {
    const scene = new Scene();
    scene.write(`database: ${JSON.stringify(url)}\n${FLEET}`);
    for (const command of ["list", "validate", "migrate"]) {
      expect(await scene.run(command)).toBe(2);
      expect(scene.err).toContain("database\n  Invalid database: expected postgres://user:password@host");
      expect(scene.err).not.toContain(SECRET);
    }
  });

  it("shows no password of the configuration", async () => {
    const scene = new Scene();
    scene.write(`database: postgres://app:${SECRET}@127.0.0.1:1/app\n${FLEET}`);
    for (const command of ["list", "validate", "status", "jobs", "migrate"]) {
      await scene.run(command, "--json", "--debug");
      expect(scene.out + scene.err).not.toContain(SECRET);
    }
    await runDoctor(scene, "--debug");
    expect(scene.out).toContain("postgres://app@127.0.0.1:1/app");
    expect(scene.out + scene.err).not.toContain(SECRET);
  });

  it.each([
    [
      ["--database-url", "postgres://db/app", "--state-dir", "."],
      "give --database-url or --state-dir, not both",
    ],
    [["--database-schema", "other"], "--database-schema needs a database"],
    [["--database-schema", "other", "--state-dir", "."], "--database-schema needs a database"],
    [["--database-url", "postgres://127.0.0.1/app", "--database-schema", "1a"], 'Invalid schema "1a"'],
    [["--database-url", ""], "--database-url needs a value"],
  ])("is refused for %j", async (args, message) => {
    const terminal = new Scene();
    expect(await terminal.run("list", ...args)).toBe(2);
    expect(terminal.err).toContain(message);
  });

  it.each([
    `mysql://app:${SECRET}@db/app`,
    `app:${SECRET}@db/app`,
    `postgres://app:${SECRET}#1@db/app`,
    `postgres://app:${SECRET}/1@db/app`,
    `postgres://app:1/${SECRET}@db/app`,
    `postgres://app:${SECRET}@db:port/app`,
    `postgres://app:p@${SECRET}/w#rd@db/app`,
    `postgres://app:p@${SECRET}?w@db/app`,
    `postgres://app:12/${SECRET}?x@db/app`,
    `postgres://app:12?${SECRET}@db/app`,
    `postgres://app:12#${SECRET}@db/app`,
    `postgres://app:%zz${SECRET}@db/app`,
    `postgres://app:100%${SECRET}@db/app`,
    `postgres://app:%ff${SECRET}@db/app`,
    `postgres://app:a/12?${SECRET}=%zz`,
  ])("is refused for %s, without printing it", async (url) => {
    const terminal = new Terminal();
    expect(await terminal.run("list", "--database-url", url)).toBe(2);
    expect(terminal.err).toMatch(/^rota: Invalid --database-url: expected postgres:\/\/user:password@host/);
    expect(terminal.err).not.toContain(SECRET);
  });

  it("is refused with the name of the invalid variable", async () => {
    const terminal = new Terminal({ env: { ROTA_DATABASE_URL: `postgres://app:${SECRET}/@db/app` } });
    expect(await terminal.run("list")).toBe(2);
    expect(terminal.err).toContain("Invalid ROTA_DATABASE_URL");
  });
});

describe("the name of a database", () => {
  it.each([
    [`postgres://app:${SECRET}@db:5432/app`, "postgres://app@db:5432/app"],
    [`postgres://app@db/app?password=${SECRET}&sslmode=require`, "postgres://app@db/app"],
    [`postgresql://db/app#${SECRET}`, "postgresql://db/app"],
    [`postgres://:${SECRET}@db`, "postgres://db"],
    [`postgres://app:${SECRET}@%2Fvar%2Frun/app`, "postgres://app@%2Fvar%2Frun/app"],
    [`postgres://app:p%40${SECRET}@[::1]:5432/app`, "postgres://app@[::1]:5432/app"],
    [`postgres://app:p@${SECRET}@db/app`, "postgres://app@db/app"],
    [`postgres://app@db/a%40b?application_name=a%40b`, "postgres://app@db/a%40b"],
  ])("of %s is %s", (url, name) => {
    expect(databaseAddress(url, "").name).toBe(name);
  });

  it("includes a schema other than the default", () => {
    expect(databaseAddress("postgres://db/app", "", "test").name).toBe("postgres://db/app, schema test");
  });
});

describe("an unusable database", () => {
  it.each(["127.0.0.1:1", "localhost:1"])("is reported in one line: %s", async (host) => {
    const scene = new Scene();
    expect(await scene.run("list", "--database-url", `postgres://app:${SECRET}@${host}/app`)).toBe(1);
    expect(scene.err).toMatch(
      /^rota: Could not use postgres:\/\/app@[^/]+\/app: connect ECONNREFUSED [^\n]+\n$/,
    );
  });

  it("is reported when it does not exist", async () => {
    const scene = new DatabaseScene();
    const url = new URL(scene.url);
    url.pathname = "/nowhere";
    expect(await scene.runAlone("jobs", "--database-url", url.href)).toBe(1);
    expect(scene.err).toMatch(/^rota: Could not use \S+\/nowhere: database "nowhere" does not exist\n$/);
  });

  it("is reported when it has no tables, and none are created", async () => {
    const scene = DatabaseScene.unmade();
    expect(await scene.run("list")).toBe(3);
    expect(scene.err).toMatch(
      /^rota: There is no state in \S+, schema \S+ yet: `rota migrate` creates its tables/,
    );
    expect(await scene.isMade()).toBe(false);
  });

  it("is reported when a newer version made its schema", async () => {
    const scene = await DatabaseScene.newer();
    expect(await scene.run("pause", "inbox")).toBe(1);
    expect(scene.err).toMatch(/^rota: Schema "\w+" has version 99, .*: update Rota\.\n$/);
  });
});
