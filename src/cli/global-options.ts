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

export const JSON_OUTPUT: Option<boolean> = flag("json", {
  summary: "Print JSON: a document, or a line each where output goes on.",
});

export const NO_COLOR: Option<boolean> = flag("no-color", {
  summary: "Print without colour. NO_COLOR and FORCE_COLOR are honoured too.",
});

export const DEBUG: Option<boolean> = flag("debug", { summary: "Show where an error comes from." });

export const GLOBAL_OPTIONS: readonly Option[] = [CONFIG, STATE_DIR, JSON_OUTPUT, NO_COLOR, DEBUG];
