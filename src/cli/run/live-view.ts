/** A run as it looks on a terminal: the view in place, and above it jobs that have ended and what there is to say. */
import type { CliStream } from "../context.js";
import { WakeableLoop } from "../../scheduler/loop/wakeable-loop.js";
import type { FleetSchedule } from "../fleet/fleet.js";
import { shortZonedTime } from "../format/when.js";
import type { FleetModel } from "./run-model.js";
import type { RunHost } from "./host.js";
import type { News } from "./notice.js";
import { lineText, NewsLines, talkLines, type Reporter, type ReporterParts, type Tone } from "./reporter.js";
import { Screen } from "./screen.js";
import { SPIN_MS, viewOf } from "./view.js";

/** How often the view is looked over when nothing runs, for its countdowns and for what others have changed. */
const IDLE_MS = 1_000;
/** A herd of many thousands takes long to read and to draw: so many times as long is left to what the process is for. */
const RESPITE = 10;

interface LiveParts extends ReporterParts {
  readonly host: RunHost;
  readonly stdout: CliStream;
  /** Whether talk would be seen on the same terminal. */
  readonly isTalkSeen: boolean;
  readonly model: FleetModel;
  /** The schedules as the store has them. */
  readonly readSchedules: () => Promise<readonly FleetSchedule[]>;
}

export class LiveView implements Reporter {
  readonly #parts: LiveParts;
  readonly #screen: Screen;
  readonly #lines: NewsLines;
  readonly #loop: WakeableLoop;
  readonly #stopListening: readonly (() => void)[];
  /** From when on it may be drawn again, and the store be read again, on the monotonic clock. */
  #drawFromMs = -Infinity;
  #readFromMs = -Infinity;
  #readMs = -Infinity;
  #isStale = true;
  #isClosed = false;

  constructor(parts: LiveParts) {
    this.#parts = parts;
    this.#screen = new Screen(parts.stdout);
    this.#lines = new NewsLines(parts);
    this.#loop = new WakeableLoop(parts.clock, () => this.#pass());
    this.#stopListening = [
      parts.host.onResize(() => this.#loop.wake()),
      // However the process ends, its terminal has to be usable.
      parts.host.onExit(() => this.#screen.close()),
    ];
  }

  tell(news: News): void {
    if (news.event === "scheduler:started") void this.#loop.run();
    const line = this.#lines.lineOf(news);
    // What starts, and what waits, the view shows; and a look for work that found none is no news.
    if (news.event === "job:finished" && line?.isIdleRun === false)
      this.#print(lineText(line, shortZonedTime(this.#parts.clock.now()), this.#parts.output.paint));
    this.#isStale = true;
    this.#loop.wake();
  }

  say(text: string, tone: Tone): void {
    const { output, isTalkSeen } = this.#parts;
    for (const line of talkLines(text, tone, output))
      if (isTalkSeen) this.#print(line);
      else output.talk(line);
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    for (const stop of this.#stopListening) stop();
    this.#screen.close();
    await this.#loop.stop();
  }

  #print(line: string): void {
    this.#screen.print(line);
    this.#loop.wake();
  }

  /** Answers when to look again. */
  async #pass(): Promise<number> {
    const { clock, model } = this.#parts;
    const startMs = clock.monotonic();
    if (startMs < this.#drawFromMs) return this.#drawFromMs - startMs;
    const isOld = this.#isStale || model.running.size === 0 || startMs - this.#readMs >= IDLE_MS;
    if (isOld && startMs >= this.#readFromMs) {
      this.#isStale = false;
      this.#readMs = startMs;
      model.schedules = await this.#schedules();
      this.#readFromMs = clock.monotonic() + RESPITE * (clock.monotonic() - startMs);
    }
    const drawMs = clock.monotonic();
    this.#draw();
    const endMs = clock.monotonic();
    this.#drawFromMs = Math.max(drawMs + SPIN_MS, endMs + RESPITE * (endMs - drawMs));
    // Its own seconds are what a person sees go by.
    return model.running.size > 0 ? SPIN_MS : IDLE_MS - ((endMs - model.startedMs) % IDLE_MS);
  }

  /** What is not known any better is shown as it was: a state that cannot be read is the log's news. */
  async #schedules(): Promise<readonly FleetSchedule[]> {
    try {
      return await this.#parts.readSchedules();
    } catch {
      return this.#parts.model.schedules;
    }
  }

  #draw(): void {
    const { clock, host, model, output, stdout } = this.#parts;
    if (this.#isClosed) return;
    const size = { columns: stdout.columns ?? 80, rows: host.rows() };
    const time = { now: clock.now(), monotonicMs: clock.monotonic() };
    this.#screen.draw(viewOf(model, time, size, output.paint), size.columns);
  }
}
