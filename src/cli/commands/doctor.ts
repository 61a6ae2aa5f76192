/** `rota doctor`: checks everything that Rota depends on, and reports problems. */
import { ConfigError } from "../../scheduler/definition/errors.js";
import type { Call, Command } from "../command.js";
import { counted } from "../format/counted.js";
import { checkClock, checkProcesses, checkZones, judgeNode } from "../doctor/environment.js";
import { failure, fine, type Finding, warning } from "../doctor/finding.js";
import { checkPrograms } from "../doctor/programs.js";
import { CliError } from "../errors.js";
import { EXIT, type ExitCode } from "../exit-codes.js";
import { locate, namedLocation } from "../location/locate.js";
import type { StateLocation } from "../location/state-location.js";
import { shownPath } from "../format/shown-path.js";
import { oneLine } from "../format/text-width.js";

export const doctorCommand: Command = {
  name: "doctor",
  summary:
    "Check what Rota depends on: configuration, programs, state directory or database, locks, disk, zones, clock, Node.",
  details: [
    "Changes nothing. The exit code is 1 when a problem keeps Rota from working: also when a program of a command does not " +
      "exist, and when a scheduler is gone that was not stopped.",
  ],
  examples: [
    { command: "rota doctor", comment: "is everything in order here?" },
    {
      command: "rota doctor --state-dir /var/lib/rota --json",
      comment: "a given state directory, for a program",
    },
  ],
  run: doctor,
};

const MARKS = { ok: "✓", warning: "!", failure: "✗" } as const;
const STYLES = { ok: "green", warning: "yellow", failure: "red" } as const;
const ABOUT_WIDTH = 17;

async function doctor(call: Call): Promise<ExitCode> {
  const { context, isJson, output } = call;
  const findings: Finding[] = [
    judgeNode(process.versions.node),
    checkZones(),
    await checkClock(context.clock),
    checkProcesses(),
  ];
  const location = await locationOf(call, findings);
  if (location !== undefined) findings.push(...(await location.check(context.clock)));
  if (isJson) output.json(findings);
  else
    for (const { about, message, verdict } of findings)
      output.line(
        `${output.paint(STYLES[verdict], MARKS[verdict])} ${about.padEnd(ABOUT_WIDTH)}${oneLine(message)}`,
      );
  return findings.some(({ verdict }) => verdict === "failure") ? EXIT.failure : EXIT.ok;
}

/** Checks the configuration, and returns the state's location, if the call names it or a valid configuration does. */
async function locationOf(call: Call, findings: Finding[]): Promise<StateLocation | undefined> {
  const about = "configuration";
  try {
    await namedLocation(call);
  } catch (error) {
    if (!(error instanceof CliError)) throw error;
    findings.push(failure("database", error.message));
    return undefined;
  }
  try {
    const { config, location } = await locate(call);
    findings.push(
      config === undefined
        ? fine(about, "none, the state alone")
        : fine(about, `${shownPath(config.files[0] ?? "")}: ${counted(config.agents.length, "agent")}`),
      ...(config === undefined ? [] : await checkPrograms(config.agents, call.context)),
    );
    return location;
  } catch (error) {
    if (error instanceof ConfigError) {
      const { length } = error.problems;
      findings.push(failure(about, `${counted(length, "problem")}: see \`rota validate\``));
      return namedLocation(call);
    }
    if (!(error instanceof CliError)) throw error;
    const judge = error.code === "NOT_FOUND" ? failure : warning;
    findings.push(judge(about, error.message));
    return undefined;
  }
}
