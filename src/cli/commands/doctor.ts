/** `rota doctor`: looks at everything that Rota depends on, and says what is wrong with it. */
import { ConfigError } from "../../scheduler/definition/errors.js";
import type { Call, Command } from "../command.js";
import { counted } from "../format/counted.js";
import { checkClock, checkZones, judgeNode } from "../doctor/environment.js";
import { failure, fine, type Finding, warning } from "../doctor/finding.js";
import { CliError } from "../errors.js";
import { EXIT, type ExitCode } from "../exit-codes.js";
import { locate, locateState, namedPlace } from "../location/locate.js";
import type { Place } from "../location/state-location.js";
import { shownPath } from "../format/shown-path.js";
import { oneLine } from "../format/text-width.js";

export const doctorCommand: Command = {
  name: "doctor",
  summary:
    "Check what Rota depends on: configuration, state directory or database, locks, disk, zones, clock, Node.",
  details: ["Looks, and changes nothing. Exit code 1 when something keeps Rota from working."],
  examples: [
    { command: "rota doctor", says: "is everything in order here?" },
    { command: "rota doctor --state-dir /var/lib/rota --json", says: "and there, for a program" },
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
  ];
  const place = await placeOf(call, findings);
  if (place !== undefined) findings.push(...(await place.examine(context.clock)));
  if (isJson) output.json(findings);
  else
    for (const { about, message, verdict } of findings)
      output.line(
        `${output.paint(STYLES[verdict], MARKS[verdict])} ${about.padEnd(ABOUT_WIDTH)}${oneLine(message)}`,
      );
  return findings.some(({ verdict }) => verdict === "failure") ? EXIT.failure : EXIT.ok;
}

/** Where the state is, and what there is to say of the configuration; a wrong one hides only where it says that is. */
async function placeOf(call: Call, findings: Finding[]): Promise<Place | undefined> {
  const about = "configuration";
  try {
    await namedPlace(call);
  } catch (error) {
    if (!(error instanceof CliError)) throw error;
    findings.push(failure("database", error.message));
    return undefined;
  }
  try {
    const { config, place } = await locate(call);
    findings.push(
      config === undefined
        ? fine(about, "none, only a state")
        : fine(about, `${shownPath(config.files[0] ?? "")}: ${counted(config.agents.length, "agent")}`),
    );
    return place;
  } catch (error) {
    if (error instanceof ConfigError) {
      const count = error.problems.length === 1 ? "a problem" : `${error.problems.length} problems`;
      findings.push(failure(about, `it has ${count}: \`rota validate\` shows them`));
      return stateOnly(call);
    }
    if (!(error instanceof CliError)) throw error;
    const judge = error.code === "NOT_FOUND" ? failure : warning;
    findings.push(judge(about, error.message));
    return undefined;
  }
}

async function stateOnly(call: Call): Promise<Place | undefined> {
  try {
    return await locateState(call);
  } catch {
    return undefined;
  }
}
