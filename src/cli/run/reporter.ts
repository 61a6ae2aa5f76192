/** How a run is told: lines for people, lines for programs, or a live view. Data goes to stdout, and talk to stderr. */
import type { Clock } from "../../clock.js";
import type { Logger } from "../../logger.js";
import type { AgentSchedule } from "../../scheduler/agent.js";
import type { ScheduleKey } from "../../state/store.js";
import { nameOf } from "../fleet/fleet.js";
import type { Output } from "../output.js";
import { oneLine } from "../format/text-width.js";
import { zonedTime } from "../format/when.js";
import type { News } from "./notice.js";
import { newsJson } from "./notice-json.js";
import { type NewsLine, newsLine } from "./notice-line.js";

/** `news`: only for who wants to know; `trouble`: also for who wants to hear of nothing else. */
export type Tone = "news" | "trouble";

export interface Reporter {
  tell(news: News): void;
  /** For the person at the terminal; may have several lines. */
  say(text: string, tone: Tone): void;
  /** Nothing is told after it. May be called again. */
  close(): Promise<void>;
}

export interface ReporterParts {
  readonly output: Output;
  readonly clock: Clock;
  readonly isQuiet: boolean;
  readonly definitionOf: (key: ScheduleKey) => AgentSchedule | undefined;
}

/** Where Rota's own log goes. What is only for information is said by the command itself. */
export function reportingLogger(say: Reporter["say"]): Logger {
  const trouble = (message: string): void => say(message, "trouble");
  return { info: () => {}, warn: trouble, error: trouble };
}

/** What both kinds of lines have in common: each event is told as it comes, and nothing is left open at the end. */
abstract class EventReporter implements Reporter {
  protected readonly parts: ReporterParts;
  protected readonly lines: NewsLines;

  constructor(parts: ReporterParts) {
    this.parts = parts;
    this.lines = new NewsLines(parts);
  }

  abstract tell(news: News): void;

  say(text: string, tone: Tone): void {
    const { output, isQuiet } = this.parts;
    if (tone === "news" && isQuiet) return;
    for (const line of talkLines(text, tone, output)) output.talk(line);
  }

  close(): Promise<void> {
    return Promise.resolve();
  }
}

const BAD_NEWS: ReadonlySet<News["event"]> = new Set([
  "config:refused",
  "schedule:missed",
  "scheduler:error",
]);

export class JsonReporter extends EventReporter {
  tell(news: News): void {
    const { clock, isQuiet, output } = this.parts;
    if (!isQuiet || this.lines.lineOf(news)?.isBad === true || BAD_NEWS.has(news.event))
      output.jsonLine(newsJson(news, clock.now()));
  }
}

export class LineReporter extends EventReporter {
  tell(news: News): void {
    const { clock, isQuiet, output } = this.parts;
    const line = this.lines.lineOf(news);
    if (line === undefined || (isQuiet && !line.isBad)) return;
    output.line(lineText(line, zonedTime(clock.now()), output.paint));
  }
}

/** The lines of news, which are told in the order in which they happened. */
export class NewsLines {
  readonly #parts: Pick<ReporterParts, "definitionOf">;
  /** Schedules whose job has found nothing to do: its end is not told as work that was done. */
  readonly #idle = new Set<string>();

  constructor(parts: Pick<ReporterParts, "definitionOf">) {
    this.#parts = parts;
  }

  lineOf(news: News): NewsLine | undefined {
    const { event, details } = news;
    if (event === "schedule:skipped" && details.reason === "no_work") this.#idle.add(nameOf(details));
    const isIdleRun = event === "job:finished" && this.#takeIdle(details.job);
    return newsLine(news, { definitionOf: this.#parts.definitionOf, isIdleRun });
  }

  #takeIdle({ agent, schedule }: { readonly agent: string; readonly schedule: string | null }): boolean {
    return schedule !== null && this.#idle.delete(nameOf({ agent, schedule }));
  }
}

export function lineText(
  { subject, what, style, more }: NewsLine,
  time: string,
  paint: Output["paint"],
): string {
  const word = style === undefined ? what : paint(style, what);
  return `${paint("dim", time)}  ${subject}  ${word}  ${more}`;
}

/** Lines that a terminal shows and does not obey, with the indentation that carets need. */
export function talkLines(text: string, tone: Tone, { paintTalk }: Pick<Output, "paintTalk">): string[] {
  return text.split("\n").map((line) => {
    const [indentation = ""] = /^ */.exec(line) ?? [];
    const safe = `${indentation}${oneLine(line)}`;
    return tone === "news" ? safe : paintTalk("yellow", safe);
  });
}
