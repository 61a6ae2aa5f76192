/** All commands, in the order of the help. */
import type { Command } from "./command.js";
import { backfillCommand } from "./commands/backfill.js";
import { cancelCommand } from "./commands/cancel.js";
import { completionCommand } from "./commands/completion.js";
import { describeCommand } from "./commands/describe.js";
import { doctorCommand } from "./commands/doctor.js";
import { disableCommand, enableCommand } from "./commands/enable.js";
import { forgetCommand } from "./commands/forget.js";
import { hintCommand } from "./commands/hint.js";
import { initCommand } from "./commands/init.js";
import { jobsCommand } from "./commands/jobs.js";
import { listCommand } from "./commands/list.js";
import { logsCommand } from "./commands/logs.js";
import { migrateCommand } from "./commands/migrate.js";
import { nextCommand } from "./commands/next.js";
import { nodesCommand } from "./commands/nodes.js";
import { pauseCommand, resumeCommand } from "./commands/pause.js";
import { runCommand } from "./commands/run.js";
import { statusCommand } from "./commands/status.js";
import { stopCommand } from "./commands/stop.js";
import { triggerCommand } from "./commands/trigger.js";
import { validateCommand } from "./commands/validate.js";
import { whyCommand } from "./commands/why.js";

export const COMMANDS: readonly Command[] = [
  initCommand,
  validateCommand,
  runCommand,
  stopCommand,
  statusCommand,
  listCommand,
  describeCommand,
  whyCommand,
  nextCommand,
  jobsCommand,
  logsCommand,
  triggerCommand,
  cancelCommand,
  pauseCommand,
  resumeCommand,
  enableCommand,
  disableCommand,
  hintCommand,
  forgetCommand,
  backfillCommand,
  nodesCommand,
  migrateCommand,
  doctorCommand,
  completionCommand,
];
