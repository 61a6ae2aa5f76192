/** `rota run`: the scheduler in the foreground, until a signal stops it. */
import type { Command } from "../command.js";
import { processHost, type RunHost } from "../run/host.js";
import { RUN_OPTIONS } from "../run/run-options.js";

/** A test brings its own host. */
export function runCommandOn(host: RunHost): Command {
  return {
    name: "run",
    summary: "Run the fleet in the foreground, until it is stopped.",
    details: [
      "On a terminal it shows a live view. Otherwise, and with --no-live, it prints a line on stdout for each job " +
        "that starts or ends, and on stderr what it has to say of itself.",
      "With --database-url, or DATABASE_URL in the environment, the state is in PostgreSQL, and any number of these " +
        "may run on it, on any number of machines: each slot runs once, and capacities hold over all. The tables are " +
        "made when they are missing. The package pg has to be installed beside Rota.",
      "SIGINT and SIGTERM stop it: nothing new starts, and running jobs are waited for; those that take longer than " +
        "--stop-timeout are told to end. A second one leaves at once. SIGHUP, or a changed file, reloads the " +
        "configuration; a bad one is reported, and the one before goes on.",
      "It exits with 0 after it was stopped, with 1 when jobs had to be told to end or another scheduler has the " +
        "state, with 2 for a bad configuration, and with 130 or 143 after a second SIGINT or SIGTERM.",
      "--json prints a line of JSON for each event. Each has time and event, and agent and schedule where it is " +
        "about a schedule: job:started and job:finished have job, the record as `rota jobs --json` has it; " +
        "schedule:planned has next_run_at and source; schedule:skipped has reason and slot; schedule:missed has " +
        "slot, late_ms and grace_ms; scheduler:started has pid; scheduler:stopping has reason, timeout_ms and jobs; " +
        "scheduler:stopped has running_job_count; scheduler:error has error and code; config:reloaded has agents, " +
        "schedules and options; config:refused has problems.",
    ],
    options: RUN_OPTIONS,
    examples: [
      { command: "rota run", says: "the fleet of rota.yaml, here or in a directory above" },
      { command: "rota run --agent reports,inbox --no-live", says: "two of its agents, as lines" },
      { command: "rota run --json > events.ndjson", says: "what happens, for a program" },
      {
        command: "rota run --database-url postgres://rota@db/app --node-name api-1",
        says: "one node of several",
      },
    ],
    run: async (call) => {
      // Whatever runs jobs is loaded by who runs some.
      const { runFleet } = await import("../run/start-run.js");
      return runFleet(call, host);
    },
  };
}

export const runCommand: Command = runCommandOn(processHost);
