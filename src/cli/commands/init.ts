/** `rota init`: writes a configuration to begin with. Never over one that is there, unless asked to. */
import { mkdir, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { messageOf, quote } from "../../errors.js";
import { unless } from "../../state/file/disk.js";
import { type Argument, type Call, type Command, flag } from "../command.js";
import { refusedError } from "../errors.js";
import { EXIT, type ExitCode } from "../exit-codes.js";
import { CONFIG_NAME } from "../location/locate.js";
import { shownPath } from "../format/shown-path.js";
import { SAMPLE_CONFIG } from "../sample-config.js";

const DIRECTORY: Argument = {
  name: "directory",
  isRequired: false,
  summary: "Where to write it; made if it is missing. Default: here.",
  completion: "directory",
};
const FORCE = flag("force", { short: "f", summary: `Write over a ${CONFIG_NAME} that is there.` });

export const initCommand: Command = {
  name: "init",
  summary: `Write a commented ${CONFIG_NAME} that runs as it is.`,
  arguments: [DIRECTORY],
  options: [FORCE],
  examples: [
    { command: "rota init", says: "here" },
    { command: "rota init fleet && cd fleet && rota run", says: "in a directory of its own, and see it run" },
  ],
  run: init,
};

async function init({ args, context, isJson, option, output }: Call): Promise<ExitCode> {
  const directory = resolve(context.cwd, args[0] ?? ".");
  const file = join(directory, CONFIG_NAME);
  await attempt(file, mkdir(directory, { recursive: true }));
  // Refused by the disk itself, so that nobody's file is lost between a look and a write.
  const isWritten = await attempt(file, unless(["EEXIST"], write(file, option(FORCE) ? "w" : "wx")));
  if (isWritten === undefined)
    throw refusedError(
      `There is a ${shownPath(file)} already: edit it, name another directory, or write over it with --${FORCE.name}`,
    );
  if (isJson) output.json({ file });
  else {
    output.line(file);
    output.talk("Written. `rota validate` checks it, `rota run` runs it.");
  }
  return EXIT.ok;
}

async function write(file: string, how: "w" | "wx"): Promise<true> {
  await writeFile(file, SAMPLE_CONFIG, { flag: how });
  return true;
}

async function attempt<Result>(file: string, doing: Promise<Result>): Promise<Result> {
  try {
    return await doing;
  } catch (error) {
    throw refusedError(`Could not write ${quote(file)}: ${messageOf(error)}`);
  }
}
