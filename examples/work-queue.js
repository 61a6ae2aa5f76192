/**
 * A folder of work and an agent that is a command: three files wait in `ready/`, the most urgent is taken first, and each
 * ends up in `done/` or `failed/` with what came of it.
 */
import { mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Scheduler } from "rota";

const folder = await mkdtemp(join(tmpdir(), "rota-example-"));
const path = join(folder, "inbox");
await mkdir(join(path, "ready"), { recursive: true });
const work = {
  "typo.md": "---\npriority: low\n---\n# Mend a typo\n",
  "login.md": "---\npriority: critical\n---\n# Fix the login\n\nNobody can log in.\n",
  "riddle.md": "# Solve the riddle\n",
};
for (const [name, text] of Object.entries(work)) await writeFile(join(path, "ready", name), text);

/** What an agent would be: it reads its prompt, and says in its last line what it did. */
const program = `
  const { text } = await import("node:stream/consumers");
  const title = /^# (.*)$/m.exec(await text(process.stdin))[1];
  if (title.includes("riddle")) throw new Error("too hard");
  console.log("did: " + title);
`;
const worker = {
  name: "worker",
  runtime: { type: "command", command: [process.execPath, "--input-type=module", "--eval", program] },
  schedules: {
    inbox: {
      type: "interval",
      interval: "1s",
      on_failure: "continue",
      work_source: { type: "directory", path },
    },
  },
};

const logger = { info() {}, warn: console.warn, error: console.error };
const scheduler = new Scheduler({ stateDir: join(folder, "state"), logger });
const isEmpty = new Promise((resolve) => {
  scheduler.on("schedule:skipped", ({ reason }) => reason === "no_work" && resolve());
});
scheduler.on("job:finished", ({ job }) => {
  if (job.work_item !== null)
    console.log(`${job.work_item.title}: ${job.status}, ${job.summary ?? job.error}`);
});
await scheduler.start([worker]);
await isEmpty;
await scheduler.stop();
for (const place of ["ready", "done", "failed"])
  console.log(`${place}/`, (await readdir(join(path, place))).toSorted().join(" "));
await rm(folder, { recursive: true });
