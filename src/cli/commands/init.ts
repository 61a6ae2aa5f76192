/** `rota init`: writes a first configuration. Overwrites an existing file only with --force. */
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
  summary: "Where to write it; created if it is missing. Default: the current directory.",
  completion: "directory",
};
const FORCE = flag("force", { short: "f", summary: `Overwrite an existing ${CONFIG_NAME}.` });

export const initCommand: Command = {
  name: "init",
  summary: `Write a commented ${CONFIG_NAME} that runs as it is.`,
  arguments: [DIRECTORY],
  options: [FORCE],
  examples: [
    { command: "rota init", comment: "in the current directory" },
    { command: "rota init fleet && cd fleet && rota run", comment: "in a new directory, and run it" },
  ],
  run: init,
};

async function init({ args, context, isJson, option, output }: Call): Promise<ExitCode> {
  const directory = resolve(context.cwd, args[0] ?? ".");
  const file = join(directory, CONFIG_NAME);
  await attempt(file, mkdir(directory, { recursive: true }));
  // The flag "wx" makes the system refuse an existing file, so that no file is lost between a check and the write.
  const isWritten = await attempt(file, unless(["EEXIST"], write(file, option(FORCE) ? "w" : "wx")));
  if (isWritten === undefined)
    throw refusedError(
      `${shownPath(file)} already exists: edit it, choose a different directory, or overwrite it with --${FORCE.name}`,
    );
  if (isJson) output.json({ file });
  else {
    output.line(file);
    output.message("Written. `rota validate` checks it, `rota run` runs it.");
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
