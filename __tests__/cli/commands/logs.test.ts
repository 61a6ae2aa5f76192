import { spawn } from "node:child_process";
import { once } from "node:events";
import { describe, expect, it } from "vitest";
import { FileStore } from "../../../src/state/file/file-store.js";
import { signedName, thisProcess } from "../../../src/state/file/lock/process-identity.js";
import { appendFileSync, closeSync, existsSync, openSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { until } from "../../state/child.js";
import { Scene } from "../scene.js";
import { MAIN, rota } from "../terminal.js";

const DONE = { status: "completed", duration_ms: 3_000 } as const;
const ID = "job-2026-03-01-k3x9qa";

async function started(store: FileStore, scene: Scene): Promise<void> {
  await store.jobs.start({
    id: ID,
    agent: "reports",
    schedule: "hourly",
    trigger: "interval",
    started_at: scene.clock.now().toISOString(),
  });
}

describe("rota logs", () => {
  it("prints a job's output unchanged", async () => {
    const scene = new Scene();
    const id = await scene.job({}, DONE, "one\n\u001b[31mtwo");
    expect(await scene.run("logs", id)).toBe(0);
    expect([scene.out, scene.err]).toEqual(["one\n\u001b[31mtwo", ""]);
  });

  it.each([
    ["the end of its id", "k3x9qa"],
    ["its agent and schedule", "reports/hourly"],
    ["its agent", "reports"],
  ])("finds a job by %s", async (_, text) => {
    const scene = new Scene();
    await scene.job({ id: ID, started_at: "2026-03-01T11:00:00Z" }, DONE, "found");
    await scene.job({ id: "job-2026-03-01-aaaaaa", started_at: "2026-03-01T10:00:00Z" }, DONE, "another");
    expect(await scene.run("logs", text)).toBe(0);
    expect(scene.out).toBe("found");
  });

  it("finds the job of an agent and schedule with slashes in their names", async () => {
    const scene = new Scene();
    await scene.job({ agent: "a/b", schedule: "c/d" }, DONE, "found");
    await scene.run("logs", "a/b/c/d");
    expect(scene.out).toBe("found");
  });

  it("prints the record and the output as JSON", async () => {
    const scene = new Scene();
    const id = await scene.job({}, DONE, "said");
    await scene.run("logs", id, "--json");
    expect(scene.json).toEqual({ job: expect.objectContaining({ id, ...DONE }) as object, output: "said" });
  });

  it("prints how a job without output ended", async () => {
    const scene = new Scene();
    const id = await scene.job({}, { status: "failed", error: "no such\nfile", duration_ms: 250 });
    expect(await scene.run("logs", id)).toBe(0);
    expect([scene.out, scene.err]).toEqual([
      "",
      `${id} has no output. ${id} failed after 250ms: no such file\n`,
    ]);
  });

  it.each([
    [3, "an unknown id", "job-2026-03-01-k3x9qb", `Did you mean "${ID}"?`],
    [3, "an unknown name", "Nobody", "`rota jobs` lists jobs"],
    [3, "a path", "../../etc/passwd", "There is no job"],
    [2, "the end of several ids", "9qa", `Name one: ${ID}, job-2026-03-01-aaa9qa`],
  ])("exits with %i for %s", async (exitCode, _, text, message) => {
    const scene = new Scene();
    await scene.job({ id: "job-2026-03-01-aaa9qa", started_at: "2026-03-01T10:00:00Z" }, DONE);
    await scene.job({ id: ID, started_at: "2026-03-01T11:00:00Z" }, DONE);
    expect(await scene.run("logs", text)).toBe(exitCode);
    expect(scene.err).toContain(message);
  });

  it("exits with 3 for an unknown id, as a process", async () => {
    const scene = new Scene();
    expect(await rota(["logs", ID], scene.cwd)).toMatchObject({ exitCode: 3, out: "" });
  });
});

/** Lets the follower poll once more, and waits until it sleeps again, because files are read in real time. */
async function look({ clock }: Scene): Promise<void> {
  await until(() => clock.sleeping > 0);
  await clock.advance(500);
  await until(() => clock.sleeping > 0);
}

/** The poll at which the follower sees the end of the job. */
async function lastLook({ clock }: Scene, following: Promise<unknown>): Promise<void> {
  const ends: unknown[] = [];
  void following.then((exitCode) => ends.push(exitCode));
  while (ends.length === 0) {
    await until(() => clock.sleeping > 0 || ends.length > 0);
    await clock.advance(500);
  }
  expect(ends).toEqual([0]);
}

describe("rota logs -f", () => {
  it("prints output as it is written, until the job has ended", async () => {
    const scene = new Scene();
    await using store = scene.store();
    await started(store, scene);
    const following = scene.run("logs", ID, "-f");
    await look(scene);
    expect(scene.out).toBe("");
    const output = await store.jobs.openOutput(ID);
    await output.write("one\n");
    await look(scene);
    expect(scene.out).toBe("one\n");
    await output.write("two\n");
    await output.close();
    await scene.clock.advance("1s");
    await store.jobs.finish(ID, { status: "failed", error: "no luck", duration_ms: 2_000 });
    await lastLook(scene, following);
    expect([scene.out, scene.err]).toEqual(["one\ntwo\n", `${ID} failed after 2s: no luck\n`]);
  });

  it("prints the whole output although its middle is cut meanwhile", async () => {
    const scene = new Scene();
    await using store = new FileStore({ stateDir: scene.stateDir, clock: scene.clock, maxOutputBytes: 200 });
    await started(store, scene);
    const output = await store.jobs.openOutput(ID);
    const following = scene.run("logs", ID, "-f");
    const lines = Array.from({ length: 60 }, (_, index) => `line ${index}\n`);
    for (const line of lines) {
      await output.write(line);
      await look(scene);
      // Once more, because the follower reads again after a cut.
      await look(scene);
    }
    await output.close();
    await store.jobs.finish(ID, DONE);
    await lastLook(scene, following);
    expect((await store.jobs.readOutput(ID))?.length).toBeLessThan(300);
    expect(scene.out).toBe(lines.join(""));
  });

  it("prints nothing twice when it reads while the output is being cut", async () => {
    const scene = new Scene();
    await using store = scene.store();
    await started(store, scene);
    const file = join(scene.stateDir, `jobs/${ID}.log`);
    const whole = `head\n${"x".repeat(50)}\n`;
    const cut = `head\n\n[40 bytes of output were cut here]\n${whole.slice(-11)}`;
    writeFileSync(file, whole);
    const following = scene.run("logs", ID, "-f");
    await look(scene);
    // The new content is written over the old, which is not truncated yet.
    writeFileSync(file, cut + whole.slice(cut.length));
    await look(scene);
    writeFileSync(file, cut);
    await look(scene);
    await store.jobs.finish(ID, DONE);
    await lastLook(scene, following);
    expect(scene.out).toBe(whole);
  });

  it("prints a line of JSON for each piece of output, and one for the end", async () => {
    const scene = new Scene();
    await using store = scene.store();
    await started(store, scene);
    const output = await store.jobs.openOutput(ID);
    const following = scene.run("logs", ID, "-f", "--json");
    const snowman = Buffer.from("☃");
    await output.write(snowman.subarray(0, 2));
    await look(scene);
    await output.write(snowman.subarray(2));
    await look(scene);
    await store.jobs.finish(ID, DONE);
    await lastLook(scene, following);
    expect(scene.lines.map((line) => JSON.parse(line) as unknown)).toEqual([
      { type: "output", job: ID, text: "☃" },
      { type: "end", job: expect.objectContaining({ id: ID, status: "completed" }) as object },
    ]);
  });

  it("exits with 1 when the job's process is gone", async () => {
    const scene = new Scene();
    await using store = scene.store();
    await started(store, scene);
    const { pid, started: startedAt, machine } = thisProcess();
    const own = `${pid}-${startedAt}-${machine}`;
    const day = join(scene.stateDir, "jobs/2026-03-01.jsonl");
    // Signed by an earlier process with the same pid.
    writeFileSync(day, readFileSync(day, "utf8").replaceAll(own, `${pid}-1-${machine}`));
    expect(signedName("x")).toContain(own);
    expect(await scene.run("logs", ID, "-f")).toBe(1);
    expect(scene.err).toContain("the process that ran it is gone");
  });

  it("ends when the reader of the output is gone", async () => {
    const scene = new Scene();
    await using store = scene.store();
    await started(store, scene);
    const following = scene.run("logs", ID, "-f");
    await look(scene);
    scene.hangUp();
    expect(await following).toBe(0);
    expect(scene.clock.sleeping).toBe(0);
  });

  it("ends without an error when its pipe is closed, as a process", async () => {
    const scene = new Scene();
    await using store = scene.store();
    await started(store, scene);
    const output = await store.jobs.openOutput(ID);
    await output.write("first\n");
    const child = spawn(process.execPath, [MAIN, "logs", ID, "-f"], {
      cwd: scene.cwd,
      stdio: ["ignore", "pipe", "pipe"],
    });
    try {
      let complaints = "";
      child.stderr.on("data", (text) => (complaints += String(text)));
      await once(child.stdout, "data");
      child.stdout.destroy();
      const ended = once(child, "exit");
      let isOver = false;
      child.on("exit", () => (isOver = true));
      // A process notices a closed pipe only when it writes.
      await until(() => {
        appendFileSync(join(scene.stateDir, `jobs/${ID}.log`), "more\n");
        return isOver;
      });
      expect(await ended).toEqual([0, null]);
      expect(complaints).toBe("");
    } finally {
      child.kill("SIGKILL");
    }
  });

  it.runIf(existsSync("/dev/full"))("exits with 1 when the output cannot be written", async () => {
    const scene = new Scene();
    await using store = scene.store();
    await started(store, scene);
    await (await store.jobs.openOutput(ID)).write("first\n");
    const full = openSync("/dev/full", "w");
    try {
      const child = spawn(process.execPath, [MAIN, "logs", ID, "-f"], {
        cwd: scene.cwd,
        stdio: ["ignore", full, "pipe"],
      });
      expect(await once(child, "exit")).toEqual([1, null]);
    } finally {
      closeSync(full);
    }
  });
});

describe("rota logs of the fleet", () => {
  it("prints the last lines of all jobs, oldest job first, with the schedule before each line", async () => {
    const scene = new Scene();
    await scene.job({ id: ID, started_at: "2026-03-01T10:00:00Z" }, DONE, "one\ntwo\n");
    await scene.job(
      { agent: "inbox", schedule: "hook", started_at: "2026-03-01T11:00:00Z" },
      DONE,
      "three\nfour",
    );
    expect(await scene.run("logs")).toBe(0);
    expect(scene.out).toBe(
      "reports/hourly | one\nreports/hourly | two\ninbox/hook | three\ninbox/hook | four\n",
    );
    await scene.run("logs", "-n", "3");
    expect(scene.out).toBe("reports/hourly | two\ninbox/hook | three\ninbox/hook | four\n");
    await scene.run("logs", "-n", "2", "--json");
    expect(scene.json).toEqual([
      { job: expect.objectContaining({ agent: "inbox" }) as object, output: "three\nfour" },
    ]);
  });

  it("says that no job has an output", async () => {
    const scene = new Scene();
    expect(await scene.run("logs")).toBe(0);
    expect([scene.out, scene.err]).toEqual(["", "No job has an output yet.\n"]);
  });

  it.each([
    ["1", "three\n"],
    ["2", "two\nthree\n"],
    ["3", "one\ntwo\nthree\n"],
    ["9", "one\ntwo\nthree\n"],
  ])("prints with -n %s only the last lines of a job", async (count, out) => {
    const scene = new Scene();
    await scene.job({}, DONE, "one\ntwo\nthree\n");
    await scene.run("logs", "reports/hourly", "-n", count);
    expect(scene.out).toBe(out);
  });

  it("goes on with all jobs that run and that start, with -f", async () => {
    const scene = new Scene();
    await using store = scene.store();
    await scene.job({ started_at: "2026-03-01T10:00:00Z" }, DONE, "before\n");
    await started(store, scene);
    const output = await store.jobs.openOutput(ID);
    await output.write("a");
    const following = scene.run("logs", "-f");
    await look(scene);
    expect(scene.out).toBe("reports/hourly | before\n");
    await output.write("b\nc");
    const next = await store.jobs.start({ agent: "inbox", schedule: "hook", trigger: "webhook" });
    const nextOutput = await store.jobs.openOutput(next.id);
    await nextOutput.write("hooked\n");
    await look(scene);
    await output.close();
    await store.jobs.finish(ID, DONE);
    await look(scene);
    expect(scene.lines).toEqual([
      "reports/hourly | before",
      "reports/hourly | ab",
      "inbox/hook | hooked",
      "reports/hourly | c",
    ]);
    expect(scene.err).toContain(`inbox/hook: ${next.id} started.\n${ID} completed after 3s\n`);
    scene.hangUp();
    await scene.clock.advance(500);
    expect(await following).toBe(0);
    await nextOutput.close();
  });

  it("follows a schedule from its latest job to the next ones, with -f", async () => {
    const scene = new Scene();
    await using store = scene.store();
    await scene.job({ started_at: "2026-03-01T10:00:00Z" }, DONE, "older\n");
    await scene.job({ started_at: "2026-03-01T11:00:00Z" }, DONE, "one\ntwo\n");
    const following = scene.run("logs", "reports/hourly", "-f", "-n", "1");
    await look(scene);
    expect(scene.out).toBe("two\n");
    await started(store, scene);
    const output = await store.jobs.openOutput(ID);
    await output.write("three\n");
    await output.close();
    await store.jobs.finish(ID, DONE);
    await look(scene);
    expect(scene.out).toBe("two\nthree\n");
    expect(scene.err).toContain(`reports/hourly: ${ID} started.\n${ID} completed after 3s\n`);
    scene.hangUp();
    await scene.clock.advance(500);
    expect(await following).toBe(0);
  });

  it("waits for the first job of a schedule, with -f, and rejects an unknown one", async () => {
    const scene = new Scene();
    await using store = scene.store();
    expect(await scene.run("logs", "reports/hurly", "-f")).toBe(3);
    const following = scene.run("logs", "reports/hourly", "-f");
    await look(scene);
    await started(store, scene);
    const output = await store.jobs.openOutput(ID);
    await output.write("first\n");
    await look(scene);
    expect(scene.out).toBe("first\n");
    await output.close();
    scene.hangUp();
    await scene.clock.advance(500);
    expect(await following).toBe(0);
  });
});
