/** The file log in real processes: killed, side by side, and under any umask. They run the build. */
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { FileJobLog } from "../../../../src/state/file/jobs/file-job-log.js";
import { temporaryDirectory } from "../../temporary-directory.js";

const run = promisify(execFile);
const program = (name: string): string => fileURLToPath(new URL(`../../processes/${name}`, import.meta.url));

/** Runs jobs in a process of their own, kills it after so many acknowledgements, and answers all it gave. */
async function killAfter(directory: string, acknowledgements: number): Promise<string[]> {
  const child = spawn(process.execPath, [program("keep-jobs.js"), directory], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  // Its output ends a moment before it does.
  const ended = once(child, "exit");
  const given: string[] = [];
  for await (const line of createInterface({ input: child.stdout })) {
    given.push(line);
    if (given.length === acknowledgements) child.kill("SIGKILL");
  }
  await ended;
  return given;
}

describe("a process that is killed", () => {
  it("loses none of the starts and ends that it acknowledged, in 20 cycles on one directory", async () => {
    using temporary = temporaryDirectory();
    const directory = join(temporary.path, "jobs");
    const acknowledged: string[] = [];
    for (let cycle = 0; cycle < 20; cycle++) {
      acknowledged.push(...(await killAfter(directory, 1 + ((cycle * 7) % 40))));
      await using log = new FileJobLog({ directory });
      const recovered = await log.recover();
      const records = new Map((await log.list({ limit: Infinity })).map((record) => [record.id, record]));
      const missing = acknowledged.filter((line) => {
        const [what, id = ""] = line.split(" ");
        const record = records.get(id);
        return (
          record === undefined ||
          (what === "ended" && (record.status !== "completed" || record.summary !== id))
        );
      });
      expect(missing).toEqual([]);
      // Whatever was not ended is interrupted now, and the next cycle finds it so.
      expect(recovered.length).toBeLessThanOrEqual(4);
      expect([...records.values()].filter(({ status }) => status === "running")).toEqual([]);
    }
    expect(acknowledged.length).toBeGreaterThan(200);
  });
});

describe("two processes on one directory", () => {
  it("append at the same time and lose nothing", async () => {
    using temporary = temporaryDirectory();
    const directory = join(temporary.path, "jobs");
    const jobs = 300;
    const outputs = await Promise.all(
      ["a", "b"].map((agent) =>
        run(process.execPath, [program("append-jobs.js"), directory, agent, String(jobs)]),
      ),
    );
    const warnings: string[] = [];
    const warn = (message: string): unknown => warnings.push(message);
    await using log = new FileJobLog({
      directory,
      logger: { debug: () => {}, info: () => {}, warn, error: () => {} },
    });
    const records = await log.list({ limit: Infinity, status: "completed" });
    const kept = records.map(({ id, summary, agent, prompt }) => {
      expect([summary, prompt]).toEqual([id, agent.repeat(200)]);
      return id;
    });
    const byText = (a: string, b: string): number => (a < b ? -1 : 1);
    expect(kept.toSorted(byText)).toEqual(
      outputs.flatMap(({ stdout }) => stdout.split("\n")).toSorted(byText),
    );
    expect(kept).toHaveLength(2 * jobs);
    const lines = readdirSync(directory).flatMap((name) =>
      readFileSync(join(directory, name), "utf8").split("\n"),
    );
    expect(lines.filter(Boolean)).toHaveLength(4 * jobs);
    expect(warnings).toEqual([]);
  });
});

describe("a umask", () => {
  it.each(["000", "022", "077", "277", "777"])(
    "of %s leaves directories 0700 and files 0600",
    async (umask) => {
      using temporary = temporaryDirectory();
      chmodSync(temporary.path, 0o777);
      const directory = join(temporary.path, "state", "jobs");
      const { stdout } = await run(process.execPath, [program("log-under-umask.js"), directory, umask]);
      expect(JSON.parse(stdout)).toEqual({
        status: "completed",
        directories: ["700", "700"],
        files: ["600", "600"],
      });
    },
  );
});
