/** The options of `rota run`, and the agents that --agent selects. */
import type { Config } from "../../config/config.js";
import { durationMs } from "../../duration.js";
import { quote } from "../../errors.js";
import { type Call, flag, type Option, option, textOption } from "../command.js";
import { usageError } from "../errors.js";
import { unknownName } from "../fleet/find-target.js";

const DEFAULT_STOP_TIMEOUT_MS = 30_000;

const STOP_TIMEOUT: Option<number | undefined> = option(
  "stop-timeout",
  "duration",
  { summary: "How long a stop waits for running jobs before it cancels them. Default: 30s." },
  (text) => {
    const ms = durationMs(text);
    if (ms === undefined)
      throw usageError(`Invalid --stop-timeout ${quote(text)}: expected a duration such as 30s or 5m`);
    return ms;
  },
);
const AGENTS: Option<string | undefined> = textOption("agent", "names", {
  summary: "Run only these agents, separated by commas.",
  completion: "agent",
});
const NO_WATCH = flag("no-watch", { summary: "Do not reload when a file changes. SIGHUP still reloads." });
const NO_LIVE = flag("no-live", { summary: "Print lines instead of the live view." });
const QUIET = flag("quiet", { short: "q", summary: "Print only failures and warnings." });

export const NODE_NAME: Option<string | undefined> = option(
  "node-name",
  "name",
  {
    summary:
      "The name of this scheduler among the nodes of a database. Default: the host's name and the process id.",
  },
  (text) => {
    if (text.trim() === "")
      throw usageError(`Invalid --node-name ${quote(text)}: expected a name that is not blank`);
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
  /** `undefined`: all agents. */
  readonly agents: readonly string[] | undefined;
}

export function runSettings(call: Call): RunSettings {
  const { context, option: read } = call;
  const { stdout, env } = context;
  const nodeName = read(NODE_NAME);
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

/** The configuration with only the agents that --agent names. */
export function selectAgents(config: Config, agents: RunSettings["agents"]): Config {
  if (agents === undefined) return config;
  const isChosen = (name: string): boolean => agents.includes(name);
  return {
    ...config,
    agents: config.agents.filter(({ name }) => isChosen(name)),
    disabled: config.disabled.filter(({ agent }) => isChosen(agent)),
  };
}

/** Throws NOT_FOUND for an agent that is not in the configuration. */
export function requireAgents(config: Config, agents: RunSettings["agents"]): void {
  const known = config.agents.map(({ name }) => name);
  for (const name of agents ?? []) if (!known.includes(name)) throw unknownName("agent", name, known);
}
