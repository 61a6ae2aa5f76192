/** Makes a configuration of a text that somebody has read. */
import { dirname, relative, resolve } from "node:path";
import { assemble } from "./assemble.js";
import type { Config } from "./config.js";
import type { Environment } from "./yaml/interpolate.js";
import { readTextSync } from "./read-file.js";
import { type ConfigDocument, readYaml } from "./yaml/read-yaml.js";
import type { HostKeys } from "../scheduler/definition/schema/agent-schema.js";
import { SourceText } from "./yaml/source-text.js";

export interface ConfigOptions extends HostKeys {
  /** Where `${NAME}` is looked up. @default process.env */
  readonly env?: Environment | undefined;
}

export interface ParseOptions extends ConfigOptions {
  /**
   * The file the text was read from: shown in messages, and what relative paths are relative to.
   * @default none, and the current directory
   */
  readonly file?: string | undefined;
}

/** The configuration in a text, with the files that it names; throws ConfigError with everything that is wrong. */
export function parseConfig(text: string, options: ParseOptions = {}): Config {
  const { file, env = process.env } = options;
  const path = file === undefined ? undefined : resolve(file);
  const source = new SourceText(withoutMark(text), { file, directory: dirname(path ?? resolve("x")) });
  const known = new Map<string, ConfigDocument | string>();
  const lookUp = (other: string): ConfigDocument | string => {
    const before = known.get(other);
    if (before !== undefined) return before;
    const read = readTextSync(other);
    const document = "problem" in read ? read.problem : documentOf(read.text, other, { root: file, env });
    known.set(other, document);
    return document;
  };
  return assemble(readYaml(source, env), { host: options, lookUp, path });
}

function withoutMark(text: string): string {
  return text.startsWith("\ufeff") ? text.slice(1) : text;
}

/** The document of another file, which is shown by its path from the first one's directory. */
export function documentOf(
  text: string,
  path: string,
  { root, env }: { readonly root: string | undefined; readonly env: Environment },
): ConfigDocument {
  return readYaml(new SourceText(text, { file: shownPath(path, root), directory: dirname(path) }), env);
}

function shownPath(path: string, root: string | undefined): string {
  const from = dirname(resolve(root ?? "x"));
  const way = relative(from, path);
  const shownRoot = dirname(root ?? "x");
  return way.startsWith("..") ? path : shownRoot === "." ? way : `${shownRoot}/${way}`;
}
