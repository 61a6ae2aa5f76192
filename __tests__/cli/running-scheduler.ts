/** A running scheduler beside a terminal's commands, on the same fake clock. */
import { setTimeout } from "node:timers/promises";
import { expect, onTestFinished, vi } from "vitest";
import type { ExitCode } from "../../src/cli/exit-codes.js";
import { type Agent, type JobRecord, Scheduler, type StateStore } from "../../src/index.js";
import type { Terminal } from "./terminal.js";

export interface RunningScheduler {
  readonly scheduler: Scheduler;
  readonly started: JobRecord[];
  readonly ended: JobRecord[];
  /** Starts a job, and returns its id when the log has it. */
  readonly start: () => Promise<string>;
  /** Runs a command to its end while time passes. */
  readonly call: (...args: string[]) => Promise<ExitCode>;
}

/** A terminal, and the store that its commands use. */
export interface SharedScene extends Terminal {
  store(): StateStore;
}

/** `others`: how many more schedulers run on the same clock. */
export async function startScheduler(
  scene: SharedScene,
  run: NonNullable<Agent["run"]>,
  others = 0,
): Promise<RunningScheduler> {
  const { clock } = scene;
  const logger = { info: () => {}, warn: () => {}, error: () => {} };
  const store = scene.store();
  const scheduler = new Scheduler({ store, clock, logger });
  const [started, ended]: JobRecord[][] = [[], []];
  scheduler.on("job:started", ({ job }) => void started?.push(job));
  scheduler.on("job:finished", ({ job }) => void ended?.push(job));
  const hook = { type: "webhook" } as const;
  await scheduler.start([{ name: "inbox", schedules: { hook }, run }]);
  onTestFinished(async () => {
    await scheduler.stop({ waitForJobs: false });
    // A job that still sleeps on the clock keeps the scheduler from closing it.
    await store.close();
  });
  const call = async (...args: string[]): Promise<ExitCode> => {
    const race = { isOver: false };
    const calling = scene.run(...args).finally(() => {
      race.isOver = true;
    });
    while (!race.isOver) {
      // The loops, the command and the running jobs all sleep, so none of them waits for the disk.
      const areAsleep = (): boolean => clock.sleeping >= 2 + others + scheduler.getTotalRunningJobCount();
      await vi.waitFor(() => expect(race.isOver || areAsleep()).toBe(true), { timeout: 20_000 });
      // A request waits for the disk while its caller sleeps: ten real milliseconds are a tenth of a second of the clock.
      await setTimeout(10);
      await clock.advance(100);
    }
    return calling;
  };
  const start = async (): Promise<string> => {
    const { jobId = "" } = await scheduler.trigger("inbox");
    await using guest = scene.store();
    await vi.waitFor(async () => expect(await guest.jobs.get(jobId)).toBeDefined());
    return jobId;
  };
  return { start, scheduler, started: started ?? [], ended: ended ?? [], call };
}
