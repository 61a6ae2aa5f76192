/** A server that requires a password, unlike the shared one: the messages, and that a refused process ends at once. */
import { fileURLToPath } from "node:url";
import { Pool } from "pg";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { runNode } from "../../package/run-node.js";
import { startServer, type TestServer } from "../../state/postgres/server.js";
import { stateDirectory } from "../../state/temporary-directory.js";
import { rota } from "../terminal.js";

const STORE = new URL("../../../dist/state/postgres/index.js", import.meta.url);

let server: TestServer;

/** The address of the database for the user that has a password. */
function urlWith(password: string): string {
  const url = new URL(server.url);
  url.username = "careful";
  url.password = password;
  return url.href;
}

beforeAll(async () => {
  server = await startServer({ fsync: "off" });
  const pool = new Pool({ connectionString: server.url });
  await pool.query("create role careful login superuser password 's3cr3t'");
  await pool.query(`do $$ begin execute format(
    'copy (select unnest(array[''host all careful 127.0.0.1/32 scram-sha-256'', ''host all all 127.0.0.1/32 trust''])) to %L',
    current_setting('hba_file')); end $$`);
  await pool.query("select pg_reload_conf()");
  await pool.end();
});

afterAll(() => server.stop());

describe("a server that requires a password", () => {
  it("accepts the right password", async () => {
    expect(await rota(["migrate", "--database-url", urlWith("s3cr3t")], stateDirectory())).toMatchObject({
      exitCode: 0,
    });
  });

  it.each([
    ["", "the server requires a password, and the address has none"],
    ["wr0ng", 'password authentication failed for user "careful"'],
  ])("refuses the password %j at once, and the reason is printed", async (password, reason) => {
    const args = ["list", "--database-url", urlWith(password)];
    const { exitCode, err } = await rota(args, stateDirectory());
    expect({ exitCode, err }).toEqual({
      exitCode: 1,
      err: `rota: Could not use ${urlWith("")}: ${reason}\n`,
    });
  });

  it("does not keep a refused process alive", async () => {
    const program = `import { PostgresStore } from ${JSON.stringify(STORE.href)};
      const store = new PostgresStore({ connectionString: ${JSON.stringify(urlWith(""))} });
      await store.open().catch(({ message }) => console.log(message));`;
    const { exitCode, out } = await runNode(["--input-type=module", "--eval", program], {
      cwd: fileURLToPath(new URL(".", STORE)),
    });
    expect(out).toContain("password must be a string");
    // Checks that the process ends by itself: the server would wait for a minute.
    expect(exitCode).toBe(0);
  });
});
