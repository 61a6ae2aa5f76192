/** What `rota run` can be told, and what of a configuration is to be run. */
import type { Config } from "../../config/config.js";
import { durationMs } from "../../duration.js";
import { quote } from "../../errors.js";
import { type Call, flag, type Option, option, textOption } from "../command.js";
import { usageError } from "../errors.js";
import { unknown } from "../fleet/find-target.js";
import { namedAddress, needsDatabase } from "../location/named-database.js";

const DEFAULT_STOP_TIMEOUT_MS = 30_000;

const STOP_TIMEOUT: Option<number | undefined> = option(
  "stop-timeout",
  "duration",
  { summary: "How long to wait for running jobs when it stops, before they are told to end. Default: 30s." },
  (text) => {
    const ms = durationMs(text);
    if (ms === undefined)
      throw usageError(`Invalid --stop-timeout ${quote(text)}: expected a duration such as 30s or 5m`);
    return ms;
  },
);
const AGENTS: Option<string | undefined> = textOption("agent", "names", {
  summary: "Run only these agents, with commas between them.",
  completion: "agent",
});
const NO_WATCH = flag("no-watch", { summary: "Do not reload when a file changes. SIGHUP still does." });
const NO_LIVE = flag("no-live", { summary: "Print lines on a terminal too, and no live view." });
const QUIET = flag("quiet", { short: "q", summary: "Print only what goes wrong." });

const NODE_NAME: Option<string | undefined> = option(
  "node-name",
  "name",
  {
    summary:
      "What others on the same database see this scheduler as. Default: the host's name and the process id.",
  },
  (text) => {
    if (text.trim() === "")
      throw usageError(`Invalid --node-name ${quote(text)}: expected a text that others can tell it by`);
    return text;
  },
);

export const RUN_OPTIONS: readonly Option[] = [AGENTS, NODE_NAME, STOP_TIMEOUT, NO_WATCH, NO_LIVE, QUIET];

export interface RunSettings {
  readonly stopTimeoutMs: number;
  readonly isWatching: boolean;
  readonly isLive: boolean;
  readonly isQuiet: boolean;
  readonly nodeName: string | undefined;
  /** `undefined`: all. */
  readonly agents: readonly string[] | undefined;
}

export function runSettings(call: Call): RunSettings {
  const { context, option: read } = call;
  const { stdout, env } = context;
  const nodeName = read(NODE_NAME);
  if (nodeName !== undefined && namedAddress(call) === undefined)
    throw needsDatabase(call, `--${NODE_NAME.name}`);
  const isQuiet = read(QUIET);
  const canMoveCursor = stdout.isTTY === true && env["TERM"] !== "dumb";
  const names = read(AGENTS)
    ?.split(",")
    .map((name) => name.trim());
  return {
    stopTimeoutMs: read(STOP_TIMEOUT) ?? DEFAULT_STOP_TIMEOUT_MS,
    isWatching: !read(NO_WATCH),
    isLive: canMoveCursor && !isQuiet && !read(NO_LIVE),
    isQuiet,
    nodeName,
    agents: names?.filter((name) => name !== ""),
  };
}

/** The configuration with only the agents that are to run. */
export function chosen(config: Config, agents: RunSettings["agents"]): Config {
  if (agents === undefined) return config;
  const isChosen = (name: string): boolean => agents.includes(name);
  return {
    ...config,
    agents: config.agents.filter(({ name }) => isChosen(name)),
    disabled: config.disabled.filter(({ agent }) => isChosen(agent)),
  };
}

/** Throws NOT_FOUND for an agent that the configuration does not have. */
export function requireAgents(config: Config, agents: RunSettings["agents"]): void {
  const known = config.agents.map(({ name }) => name);
  for (const name of agents ?? []) if (!known.includes(name)) throw unknown("agent", name, known);
}
