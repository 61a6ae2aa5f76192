/** The public names of `rota/config`, a separate entry point: a program without configuration files does not load it. */
export type { Config, DatabaseConfig } from "./config.js";
export { checkAgents } from "../scheduler/definition/check-agents.js";
export {
  ConfigError,
  type ConfigErrorCode,
  type ConfigProblem,
  type ConfigProblemCode,
} from "../scheduler/definition/errors.js";
export { loadConfig } from "./load-config.js";
export { type ConfigOptions, parseConfig, type ParseOptions } from "./parse-config.js";
export type { HostKeys } from "../scheduler/definition/host-keys.js";
export type { ConfigChanges, ConfigOption, Differences } from "./watch/config-changes.js";
export { type ConfigWatch, watchConfig, type WatchOptions } from "./watch/watch-config.js";
