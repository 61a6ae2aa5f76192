/** `rota hint`: a temporary change of a schedule's plan: a different interval, or one extra run, until it expires. */
import { advised, UNADVISED } from "../../scheduler/control/state-changes.js";
import type { ScheduleStatePatch } from "../../state/schedule-state.js";
import { type Call, type Command, flag, textOption } from "../command.js";
import { changeSchedules } from "../fleet/change-schedules.js";
import { TARGET } from "../fleet/find-target.js";
import { asUsage, usageError } from "../errors.js";
import { EXIT, type ExitCode } from "../exit-codes.js";
import { zonedTime } from "../format/when.js";
import { instantOption } from "../instant-option.js";

const INTERVAL = textOption("interval", "interval", {
  summary: "Run this often for now, such as 1m.",
});
const AT = instantOption("at", "future", "Run once more at this time, or this long from now.");
const TTL = textOption("ttl", "duration", {
  summary: "How long the hint is valid. Default: 1h, counted from --at if that is given.",
});
const REASON = textOption("reason", "text", { summary: "Why. It is kept in the state and shown by list." });
const CLEAR = flag("clear", { summary: "Remove the current hint." });

export const hintCommand: Command = {
  name: "hint",
  summary: "Change how often a schedule runs for a while, or add one extra run.",
  arguments: [TARGET],
  options: [INTERVAL, AT, TTL, REASON, CLEAR],
  examples: [
    { command: "rota hint watcher/site --interval 1m --ttl 30m", comment: "every minute for half an hour" },
    { command: "rota hint watcher/site --at 10m", comment: "one extra run in ten minutes" },
    { command: "rota hint watcher/site --clear", comment: "back to its own interval" },
  ],
  run: hint,
};

async function hint(call: Call): Promise<ExitCode> {
  const { option } = call;
  const [interval, at, ttl, reason] = [option(INTERVAL), option(AT), option(TTL), option(REASON)];
  const isNew = (interval ?? at) !== undefined;
  if (option(CLEAR) === isNew)
    throw usageError("Give --interval, --at or both; or --clear to remove the current hint");
  await changeSchedules(call, (now) => {
    if (!isNew) return { message: (name) => `Hint removed from ${name}.`, patch: () => UNADVISED };
    const patch = asUsage(() => advised({ interval, runAt: at?.(now), ttl, reason }, now));
    return {
      message: (name) => `Hint set for ${name}: ${formatHint(patch.hint)}.`,
      patch: () => patch,
    };
  });
  return EXIT.ok;
}

/** "every 1m until 2026-03-01T13:00:00+00:00, one extra run at …" */
function formatHint(written: ScheduleStatePatch["hint"]): string {
  if (written == null) return "none";
  const { interval, next_run_at, expires_at } = written;
  const parts = [];
  if (interval != null) parts.push(`every ${interval} until ${formatIso(expires_at)}`);
  if (next_run_at != null) parts.push(`one extra run at ${formatIso(next_run_at)}`);
  return parts.join(", ");
}

function formatIso(time: string): string {
  return zonedTime(new Date(time));
}
