/** Puts a run together: its configuration, its store, its scheduler, and how it is told. */
import type { Clock } from "../../clock.js";
import { Scheduler } from "../../scheduler/scheduler.js";
import type { Call } from "../command.js";
import type { ExitCode } from "../exit-codes.js";
import { findConfig, namedPlace, noConfigError, unnamedPlace } from "../location/locate.js";
import { shownPath } from "../format/shown-path.js";
import { openConfig } from "./config-source.js";
import { FleetModel } from "./run-model.js";
import { FleetReader } from "./schedule-reader.js";
import { FleetRun } from "./foreground-run.js";
import type { RunHost } from "./host.js";
import { LiveView } from "./live-view.js";
import { JsonReporter, LineReporter, type Reporter, reportingLogger } from "./reporter.js";
import { chosen, requireAgents, runSettings } from "./run-options.js";

/** Resolves when everything has ended and is recorded. Rejects when it could not be started. */
export async function runFleet(call: Call, host: RunHost): Promise<ExitCode> {
  const { clock, cwd, env, signal } = call.context;
  const settings = runSettings(call);
  const path = await findConfig(call);
  if (path === undefined) throw noConfigError(cwd);
  const file = shownPath(path);
  const logger = reportingLogger((text, tone) => reporter.say(text, tone));
  using watch = await openConfig(file, {
    isWatching: settings.isWatching,
    env,
    clock,
    logger,
    onChange: (changed) => run.useConfig(changed),
    onProblem: (error) => run.refuseConfig(error),
  });
  requireAgents(watch.config, settings.agents);
  const config = chosen(watch.config, settings.agents);
  const place = (await namedPlace(call)) ?? unnamedPlace(call, config.stateDir);
  await using home = await place.settle({ clock, logger, nodeName: settings.nodeName });
  const reader = new FleetReader(home, config);
  const model = new FleetModel(home.clock, place.name);
  const reporter = reporterFor(call, host, {
    isLive: settings.isLive,
    isQuiet: settings.isQuiet,
    clock: home.clock,
    model,
    reader,
  });
  const scheduler = new Scheduler({ ...config, store: home.store, clock, logger });
  const isShared = home.store.holdMs !== undefined;
  const run = new FleetRun(
    { clock, host, signal, settings, file, watch, scheduler, isShared, model, reader, reporter },
    config,
  );
  return await run.run();
}

interface Told {
  readonly isLive: boolean;
  readonly isQuiet: boolean;
  /** What times are told by. */
  readonly clock: Clock;
  readonly model: FleetModel;
  readonly reader: FleetReader;
}

function reporterFor({ context, isJson, output }: Call, host: RunHost, told: Told): Reporter {
  const { isLive, isQuiet, clock, model, reader } = told;
  const { stdout, stderr } = context;
  const parts = { output, clock, isQuiet, definitionOf: reader.definitionOf.bind(reader) };
  if (isJson) return new JsonReporter(parts);
  if (!isLive) return new LineReporter(parts);
  const isTalkSeen = stderr.isTTY === true;
  return new LiveView({ ...parts, host, stdout, isTalkSeen, model, readSchedules: () => reader.read() });
}
