/** A fleet for tests of commands: a configuration, states, and jobs with their output. */
import { systemClock } from "../../src/clock.js";
import { FileStore } from "../../src/state/file/file-store.js";
import type { JobOutcomeRecord, NewJob } from "../../src/state/job-log/job-log.js";
import type { ScheduleStatePatch } from "../../src/state/schedule-state.js";
import { updateScheduleState } from "../../src/state/file/state-functions.js";
import { recordJob } from "./record-job.js";
import { Terminal, type TerminalOptions } from "./terminal.js";

export const FLEET = `
version: 1
agents:
  - name: reports
    runtime: command
    command: [node, --version]
    schedules:
      nightly: { type: cron, expression: "30 2 * * *", timezone: Europe/Berlin }
      hourly: { type: interval, interval: 1h }
      old: { type: interval, interval: 1d, enabled: false }
  - name: inbox
    runtime: command
    command: [node, --version]
    schedules:
      hook: { type: webhook }
`;

export class Scene extends Terminal {
  constructor(options: TerminalOptions = {}) {
    super(options);
    this.write(FLEET);
  }

  async state(name: string, patch: ScheduleStatePatch): Promise<void> {
    const [agent = "", schedule = ""] = name.split("/");
    await updateScheduleState(this.stateDir, agent, schedule, patch);
  }

  /** A store as a scheduler uses it; the caller disposes of it. */
  store(): FileStore {
    return new FileStore({ stateDir: this.stateDir, clock: this.clock });
  }

  /** A job with its end, where it has one, and its output. */
  async job(job: Partial<NewJob>, end?: JobOutcomeRecord, output?: string): Promise<string> {
    await using store = this.store();
    return await recordJob(store, job, end, output);
  }

  /** Owns the state directory as a scheduler does, until it is disposed of. */
  async owned(): Promise<FileStore> {
    const store = new FileStore({ stateDir: this.stateDir, clock: systemClock });
    await store.open();
    return store;
  }
}
