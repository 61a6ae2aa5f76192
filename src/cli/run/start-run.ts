/** Assembles a foreground run: its configuration, store, scheduler and reporter. */
import type { Clock } from "../../clock.js";
import { type WatchDirectory, watchDirectory } from "../../config/watch/directory-watch.js";
import { ConfigWatcher } from "../../config/watch/watch-config.js";
import { Scheduler } from "../../scheduler/scheduler.js";
import type { Call } from "../command.js";
import type { ExitCode } from "../exit-codes.js";
import { shownPath } from "../format/shown-path.js";
import { DirectoryLocation } from "../location/directory-location.js";
import { configuredLocation, findConfig, namedLocation, noConfigError, RUNNERS } from "../location/locate.js";
import { needsDatabase } from "../location/named-database.js";
import { ForegroundRun } from "./foreground-run.js";
import type { RunHost } from "./host.js";
import { LiveView } from "./live-view.js";
import { JsonReporter, LineReporter, type Reporter, reportingLogger } from "./reporter.js";
import { RunModel } from "./run-model.js";
import { NODE_NAME, requireAgents, runSettings, selectAgents } from "./run-options.js";
import { ScheduleReader } from "./schedule-reader.js";

/** With --no-watch a run polls no file and watches no directory; SIGHUP still reloads. */
const watchNothing: WatchDirectory = () => () => {};

/** Resolves when all jobs have ended and are recorded. Rejects when the run cannot start. */
export async function startRun(call: Call, host: RunHost): Promise<ExitCode> {
  const { clock, cwd, env, signal } = call.context;
  const settings = runSettings(call);
  const path = await findConfig(call);
  if (path === undefined) throw noConfigError(cwd);
  const file = shownPath(path);
  const logger = reportingLogger((text, level) => reporter.message(text, level));
  using watch = await ConfigWatcher.open(
    file,
    {
      env,
      runners: RUNNERS,
      clock,
      logger,
      onChange: (changed) => run.useConfig(changed),
      onProblem: (error) => run.refuseConfig(error),
      pollMs: settings.isWatching ? undefined : Infinity,
    },
    settings.isWatching ? watchDirectory : watchNothing,
  );
  requireAgents(watch.config, settings.agents);
  const config = selectAgents(watch.config, settings.agents);
  const location = (await namedLocation(call)) ?? (await configuredLocation(call, config));
  if (settings.nodeName !== undefined && location instanceof DirectoryLocation)
    throw needsDatabase(`--${NODE_NAME.name}`);
  await using opened = await location.open({
    clock,
    logger,
    jobs: config.jobs,
    nodeName: settings.nodeName,
  });
  const reader = new ScheduleReader(opened, config);
  const model = new RunModel(opened.clock, location.name);
  const reporter = reporterFor(call, host, {
    isLive: settings.isLive,
    isQuiet: settings.isQuiet,
    clock: opened.clock,
    model,
    reader,
  });
  const scheduler = new Scheduler({
    ...config,
    store: opened.store,
    clock,
    logger,
    logFailures: false,
    onStopRequest: () => run.stopOnRequest(),
  });
  const isShared = opened.store.holdMs !== undefined;
  const run = new ForegroundRun(
    { clock, host, signal, settings, file, watch, scheduler, isShared, model, reader, reporter },
    config,
  );
  return await run.run();
}

interface ReporterSettings {
  readonly isLive: boolean;
  readonly isQuiet: boolean;
  /** The clock for the times in the output. */
  readonly clock: Clock;
  readonly model: RunModel;
  readonly reader: ScheduleReader;
}

function reporterFor(
  { context, isJson, output }: Call,
  host: RunHost,
  { isLive, isQuiet, clock, model, reader }: ReporterSettings,
): Reporter {
  const { stdout, stderr } = context;
  const parts = { output, clock, isQuiet, definitionOf: reader.definitionOf.bind(reader) };
  if (isJson) return new JsonReporter(parts);
  if (!isLive) return new LineReporter(parts);
  const areMessagesOnTerminal = stderr.isTTY === true;
  const readSchedules = (): ReturnType<ScheduleReader["read"]> => reader.read();
  return new LiveView({ ...parts, host, stdout, areMessagesOnTerminal, model, readSchedules });
}
