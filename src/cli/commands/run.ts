/** `rota run`: the scheduler in the foreground, until a signal stops it. */
import type { Command } from "../command.js";
import { processHost, type RunHost } from "../run/host.js";
import { RUN_OPTIONS } from "../run/run-options.js";

/** Tests pass their own host. */
export function runCommandOn(host: RunHost): Command {
  return {
    name: "run",
    summary: "Run the fleet in the foreground until a signal stops it.",
    details: [
      "On a terminal it shows a live view. Otherwise, and with --no-live, it prints a line on stdout for each job " +
        "that starts or ends. Messages about the run itself go to stderr.",
      "With --database-url, ROTA_DATABASE_URL in the environment, or `database` in the configuration, the state is in PostgreSQL, and any number of " +
        "schedulers may share it, on any number of machines: each slot runs once, and capacities hold across all of " +
        "them. Missing tables are created. The package pg must be installed beside Rota.",
      "SIGINT and SIGTERM stop it: no new job starts, and running jobs may end. Jobs that take longer than " +
        "--stop-timeout are cancelled. A second signal exits immediately. SIGHUP, or a changed file, reloads the " +
        "configuration; an invalid one is reported, and the previous one stays in use.",
      "The exit code is 0 after a clean stop, 1 when jobs were cancelled or another scheduler owns the state, 2 for " +
        "an invalid configuration, and 130 or 143 after a second SIGINT or SIGTERM.",
      "--json prints a line of JSON for each notice. Each has time and event, and a notice about a schedule has agent " +
        "and schedule: job:started and job:finished have job, the record as in `rota jobs --json`; " +
        "schedule:planned has next_run_at and source; schedule:skipped has reason, slot, " +
        "last_slot and count (null for a slot that only waits); schedule:missed has slot, last_slot, count, late_ms " +
        "and grace_ms; schedule:abandoned has slot and attempts; scheduler:started has pid; scheduler:stopping has " +
        "reason, timeout_ms and jobs; " +
        "scheduler:stopped has running_job_count; scheduler:error has error and code; config:reloaded has agents, " +
        "schedules and options; config:refused has problems.",
    ],
    options: RUN_OPTIONS,
    examples: [
      { command: "rota run", comment: "the fleet of the nearest rota.yaml" },
      { command: "rota run --agent reports,inbox --no-live", comment: "two of its agents, as lines" },
      { command: "rota run --json > events.ndjson", comment: "notices for a program" },
      {
        command: "rota run --database-url postgres://rota@db/app --node-name api-1",
        comment: "as one of several nodes",
      },
    ],
    run: async (call) => {
      // Imported on demand: the other commands need no scheduler.
      const { startRun } = await import("../run/start-run.js");
      return startRun(call, host);
    },
  };
}

export const runCommand: Command = runCommandOn(processHost);
