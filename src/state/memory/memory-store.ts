/** The store in memory: for tests, and for fleets whose past does not matter after a restart. */
import { applyPatch } from "../../fields.js";
import type { AgentPause, PauseDecision } from "../agent-pause.js";
import type { Duration } from "../../duration.js";
import { type Clock, StoreClock } from "../../clock.js";
import { processLogger } from "../../logger.js";
import { NO_FIELDS } from "../validate-state.js";
import { StateError } from "../errors.js";
import type { JobLimits, JobLog } from "../job-log/job-log.js";
import { emptyModel } from "../events/event-model.js";
import type { EventStore } from "../events/event-store.js";
import { MemoryConsumedEvents } from "./memory-consumed-events.js";
import { MemoryMailbox } from "./memory-mailbox.js";
import { MemoryJobLog } from "./memory-job-log.js";
import type { ScheduleState, ScheduleStatePatch } from "../schedule-state.js";
import type { ScheduleKey } from "../store.js";
import type { StateDraft, StateOperation } from "../operations.js";
import { OwnedEvents } from "../owner/owned-events.js";
import type { OwnedJobLog } from "../owner/owned-job-log.js";
import { SingleOwnerStore } from "../owner/single-owner-store.js";

export interface MemoryStoreOptions {
  /** @default the clock given to `open`, else the system's */
  readonly clock?: Clock | undefined;
  /**
   * How long a claim lasts that is not renewed: milliseconds, or text such as "30s".
   * @default 30_000
   */
  readonly leaseMs?: Duration | undefined;
  /** How much is kept of jobs. Age and size have no limit here. */
  readonly jobs?: JobLimits | undefined;
}

export class MemoryStore extends SingleOwnerStore {
  readonly jobs: JobLog;
  readonly mailbox: MemoryMailbox;
  /** Topics, events and consumers. */
  readonly events: EventStore;
  readonly #events: OwnedEvents;
  readonly #log: MemoryJobLog;
  readonly #clock: StoreClock;
  readonly #states = new Map<string, Map<string, Partial<ScheduleState>>>();
  readonly #pauses = new Map<string, AgentPause>();
  #isOpen = false;

  constructor({ clock: given, leaseMs, jobs }: MemoryStoreOptions = {}) {
    const clock = new StoreClock(given);
    super({ clock, leaseMs, logger: processLogger });
    this.#clock = clock;
    this.#log = new MemoryJobLog({ ...jobs, clock });
    this.jobs = this.#log;
    this.mailbox = new MemoryMailbox(clock);
    const consumed = new MemoryConsumedEvents();
    this.#events = new OwnedEvents({
      model: emptyModel(consumed),
      clock,
      logger: processLogger,
      leaseMs: this.leaseMs,
      requireOwner: () => this.requireOwner(),
      keep: async () => {},
      openConsumed: async () => (topic) => consumed.read(topic),
    });
    this.events = this.#events;
  }

  async open(clock?: Clock): Promise<void> {
    this.#clock.adopt(clock);
    this.#isOpen = true;
    await this.recover();
    await this.#events.recover();
  }

  async close(): Promise<void> {
    if (this.#isOpen) await this.free((operation) => this.commit(operation));
    this.#isOpen = false;
  }

  protected get log(): OwnedJobLog {
    return this.#log;
  }

  protected async refresh(): Promise<void> {}

  protected known({ agent, schedule }: ScheduleKey): Partial<ScheduleState> {
    return this.#states.get(agent)?.get(schedule) ?? NO_FIELDS;
  }

  protected knownSchedules(agent: string): Iterable<readonly [string, Partial<ScheduleState>]> {
    return this.#states.get(agent) ?? [];
  }

  protected *knownKeys(): Iterable<ScheduleKey> {
    for (const [agent, schedules] of this.#states)
      for (const schedule of schedules.keys()) yield { agent, schedule };
  }

  protected knownPauses(): Iterable<readonly [string, AgentPause]> {
    return this.#pauses;
  }

  protected async writePause(agent: string, decide: PauseDecision): Promise<void> {
    const pause = decide(this.#pauses.get(agent));
    if (pause === undefined) return;
    if (pause === null) this.#pauses.delete(agent);
    else this.#pauses.set(agent, pause);
    this.notePause(agent, pause ?? undefined);
  }

  protected async commit(operation: StateOperation): Promise<void> {
    const touched: ScheduleKey[] = [];
    const draft: StateDraft = {
      read: (key) => this.known(key),
      patch: (key, patch) => {
        touched.push(key);
        return this.#patch(key, patch);
      },
      keys: () => this.knownKeys(),
    };
    operation.apply(draft);
    this.noteChanges(touched);
  }

  protected get isOwner(): boolean {
    return this.#isOpen;
  }

  protected requireOwner(): void {
    if (!this.#isOpen)
      throw new StateError("The store is not open: call open() first.", { code: "STATE_CLOSED" });
  }

  #patch({ agent, schedule }: ScheduleKey, patch: ScheduleStatePatch): Partial<ScheduleState> {
    const schedules = this.#states.get(agent) ?? new Map<string, Partial<ScheduleState>>();
    const state = applyPatch({ ...schedules.get(schedule) }, patch);
    this.#states.set(agent, schedules.set(schedule, state));
    return state;
  }
}
