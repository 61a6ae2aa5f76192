/** The options that every command has. */
import { flag, type Option, textOption } from "./command.js";

export const CONFIG: Option<string | undefined> = textOption("config", "file", {
  short: "c",
  summary: "The configuration. Default: rota.yaml, here or in a directory above.",
  completion: "file",
});

export const STATE_DIR: Option<string | undefined> = textOption("state-dir", "directory", {
  summary: "Where the state is. Default: what the configuration says.",
  completion: "directory",
});

export const DATABASE_URL: Option<string | undefined> = textOption("database-url", "url", {
  summary:
    "The PostgreSQL database where the state is, postgres://user:password@host/database, in place of a directory. " +
    "Default: DATABASE_URL of the environment, unless --state-dir is given.",
});

export const DATABASE_SCHEMA: Option<string | undefined> = textOption("database-schema", "name", {
  summary: "The schema in that database. Default: rota.",
});

export const JSON_OUTPUT: Option<boolean> = flag("json", {
  summary: "Print JSON: a document, or a line each where output goes on.",
});

export const NO_COLOR: Option<boolean> = flag("no-color", {
  summary: "Print without colour. NO_COLOR and FORCE_COLOR are honoured too.",
});

export const DEBUG: Option<boolean> = flag("debug", { summary: "Show where an error comes from." });

export const GLOBAL_OPTIONS: readonly Option[] = [
  CONFIG,
  STATE_DIR,
  DATABASE_URL,
  DATABASE_SCHEMA,
  JSON_OUTPUT,
  NO_COLOR,
  DEBUG,
];
