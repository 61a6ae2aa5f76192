/** Parses a configuration from a text, and reads the files that it names. */
import { dirname, relative, resolve } from "node:path";
import { assemble } from "./assemble.js";
import type { Config } from "./config.js";
import type { Environment } from "./yaml/interpolate.js";
import { readTextSync } from "./read-file.js";
import { type ConfigDocument, readYaml } from "./yaml/read-yaml.js";
import type { HostKeys } from "../scheduler/definition/host-keys.js";
import { SourceText } from "./yaml/source-text.js";

export interface ConfigOptions extends HostKeys {
  /** The values of `${NAME}`. @default process.env */
  readonly env?: Environment | undefined;
}

export interface ParseOptions extends ConfigOptions {
  /**
   * The file that the text was read from. Messages show it, and relative paths start from its directory.
   * @default no file, and the current directory
   */
  readonly file?: string | undefined;
}

/** Throws ConfigError with all problems of the text and of the files that it names. */
export function parseConfig(text: string, options: ParseOptions = {}): Config {
  const { file, env = process.env } = options;
  const path = file === undefined ? undefined : resolve(file);
  const source = new SourceText(withoutByteOrderMark(text), {
    file,
    directory: dirname(path ?? resolve("x")),
  });
  const known = new Map<string, ConfigDocument | string>();
  const lookUp = (named: string): ConfigDocument | string => {
    const before = known.get(named);
    if (before !== undefined) return before;
    const read = readTextSync(named);
    const document = "problem" in read ? read.problem : documentOf(read.text, named, { root: file, env });
    known.set(named, document);
    return document;
  };
  return assemble(readYaml(source, env), { host: options, lookUp, path });
}

function withoutByteOrderMark(text: string): string {
  return text.startsWith("\ufeff") ? text.slice(1) : text;
}

/** The document of a file that the configuration names. Messages show its path from the directory of `root`. */
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
