import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { ConfigError } from "../../src/scheduler/definition/errors.js";
import { loadConfig } from "../../src/config/load-config.js";
import type { ConfigOptions } from "../../src/config/parse-config.js";
import { stateDirectory } from "../state/temporary-directory.js";

/** A directory with the files, which is removed at the end of the test. */
export function directoryWith(files: Readonly<Record<string, string>>): string {
  const directory = stateDirectory();
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(directory, name)), { recursive: true });
    writeFileSync(join(directory, name), text);
  }
  return directory;
}

/** The error that a file throws. */
export async function loadRefusal(file: string, options: ConfigOptions = {}): Promise<ConfigError> {
  const refusal: unknown = await loadConfig(file, { env: {}, ...options }).catch((error: unknown) => error);
  if (refusal instanceof ConfigError) return refusal;
  throw new Error("The file was not refused with a ConfigError.", { cause: refusal });
}
