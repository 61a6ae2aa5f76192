/** Jobs of a real process that is killed before it has recorded them. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { FileStore } from "../../../src/state/file/file-store.js";
import { stateDirectory } from "../temporary-directory.js";

it("have a record after kill -9, all twenty of them, made from their claims", async () => {
  const stateDir = stateDirectory();
  const program = fileURLToPath(new URL("../processes/claim-without-record.js", import.meta.url));
  const child = spawn(process.execPath, [program, stateDir], { stdio: ["ignore", "pipe", "inherit"] });
  const ended = once(child, "exit");
  let ids: string[] = [];
  for await (const line of createInterface({ input: child.stdout })) {
    ids = line.split(" ");
    child.kill("SIGKILL");
  }
  await ended;
  expect(ids).toHaveLength(20);
  await using store = new FileStore({ stateDir, logger: { info() {}, warn() {}, error() {} } });
  await store.open();
  const records = await store.jobs.list();
  expect(records.map(({ id }) => id).toSorted()).toEqual(ids.toSorted());
  for (const record of records)
    expect(record).toMatchObject({ status: "interrupted", trigger: "cron", source: "baseline-cron" });
});
