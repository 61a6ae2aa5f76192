/** The mailbox beside a state file keeps the contract, bears damaged files, and cleans up. */
import { mkdirSync, readdirSync, readFileSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { FakeClock, FileStore } from "../../../../src/index.js";
import { testMailbox } from "../../../contract/mailbox-contract.js";
import { stateDirectory } from "../../temporary-directory.js";
import { systemError, WatchedDisk } from "../../watched-disk.js";

const START = "2026-03-01T00:00:00.000Z";
const RUN = { agent: "a", schedule: "x", action: "run" } as const;

testMailbox("FileStore", async (clock) => {
  const stateDir = stateDirectory();
  const open = async (): Promise<FileStore> => {
    const store = new FileStore({ stateDir, clock });
    await store.open();
    onTestFinished(() => store.close());
    return store;
  };
  return {
    store: await open(),
    outside: new FileStore({ stateDir, clock }).mailbox,
    reopen: open,
  };
});

async function opened(
  watched = new WatchedDisk(),
): Promise<{ store: FileStore; folder: (name: string) => string; warnings: string[] }> {
  const stateDir = stateDirectory();
  const warnings: string[] = [];
  for (const name of ["taken", "answers"])
    mkdirSync(join(stateDir, "requests", name), { recursive: true, mode: 0o700 });
  const logger = { info() {}, warn: (message: string) => void warnings.push(message), error() {} };
  const store = new FileStore({ stateDir, clock: new FakeClock(START), logger }, { disk: watched.disk });
  await store.open();
  onTestFinished(() => store.close());
  return { store, folder: (name) => join(stateDir, "requests", name), warnings };
}

describe("the files of the mailbox", () => {
  it.each([
    ["cut", `{"agent":"a"`],
    ["empty", ""],
    ["not an object", "[1]"],
    ["without an action", `{"agent":"a","schedule":"x","created_at":"${START}","expires_at":"${START}"}`],
    [
      "with a wrong time",
      `{"agent":"a","schedule":"x","action":"run","created_at":"${START}","expires_at":"soon"}`,
    ],
  ])("cost no other request when one is %s, which is reported once and set aside", async (_, text) => {
    const { store, folder, warnings } = await opened();
    writeFileSync(folder("req-1.json"), text);
    const { id } = await store.mailbox.post(RUN, { ttlMs: 1_000 });
    for (let look = 0; look < 2; look++)
      expect((await store.mailbox.pending()).map(({ request }) => request.id)).toEqual([id]);
    expect(warnings).toEqual([expect.stringContaining("req-1.json")]);
    expect(readdirSync(folder("."))).toContain("req-1.json.damaged");
  });

  it("may have foreign files and directories among them", async () => {
    const { store, folder } = await opened();
    writeFileSync(folder("notes.txt"), "hello");
    mkdirSync(folder("req-2.json"));
    expect(await store.mailbox.pending()).toEqual([]);
  });

  it("are not followed when one is a symbolic link", async () => {
    const { store, folder, warnings } = await opened();
    const elsewhere = folder("elsewhere");
    const content = { ...RUN, created_at: START, expires_at: "2027-03-01T00:00:00.000Z" };
    writeFileSync(elsewhere, JSON.stringify(content));
    symlinkSync(elsewhere, folder("req-6.json"));
    expect(await store.mailbox.pending()).toEqual([]);
    expect(warnings).toEqual([expect.stringContaining("req-6.json")]);
    expect(JSON.parse(readFileSync(elsewhere, "utf8"))).toEqual(content);
  });

  it("are readable for their owner only", async () => {
    const { store, folder } = await opened();
    const { id } = await store.mailbox.post({ ...RUN, prompt: "secret" }, { ttlMs: 1_000 });
    expect(JSON.parse(readFileSync(folder(`${id}.json`), "utf8"))).toMatchObject({ prompt: "secret" });
    const { statSync } = await import("node:fs");
    expect(statSync(folder(`${id}.json`)).mode & 0o777).toBe(0o600);
    expect(statSync(folder(".")).mode & 0o777).toBe(0o700);
  });

  it("are gone when a plain request is answered and its caller has read the answer", async () => {
    const { store, folder } = await opened();
    const { mailbox } = store;
    const posted = await mailbox.post(RUN, { ttlMs: 1_000 });
    await mailbox.take(posted.id);
    await mailbox.answer(posted, { job_id: posted.id });
    await mailbox.waitForAnswer(posted, { clock: new FakeClock(START), timeoutMs: 0 });
    expect(readdirSync(folder("."))).toEqual(["answers", "taken"]);
    expect([...readdirSync(folder("taken")), ...readdirSync(folder("answers"))]).toEqual([]);
  });

  it("are removed by age where nobody fetched or finished them", async () => {
    const { store, folder } = await opened();
    const old = [folder("answers/req-3.json"), folder("taken/req-4.x.tmp"), folder("req-5.json.damaged")];
    for (const file of old) {
      writeFileSync(file, "{}");
      utimesSync(file, 0, 0);
    }
    await store.mailbox.pending();
    await expect.poll(() => readdirSync(folder("answers"))).toEqual([]);
    await expect.poll(() => readdirSync(folder("taken"))).toEqual([]);
    await expect.poll(() => readdirSync(folder("."))).toEqual(["answers", "taken"]);
  });
});

describe("a disk that fails", () => {
  it.each(["EMFILE", "EIO"])("with %s for a moment costs no request", async (code) => {
    const watched = new WatchedDisk();
    const { store, warnings } = await opened(watched);
    const { id } = await store.mailbox.post(RUN, { ttlMs: 1_000 });
    watched.before = (step) => {
      if (step === `open ${id}.json`) throw systemError(code);
    };
    expect(await store.mailbox.pending()).toEqual([]);
    watched.before = () => {};
    expect(await store.mailbox.pending()).toMatchObject([{ request: { id } }]);
    expect(warnings).toEqual([]);
  });

  it.each(["open", "writeFile", "sync", "rename"])(
    "because it is full, at %s, refuses a request and leaves nothing of it, and takes it when there is room",
    async (failing) => {
      const watched = new WatchedDisk();
      const { store, folder } = await opened(watched);
      watched.before = (step) => {
        if (step.startsWith(`${failing} `) && step.includes(".tmp")) throw systemError("ENOSPC");
      };
      const request = { ...RUN, prompt: "P" };
      await expect(store.mailbox.post(request, { ttlMs: 1_000 })).rejects.toMatchObject({
        code: "STATE_FILE",
      });
      watched.before = () => {};
      expect([...readdirSync(folder(".")), ...readdirSync(folder("taken"))]).toEqual(["answers", "taken"]);
      const { id } = await store.mailbox.post(request, { ttlMs: 1_000 });
      expect(await store.mailbox.pending()).toMatchObject([{ request: { id, prompt: "P" } }]);
    },
  );
});

describe("a request that a scheduler had taken when it was killed", () => {
  it("is left over for the next scheduler, once", async () => {
    const { store } = await opened();
    const posted = await store.mailbox.post(RUN, { ttlMs: 1_000 });
    await store.mailbox.take(posted.id);
    await store.close();
    await store.open();
    expect(await store.mailbox.pending()).toMatchObject([{ request: { id: posted.id }, isLeftOver: true }]);
    expect(await store.mailbox.pending()).toEqual([]);
  });
});
