/** What the contract of events is told with: a store with topics and consumers, and short words for what sessions do. */
import { expect, onTestFinished } from "vitest";
import { FakeClock } from "../../src/clock.js";
import type {
  ConsumerDefinition,
  ConsumerStatus,
  EventDefinitions,
  EventStore,
  Publication,
  Session,
  Settled,
  SettledOutcome,
  Settlement,
} from "../../src/state/events/event-store.js";

export const START = "2026-03-01T00:00:00.000Z";
export const LEASE_MS = 30_000;
const AGENT = "mail";

export interface EventSubject {
  /** The events of an open store, on states that no other test sees. */
  readonly events: EventStore;
  /** Ends the owner as a kill does, and opens the states again. */
  readonly restart: () => Promise<EventStore>;
  readonly close: () => Promise<void>;
}

export type OpenEventSubject = (options: { clock: FakeClock; leaseMs: number }) => Promise<EventSubject>;

export class EventScene {
  readonly clock: FakeClock;
  readonly #subject: EventSubject;
  events: EventStore;
  #drawn = 0;

  constructor(clock: FakeClock, subject: EventSubject) {
    this.clock = clock;
    this.#subject = subject;
    this.events = subject.events;
  }

  /** Opens a store with the topics `in` and `out`, and a consumer `file` of the first. */
  static async open(
    open: OpenEventSubject,
    consumer: Partial<ConsumerDefinition> = {},
    more: Partial<EventDefinitions> = {},
  ): Promise<EventScene> {
    const clock = new FakeClock(START);
    const subject = await open({ clock, leaseMs: LEASE_MS });
    onTestFinished(() => subject.close());
    const scene = new EventScene(clock, subject);
    await scene.events.define(definitions(consumer, more));
    return scene;
  }

  async restart(): Promise<void> {
    this.events = await this.#subject.restart();
  }

  /** Publishes events whose payload is their id, and returns their numbers. */
  async publish(topic: string, ...ids: string[]): Promise<number[]> {
    const published = await this.events.publish(
      ids.map((id) => ({ topic, id, payload: JSON.stringify(id) })),
    );
    return published.map(({ seq }) => seq);
  }

  async publishOne(topic: string, id: string, payload: unknown): Promise<Publication> {
    const [published] = await this.events.publish([{ topic, id, payload: JSON.stringify(payload) }]);
    if (published === undefined) throw new Error("Nothing was published.");
    return published;
  }

  async begin(schedule = "file", isManual = false): Promise<Session> {
    const session = await this.tryBegin(schedule, isManual);
    if (typeof session === "string") throw new Error(`The session did not begin: ${session}.`);
    return session;
  }

  tryBegin(schedule = "file", isManual = false): Promise<Session | string> {
    const number = ++this.#drawn;
    return this.events.begin({
      ...key(schedule),
      token: `token-${number}`,
      jobId: `job-${number}`,
      isManual,
    });
  }

  /** The ids of what the consumer could reserve. */
  async peek(schedule = "file", limit = 1_000): Promise<string[]> {
    return (await this.events.peek(key(schedule), { limit })).map(({ id }) => id);
  }

  async reserve(
    session: Session,
    ids: readonly string[],
    isIntent = true,
    runKey = "run-1",
  ): Promise<string> {
    const events = [{ topic: "in", ids }];
    return this.events.reserve(session, { key: runKey, events, prepared: '{"n":1}', title: "Run", isIntent });
  }

  /** Settles a run that named no key. */
  settle(session: Session, outcome: SettledOutcome, more: Partial<Settlement> = {}): Promise<Settled> {
    return this.events.settle(session, { key: `run-${++this.#drawn}-drawn`, outcome, ends: "idle", ...more });
  }

  /** A handler's run that takes these events; whether the session goes on. */
  async take(session: Session, ids: readonly string[]): Promise<boolean> {
    return goesOn(await this.settle(session, { kind: "committed", events: [{ topic: "in", ids }] }));
  }

  /** A run that takes nothing, and sleeps for so long. */
  async takeNothing(session: Session, ms = 300_000): Promise<boolean> {
    const wakesAt = new Date(this.clock.now().getTime() + ms);
    return goesOn(await this.settle(session, { kind: "nothing", wakesAt, wakes: "timeout" }));
  }

  async status(schedule = "file"): Promise<ConsumerStatus> {
    const all = await this.events.consumers(AGENT);
    const status = all.find((consumer) => consumer.schedule === schedule);
    if (status === undefined) throw new Error(`No consumer ${schedule}.`);
    return status;
  }

  async activity(schedule = "file"): Promise<string> {
    return (await this.status(schedule)).activity;
  }
}

export function goesOn(settled: Settled): boolean {
  expect(settled.result).toBe("settled");
  return settled.result === "settled" && settled.goesOn;
}

export function key(schedule: string): { agent: string; schedule: string } {
  return { agent: AGENT, schedule };
}

export function definitions(
  consumer: Partial<ConsumerDefinition> = {},
  more: Partial<EventDefinitions> = {},
): EventDefinitions {
  return {
    topics: [{ topic: "in" }, { topic: "out" }],
    consumers: [{ ...key("file"), subscribes: [{ topic: "in" }], ...consumer }],
    producers: [key("poll")],
    ...more,
  };
}
