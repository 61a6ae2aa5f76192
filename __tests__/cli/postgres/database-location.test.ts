/** Which place a call is about, and what is said of a database that cannot be used. No message tells a password. */
import { describe, expect, inject, it } from "vitest";
import { databaseAddress } from "../../../src/cli/location/database-address.js";
import { Scene } from "../scene.js";
import { Terminal } from "../terminal.js";
import { DatabaseScene } from "./database-scene.js";

const SECRET = "s3cr3t";
/** What stands in DATABASE_URL for other programs, and what was meant for this one. */
const STRANGE_URLS = [
  "mysql://app@127.0.0.1/app",
  "file:./dev.db",
  `"postgres://app:${SECRET}@db/app"`,
  `postgress://app:${SECRET}@db/app`,
  `host=db password=${SECRET} dbname=app`,
];

describe("the place of a call", () => {
  it("is the database of --database-url", async () => {
    const scene = await DatabaseScene.made();
    await scene.state("inbox/hook", { last_error: "from the database" });
    expect(await scene.run("list", "inbox", "--json")).toBe(0);
    expect(scene.json).toMatchObject([{ last_error: "from the database" }]);
    expect(scene.err).toBe("");
  });

  it("is that of DATABASE_URL, and this is said", async () => {
    const scene = await DatabaseScene.made({ env: { DATABASE_URL: inject("databaseUrl") } });
    await scene.state("inbox/hook", { last_error: "from the database" });
    expect(await scene.runAlone("list", "inbox", "--json", "--database-schema", scene.schema)).toBe(0);
    expect(scene.json).toMatchObject([{ last_error: "from the database" }]);
    expect(scene.err).toBe(
      `Using ${scene.place}, from DATABASE_URL. --state-dir uses a directory instead.\n`,
    );
  });

  it("is that of an address with blanks around it", async () => {
    const scene = await DatabaseScene.made({ env: { DATABASE_URL: ` ${inject("databaseUrl")}\n` } });
    expect(await scene.runAlone("list", "--names", "--database-schema", scene.schema)).toBe(0);
    expect(scene.err).toBe(
      `Using ${scene.place}, from DATABASE_URL. --state-dir uses a directory instead.\n`,
    );
    const option = ["--database-url", ` ${scene.url} `, "--database-schema", scene.schema];
    expect(await scene.runAlone("list", "--names", ...option)).toBe(0);
  });

  it("is what the option says, where the environment says another", async () => {
    const scene = await DatabaseScene.made({ env: { DATABASE_URL: "postgres://127.0.0.1:1/other" } });
    expect(await scene.run("list")).toBe(0);
    expect(scene.err).not.toContain("DATABASE_URL");
  });

  it("is the state directory that is named, whatever DATABASE_URL says", async () => {
    const scene = new Scene({ env: { DATABASE_URL: "postgres://127.0.0.1:1/other" } });
    await scene.state("inbox/hook", { last_error: "from the directory" });
    expect(await scene.run("list", "inbox", "--json", "--state-dir", ".rota")).toBe(0);
    expect(scene.json).toMatchObject([{ last_error: "from the directory" }]);
  });

  it.each(["", " \n"])("is a directory where DATABASE_URL is empty: %j", async (url) => {
    const scene = new Scene({ env: { DATABASE_URL: url } });
    expect(await scene.run("list")).toBe(0);
    expect(scene.err).toBe(`4 schedules. No scheduler runs on ${scene.stateDir}.\n`);
  });

  it.each(STRANGE_URLS)("is a directory where DATABASE_URL is %s, and this is said", async (url) => {
    const scene = new Scene({ env: { DATABASE_URL: url } });
    expect(await scene.run("list")).toBe(0);
    expect(scene.err).toBe(
      `Using ${scene.stateDir}: DATABASE_URL is set, and is no PostgreSQL address.\n` +
        `4 schedules. No scheduler runs on ${scene.stateDir}.\n`,
    );
  });

  it("is the state directory that is named, and DATABASE_URL has nothing to do with it", async () => {
    const scene = new Scene({ env: { DATABASE_URL: `mysql://app:${SECRET}@db/app` } });
    await scene.state("inbox/hook", { last_error: "no" });
    expect(await scene.run("list", "--state-dir", ".rota")).toBe(0);
    expect(scene.err).not.toContain("DATABASE_URL");
  });

  it.each([["nodes"], ["migrate"], ["list", "--database-schema", "other"]])(
    "is refused for %s where DATABASE_URL is no such address",
    async (...args) => {
      const scene = new Scene({ env: { DATABASE_URL: `postgress://app:${SECRET}@db/app` } });
      expect(await scene.run(...args)).toBe(2);
      expect(scene.err).toContain("DATABASE_URL is set, and is no PostgreSQL address");
      expect(scene.err).not.toContain(SECRET);
    },
  );

  it.each([
    [
      ["--database-url", "postgres://db/app", "--state-dir", "."],
      "give --database-url or --state-dir, not both",
    ],
    [["--database-schema", "other"], "--database-schema goes with a database"],
    [["--database-schema", "other", "--state-dir", "."], "--database-schema goes with a database"],
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
  ])("is refused for %s, which is not shown", async (url) => {
    const terminal = new Terminal();
    expect(await terminal.run("list", "--database-url", url)).toBe(2);
    expect(terminal.err).toMatch(/^rota: Invalid --database-url: expected postgres:\/\/user:password@host/);
    expect(terminal.err).not.toContain(SECRET);
  });

  it("names the variable that is wrong", async () => {
    const terminal = new Terminal({ env: { DATABASE_URL: `postgres://app:${SECRET}/@db/app` } });
    expect(await terminal.run("list")).toBe(2);
    expect(terminal.err).toContain("Invalid DATABASE_URL");
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

  it("has its schema, where that is another than usual", () => {
    expect(databaseAddress("postgres://db/app", "", "test").name).toBe("postgres://db/app, schema test");
  });
});

describe("a database that cannot be used", () => {
  it.each(["127.0.0.1:1", "localhost:1"])("is said to be so, in one line: %s", async (host) => {
    const scene = new Scene();
    expect(await scene.run("list", "--database-url", `postgres://app:${SECRET}@${host}/app`)).toBe(1);
    expect(scene.err).toMatch(
      /^rota: Could not use postgres:\/\/app@[^/]+\/app: connect ECONNREFUSED [^\n]+\n$/,
    );
  });

  it("is one that is not there", async () => {
    const scene = new DatabaseScene();
    const url = new URL(scene.url);
    url.pathname = "/nowhere";
    expect(await scene.runAlone("jobs", "--database-url", url.href)).toBe(1);
    expect(scene.err).toMatch(/^rota: Could not use \S+\/nowhere: database "nowhere" does not exist\n$/);
  });

  it("has no tables yet: that is said, and none are made", async () => {
    const scene = DatabaseScene.unmade();
    expect(await scene.run("list")).toBe(3);
    expect(scene.err).toMatch(
      /^rota: There is no state in \S+, schema \S+ yet: `rota migrate` makes its tables/,
    );
    expect(await scene.isMade()).toBe(false);
  });

  it("was made by a newer version: that is said", async () => {
    const scene = await DatabaseScene.newer();
    expect(await scene.run("pause", "inbox")).toBe(1);
    expect(scene.err).toMatch(/^rota: Schema "\w+" has version 99, .*: update Rota\.\n$/);
  });
});
