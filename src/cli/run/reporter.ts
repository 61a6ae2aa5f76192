/** Prints a run: lines of text, lines of JSON, or a live view. Notices go to stdout, messages to stderr. */
import type { Clock } from "../../clock.js";
import type { Logger } from "../../logger.js";
import type { AgentSchedule } from "../../scheduler/agent.js";
import type { ScheduleKey } from "../../state/store.js";
import { nameOf } from "../fleet/fleet.js";
import type { Output } from "../output.js";
import { oneLine } from "../format/text-width.js";
import { zonedTime } from "../format/when.js";
import type { Notice } from "./notice.js";
import { noticeJson } from "./notice-json.js";
import { type NoticeLine, noticeLine } from "./notice-line.js";

/** `info` is hidden by --quiet, `warning` never. */
export type MessageLevel = "info" | "warning";

export interface Reporter {
  report(notice: Notice): void;
  /** For the person at the terminal; the text may have several lines. */
  message(text: string, level: MessageLevel): void;
  /** Prints nothing afterwards. May be called again. */
  close(): Promise<void>;
}

export interface ReporterParts {
  readonly output: Output;
  readonly clock: Clock;
  readonly isQuiet: boolean;
  readonly definitionOf: (key: ScheduleKey) => AgentSchedule | undefined;
}

/** Prints the library's warnings and errors. Its `info` lines are dropped: the command prints its own. */
export function reportingLogger(print: Reporter["message"]): Logger {
  const warn = (message: string): void => print(message, "warning");
  return { info: () => {}, warn, error: warn };
}

/** Common to text and JSON: each notice is printed at once, and closing has nothing to do. */
abstract class NoticeReporter implements Reporter {
  protected readonly parts: ReporterParts;
  protected readonly lines: NoticeLines;

  constructor(parts: ReporterParts) {
    this.parts = parts;
    this.lines = new NoticeLines(parts);
  }

  abstract report(notice: Notice): void;

  message(text: string, level: MessageLevel): void {
    const { output, isQuiet } = this.parts;
    if (level === "info" && isQuiet) return;
    for (const line of messageLines(text, level, output)) output.message(line);
  }

  close(): Promise<void> {
    return Promise.resolve();
  }
}

const WARNING_NOTICES: ReadonlySet<Notice["event"]> = new Set([
  "config:refused",
  "schedule:abandoned",
  "schedule:missed",
  "scheduler:error",
]);

export class JsonReporter extends NoticeReporter {
  report(notice: Notice): void {
    const { clock, isQuiet, output } = this.parts;
    if (!isQuiet || this.lines.lineOf(notice)?.isBad === true || WARNING_NOTICES.has(notice.event))
      output.jsonLine(noticeJson(notice, clock.now()));
  }
}

export class LineReporter extends NoticeReporter {
  report(notice: Notice): void {
    const { clock, isQuiet, output } = this.parts;
    const line = this.lines.lineOf(notice);
    if (line === undefined || (isQuiet && !line.isBad)) return;
    output.line(lineText(line, zonedTime(clock.now()), output.paint));
  }
}

/** The line of each notice. Notices must come in order: an earlier one may say that a job found no work. */
export class NoticeLines {
  readonly #parts: Pick<ReporterParts, "definitionOf">;
  /** Schedules whose running job has found no work. */
  readonly #idle = new Set<string>();

  constructor(parts: Pick<ReporterParts, "definitionOf">) {
    this.#parts = parts;
  }

  lineOf(notice: Notice): NoticeLine | undefined {
    const { event, details } = notice;
    if (event === "schedule:skipped" && details.reason === "no_work") this.#idle.add(nameOf(details));
    const isIdleRun = event === "job:finished" && this.#takeIdle(details.job);
    return noticeLine(notice, { definitionOf: this.#parts.definitionOf, isIdleRun });
  }

  #takeIdle({ agent, schedule }: { readonly agent: string; readonly schedule: string | null }): boolean {
    return schedule !== null && this.#idle.delete(nameOf({ agent, schedule }));
  }
}

export function lineText(
  { subject, what, style, more }: NoticeLine,
  time: string,
  paint: Output["paint"],
): string {
  const word = style === undefined ? what : paint(style, what);
  return `${paint("dim", time)}  ${subject}  ${word}  ${more}`;
}

/** Lines without control characters, so that a terminal shows and never obeys them. Indentation stays, for carets. */
export function messageLines(
  text: string,
  level: MessageLevel,
  { paintMessage }: Pick<Output, "paintMessage">,
): string[] {
  return text.split("\n").map((line) => {
    const [indentation = ""] = /^ */.exec(line) ?? [];
    const safe = `${indentation}${oneLine(line)}`;
    return level === "info" ? safe : paintMessage("yellow", safe);
  });
}
