/** Reads a configuration from its file and from the files that it names. */
import { dirname, resolve } from "node:path";
import { filesNamedBy } from "./agent-files.js";
import { assemble } from "./assemble.js";
import type { Config } from "./config.js";
import { ConfigError } from "../scheduler/definition/errors.js";
import { type ConfigOptions, documentOf } from "./parse-config.js";
import { problemOf } from "../scheduler/definition/fault.js";
import { readText } from "./read-file.js";
import { type ConfigDocument, readYaml } from "./yaml/read-yaml.js";
import { SourceText } from "./yaml/source-text.js";

const READ_AT_ONCE = 32;

/** Rejects with ConfigError, which has all problems, or that the file cannot be read. */
export async function loadConfig(file: string, options: ConfigOptions = {}): Promise<Config> {
  const { env = process.env } = options;
  const path = resolve(file);
  const read = await readText(path);
  if ("problem" in read) throw unreadable(file, path, read.problem);
  const source = new SourceText(read.text, { file, directory: dirname(path) });
  const document = readYaml(source, env);
  const documents = new Map<string, ConfigDocument | string>([[path, document]]);
  const waiting = [...filesNamedBy(document)];
  // A few at a time, because a process may open only a limited number of files.
  while (waiting.length > 0) {
    const fresh = [...new Set(waiting.splice(0, READ_AT_ONCE))].filter((one) => !documents.has(one));
    await Promise.all(
      fresh.map(async (one) => {
        const text = await readText(one);
        const other = "problem" in text ? text.problem : documentOf(text.text, one, { root: file, env });
        documents.set(one, other);
        if (typeof other !== "string") waiting.push(...filesNamedBy(other));
      }),
    );
  }
  const lookUp = (one: string): ConfigDocument | string =>
    documents.get(one) ?? "was not found: check its path";
  return assemble(document, { host: options, lookUp, path });
}

function unreadable(file: string, path: string, problem: string): ConfigError {
  const fault = { code: "UNREADABLE_FILE", message: `The file ${file} ${problem}`, path: [] } as const;
  const position = { file, line: undefined, column: undefined, frame: undefined };
  return new ConfigError([problemOf(fault, () => undefined, position)], {
    code: "UNREADABLE_CONFIG",
    file,
    files: [path],
  });
}
