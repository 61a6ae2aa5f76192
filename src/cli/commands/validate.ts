/** `rota validate`: all problems of a configuration, or one line that sums it up. */
import { resolve } from "node:path";
import type { Config } from "../../config/config.js";
import { ConfigError } from "../../scheduler/definition/errors.js";
import type { Argument, Call, Command } from "../command.js";
import { counted } from "../format/counted.js";
import { EXIT, type ExitCode } from "../exit-codes.js";
import { CONFIG_NAME, findConfig, noConfigError, readConfig, RUNNERS } from "../location/locate.js";
import { configuredAddress } from "../location/named-database.js";
import { shownPath } from "../format/shown-path.js";

const FILE: Argument = {
  name: "file",
  isRequired: false,
  summary: `The configuration. Default: the file of --config, or the nearest ${CONFIG_NAME}.`,
  completion: "file",
};

export const validateCommand: Command = {
  name: "validate",
  summary: "Check a configuration, and report all of its problems.",
  arguments: [FILE],
  examples: [
    { command: "rota validate", comment: `the nearest ${CONFIG_NAME}` },
    {
      command: "rota validate fleet.yaml --json",
      comment: "its problems with file, line and column, for a program",
    },
  ],
  run: validate,
};

async function validate(call: Call): Promise<ExitCode> {
  const { args, context, isJson, output } = call;
  const file = args[0] === undefined ? await findConfig(call) : resolve(context.cwd, args[0]);
  if (file === undefined) throw noConfigError(context.cwd);
  try {
    const config = await readConfig(file, context, { runners: RUNNERS });
    if (isJson)
      output.json({
        valid: true,
        file,
        ...tally(config),
        state_dir: config.stateDir,
        database: configuredAddress(call, config)?.name ?? null,
        problems: [],
      });
    else output.line(`${shownPath(file)} is valid: ${formatTally(tally(config))}.`);
    return EXIT.ok;
  } catch (error) {
    if (!isJson || !(error instanceof ConfigError)) throw error;
    output.json({ valid: false, file, problems: error.problems });
    return EXIT.usage;
  }
}

interface Tally {
  readonly agents: number;
  readonly schedules: number;
  readonly switched_off: number;
}

function tally({ agents, disabled }: Config): Tally {
  const schedules = agents.reduce((sum, agent) => sum + Object.keys(agent.schedules ?? {}).length, 0);
  return { agents: agents.length, schedules, switched_off: disabled.length };
}

function formatTally({ agents, schedules, switched_off }: Tally): string {
  const parts = [counted(agents, "agent"), counted(schedules, "schedule")];
  return [...parts, ...(switched_off === 0 ? [] : [`${switched_off} switched off`])].join(", ");
}
