import { describe, expect, it } from "vitest";
import { FileStore, MemoryStore, type Job, Scheduler, SchedulerError } from "../../src/index.js";
import { stateDirectory } from "../state/temporary-directory.js";
import { every, keepingLogger } from "./scene.js";

const run = ({ log }: Job): string => {
  log("a line");
  return "done";
};

describe("scheduler.jobs", () => {
  it.each([
    ["a MemoryStore", () => new MemoryStore()],
    ["a FileStore", () => new FileStore({ stateDir: stateDirectory() })],
  ])("lists and reads jobs and their output on %s, also after stop", async (_, makeStore) => {
    const scheduler = new Scheduler({ store: makeStore(), logger: keepingLogger().logger });
    expect(await scheduler.jobs.list()).toEqual([]);
    const ended = new Promise<string>((resolve) => {
      scheduler.on("job:finished", ({ job }) => resolve(job.id));
    });
    await scheduler.start([{ name: "reader", schedules: { hourly: every("1h") }, run }]);
    const id = await ended;
    const [job] = await scheduler.jobs.list({ agent: "reader" });
    expect(job).toMatchObject({ id, agent: "reader", schedule: "hourly", summary: "done" });
    await scheduler.stop();
    expect(await scheduler.jobs.get(id)).toEqual(job);
    expect(await scheduler.jobs.readOutput(id)).toBe("a line\n");
    expect(await scheduler.jobs.list({ agent: "writer" })).toEqual([]);
  });
});

describe("a SchedulerError", () => {
  it("needs a message only", () => {
    const error = new SchedulerError("m");
    expect(error).toMatchObject({ message: "m", name: "SchedulerError", code: "SCHEDULER_ERROR" });
    expect(error).not.toHaveProperty("cause");
  });

  it("takes a cause in place of options", () => {
    const cause = new Error("why");
    expect(new SchedulerError("m", cause)).toMatchObject({ cause, code: "SCHEDULER_ERROR" });
  });
});
