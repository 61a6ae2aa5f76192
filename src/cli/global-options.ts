/** The options that every command has. */
import { flag, type Option, textOption } from "./command.js";

export const CONFIG: Option<string | undefined> = textOption("config", "file", {
  short: "c",
  summary: "The configuration. Default: rota.yaml in this directory or the nearest one above.",
  completion: "file",
});

export const STATE_DIR: Option<string | undefined> = textOption("state-dir", "directory", {
  summary: "The directory with the state. Default: state_dir of the configuration.",
  completion: "directory",
});

export const DATABASE_URL: Option<string | undefined> = textOption("database-url", "url", {
  summary:
    "The PostgreSQL database with the state, postgres://user:password@host/database, instead of a directory. " +
    "Default: ROTA_DATABASE_URL of the environment, then `database` of the configuration, unless --state-dir is given.",
});

export const DATABASE_SCHEMA: Option<string | undefined> = textOption("database-schema", "name", {
  summary: "The schema in that database. Default: database_schema of the configuration, or rota.",
});

export const JSON_OUTPUT: Option<boolean> = flag("json", {
  summary: "Print JSON: one document, or one line per item for continuous output.",
});

export const NO_COLOR: Option<boolean> = flag("no-color", {
  summary: "Print without colours. The variables NO_COLOR and FORCE_COLOR work too.",
});

export const DEBUG: Option<boolean> = flag("debug", { summary: "Print the stack trace of an error." });

export const GLOBAL_OPTIONS: readonly Option[] = [
  CONFIG,
  STATE_DIR,
  DATABASE_URL,
  DATABASE_SCHEMA,
  JSON_OUTPUT,
  NO_COLOR,
  DEBUG,
];
