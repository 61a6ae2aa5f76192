/** `rota hint`: temporary advice for a schedule, another interval or one extra run, until it expires. */
import { advised, UNADVISED } from "../../scheduler/control/state-changes.js";
import { type Call, type Command, flag, textOption } from "../command.js";
import { changeSchedules, TARGET } from "../fleet/change-schedules.js";
import { usageError } from "../errors.js";
import { EXIT, type ExitCode } from "../exit-codes.js";
import { instantOption } from "../instant-option.js";

const INTERVAL = textOption("interval", "interval", {
  summary: "Run this often for now, such as 1m.",
});
const AT = instantOption("at", "future", "Run once more at this time, or this long from now.");
const TTL = textOption("ttl", "duration", {
  summary: "How long the advice counts. Default: 1h, from --at where that is given.",
});
const REASON = textOption("reason", "text", { summary: "Why, for whoever reads the state." });
const CLEAR = flag("clear", { summary: "Take earlier advice back." });

export const hintCommand: Command = {
  name: "hint",
  summary: "Advise a schedule to run at another pace for a while, or once more at a time.",
  arguments: [{ ...TARGET, summary: "The schedule; or an agent, for all of its schedules." }],
  options: [INTERVAL, AT, TTL, REASON, CLEAR],
  examples: [
    { command: "rota hint watcher/site --interval 1m --ttl 30m", says: "every minute for half an hour" },
    { command: "rota hint watcher/site --at 10m", says: "one extra run in ten minutes" },
    { command: "rota hint watcher/site --clear", says: "back to its own pace" },
  ],
  run: hint,
};

async function hint(call: Call): Promise<ExitCode> {
  const { option } = call;
  const [interval, at, ttl, reason] = [option(INTERVAL), option(AT), option(TTL), option(REASON)];
  const isAdvice = (interval ?? at) !== undefined;
  if (option(CLEAR) === isAdvice)
    throw usageError("Give --interval, --at or both; or --clear to take earlier advice back");
  await changeSchedules(call, (now) => {
    const patch = isAdvice ? advised({ interval, runAt: at?.(now), ttl, reason }, now) : UNADVISED;
    return { done: isAdvice ? "Advised" : "Cleared the advice for", decide: () => patch };
  });
  return EXIT.ok;
}
