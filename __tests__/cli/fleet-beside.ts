/** A scheduler that runs on a terminal's state directory while a command is called, and time that passes for both. */
import { expect, onTestFinished, vi } from "vitest";
import type { ExitCode } from "../../src/cli/exit-codes.js";
import { type Agent, FileStore, type JobRecord, Scheduler } from "../../src/index.js";
import type { Scene } from "./scene.js";

export interface Beside {
  readonly scheduler: Scheduler;
  readonly started: JobRecord[];
  readonly ended: JobRecord[];
  /** Starts a job, and answers its id when the log has it. */
  readonly start: () => Promise<string>;
  /** Runs a command to its end while time passes. */
  readonly call: (...args: string[]) => Promise<ExitCode>;
}

export async function beside(scene: Scene, run: NonNullable<Agent["run"]>): Promise<Beside> {
  const { clock, stateDir } = scene;
  const logger = { info: () => {}, warn: () => {}, error: () => {} };
  const scheduler = new Scheduler({ store: new FileStore({ stateDir }), clock, logger });
  const [started, ended]: JobRecord[][] = [[], []];
  scheduler.on("job:started", ({ job }) => void started?.push(job));
  scheduler.on("job:finished", ({ job }) => void ended?.push(job));
  const hook = { type: "webhook" } as const;
  await scheduler.start([{ name: "inbox", schedules: { hook }, run }]);
  onTestFinished(() => scheduler.stop({ waitForJobs: false }));
  const call = async (...args: string[]): Promise<ExitCode> => {
    const race = { isOver: false };
    const calling = scene.run(...args).finally(() => {
      race.isOver = true;
    });
    while (!race.isOver) {
      // The loop, the command and a job that runs: none waits for the disk.
      const areAsleep = (): boolean => clock.sleeping >= 2 + scheduler.getTotalRunningJobCount();
      await vi.waitFor(() => expect(race.isOver || areAsleep()).toBe(true), { timeout: 20_000 });
      await clock.advance(100);
    }
    return calling;
  };
  const start = async (): Promise<string> => {
    const { jobId = "" } = await scheduler.trigger("inbox");
    await using store = new FileStore({ stateDir });
    await vi.waitFor(async () => expect(await store.jobs.get(jobId)).toBeDefined());
    return jobId;
  };
  return { start, scheduler, started: started ?? [], ended: ended ?? [], call };
}
