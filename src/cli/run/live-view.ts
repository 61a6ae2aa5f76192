/** The live view of a run: a table redrawn in place, with ended jobs and messages scrolling by above it. */
import type { CliStream } from "../context.js";
import { WakeableLoop } from "../../scheduler/loop/wakeable-loop.js";
import type { FleetSchedule } from "../fleet/fleet.js";
import { shortZonedTime } from "../format/when.js";
import type { RunModel } from "./run-model.js";
import type { RunHost } from "./host.js";
import type { Notice } from "./notice.js";
import {
  lineText,
  NoticeLines,
  messageLines,
  type Reporter,
  type ReporterParts,
  type MessageLevel,
} from "./reporter.js";
import { Screen } from "./screen.js";
import { SPIN_MS, viewOf } from "./view.js";

/** How often the view refreshes while no job runs, for countdowns and for changes by other processes. */
const IDLE_MS = 1_000;
/**
 * Reading and drawing thousands of schedules takes long. After each, the view waits this many times as long, so that
 * jobs get the processor.
 */
const IDLE_FACTOR = 10;

interface LiveParts extends ReporterParts {
  readonly host: RunHost;
  readonly stdout: CliStream;
  /** Whether stderr is a terminal too: messages are then drawn above the view. */
  readonly areMessagesOnTerminal: boolean;
  readonly model: RunModel;
  /** Reads the schedules from the store. */
  readonly readSchedules: () => Promise<readonly FleetSchedule[]>;
}

export class LiveView implements Reporter {
  readonly #parts: LiveParts;
  readonly #screen: Screen;
  readonly #lines: NoticeLines;
  readonly #loop: WakeableLoop;
  readonly #stopListening: readonly (() => void)[];
  /** The earliest next draw and the earliest next read of the store, on the monotonic clock. */
  #drawFromMs = -Infinity;
  #readFromMs = -Infinity;
  #readMs = -Infinity;
  #isStale = true;
  #isClosed = false;

  constructor(parts: LiveParts) {
    this.#parts = parts;
    this.#screen = new Screen(parts.stdout);
    this.#lines = new NoticeLines(parts);
    this.#loop = new WakeableLoop(parts.clock);
    this.#stopListening = [
      parts.host.onResize(() => this.#loop.wake()),
      // Restores the terminal however the process ends.
      parts.host.onExit(() => this.#screen.close()),
    ];
  }

  report(notice: Notice): void {
    if (notice.event === "scheduler:started") void this.#loop.run({ run: () => this.#pass() });
    const line = this.#lines.lineOf(notice);
    // The table shows started and waiting jobs; a job that found no work gets no line.
    if (notice.event === "job:finished" && line?.isIdleRun === false)
      this.#print(lineText(line, shortZonedTime(this.#parts.clock.now()), this.#parts.output.paint));
    this.#isStale = true;
    this.#loop.wake();
  }

  message(text: string, level: MessageLevel): void {
    const { output, areMessagesOnTerminal } = this.#parts;
    for (const line of messageLines(text, level, output))
      if (areMessagesOnTerminal) this.#print(line);
      else output.message(line);
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

  /** Returns the milliseconds until the next pass. */
  async #pass(): Promise<number> {
    const { clock, model } = this.#parts;
    const startMs = clock.monotonic();
    if (startMs < this.#drawFromMs) return this.#drawFromMs - startMs;
    const isOld = this.#isStale || model.running.size === 0 || startMs - this.#readMs >= IDLE_MS;
    if (isOld && startMs >= this.#readFromMs) {
      this.#isStale = false;
      this.#readMs = startMs;
      model.schedules = await this.#schedules();
      this.#readFromMs = clock.monotonic() + IDLE_FACTOR * (clock.monotonic() - startMs);
    }
    const drawMs = clock.monotonic();
    this.#draw();
    const endMs = clock.monotonic();
    this.#drawFromMs = Math.max(drawMs + SPIN_MS, endMs + IDLE_FACTOR * (endMs - drawMs));
    // In step with the "up" counter, whose seconds the reader sees change.
    return model.running.size > 0 ? SPIN_MS : IDLE_MS - ((endMs - model.startedMs) % IDLE_MS);
  }

  /** When the state cannot be read, the last known schedules stay on screen; the store logs the error. */
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
