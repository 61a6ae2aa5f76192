/**
 * Random steps on a store's events and on the oracle, side by side. After each step both have to say the same, and what
 * was kept as facts has to make the same model again.
 */
import { deepStrictEqual, strictEqual } from "node:assert";
import { FakeClock, StoreClock } from "../../../src/clock.js";
import type { Logger } from "../../../src/logger.js";
import { applyFacts } from "../../../src/state/events/apply-fact.js";
import { dueOf } from "../../../src/state/events/due-rules.js";
import { EventError } from "../../../src/state/events/errors.js";
import type { EventFact } from "../../../src/state/events/event-facts.js";
import { emptyModel, type EventModel } from "../../../src/state/events/event-model.js";
import type { EventIds, Settlement, SettledOutcome } from "../../../src/state/events/event-store.js";
import { type EventSnapshot, modelOf, snapshotOf } from "../../../src/state/events/snapshot.js";
import { MemoryConsumedEvents } from "../../../src/state/memory/memory-consumed-events.js";
import { OwnedEvents } from "../../../src/state/owner/owned-events.js";
import { plain, rebuiltFrom } from "./model-comparison.js";
import { EventOracle, type OracleConsumer, type OracleOutcome } from "./event-oracle.js";

/** What a step does, and numbers from which it takes its details. */
export interface Step {
  readonly action: (typeof ACTIONS)[number];
  readonly who: number;
  readonly dice: readonly number[];
}

export const ACTIONS = [
  "publish",
  "work",
  "begin",
  "reserve",
  "mutate",
  "settle",
  "settle again",
  "settle late",
  "crash",
  "resolve",
  "wait",
  "define",
  "wake",
  "prune",
] as const;

/** Begin, reserve all, apply and note it, commit. */
const RUN = [
  ["begin", [1]],
  ["reserve", [255, 1]],
  ["mutate", [1]],
  ["settle", [1, 1, 1]],
] as const;
const START = "2026-03-01T00:00:00.000Z";
const TOPICS = ["orders", "mail/in"];
const CONSUMERS = ["asks", "tells"];
const WAITS_MS = [0, 1_000, 60_000, 3_600_001, 31 * 86_400_000];
export const silent: Logger = { debug() {}, info() {}, warn() {}, error() {} };

interface Session {
  readonly token: string;
  readonly jobId: string;
}

interface Snapshot {
  readonly text: string;
  /** How many decisions it holds. */
  readonly after: number;
  readonly consumed: MemoryConsumedEvents;
}

export class EventDriver {
  readonly clock: FakeClock = new FakeClock(START);
  readonly oracle: EventOracle = new EventOracle(Date.parse(START));
  /** Every decision, as a journal keeps it. */
  readonly decisions: (readonly EventFact[])[] = [];
  readonly consumed: MemoryConsumedEvents = new MemoryConsumedEvents();
  readonly model: EventModel = emptyModel(this.consumed);
  readonly events: OwnedEvents;
  /** Runs that have changed the outside world, by consumer and event: how often, since the event was new. */
  readonly changes: Map<string, number> = new Map();
  readonly #appliedKeys = new Set<string>();
  readonly #sessions = new Map<string, Session>();
  readonly #old: { readonly schedule: string; readonly token: string }[] = [];
  readonly #suspended: string[] = [];
  #lastSettle:
    | { readonly schedule: string; readonly token: string; readonly settlement: Settlement }
    | undefined;
  #snapshot: Snapshot;
  #drawn = 0;

  constructor() {
    this.events = new OwnedEvents({
      model: this.model,
      clock: new StoreClock(this.clock),
      logger: silent,
      leaseMs: 1e12,
      requireOwner() {},
      keep: async (facts) => {
        this.decisions.push(JSON.parse(JSON.stringify(facts)) as readonly EventFact[]);
      },
      openConsumed: async () => (topic) => this.consumed.read(topic),
    });
    this.#snapshot = this.#takeSnapshot();
  }

  async define(dice: readonly number[] = []): Promise<void> {
    const [hasSecond = 1, isOneTopic = 0, canAsk = 1] = dice.map((die) => die % 4);
    const definitions: Record<string, { topics: string[]; canReconcile: boolean }> = {
      asks: { topics: isOneTopic === 0 ? TOPICS : TOPICS.slice(1), canReconcile: canAsk !== 0 },
    };
    if (hasSecond !== 0) definitions["tells"] = { topics: ["orders"], canReconcile: false };
    this.oracle.define(definitions);
    await this.events.define({
      topics: TOPICS.map((topic) => ({ topic, retentionMs: 3_600_000 })),
      consumers: Object.entries(definitions).map(([schedule, { topics, canReconcile }]) => ({
        agent: "a",
        schedule,
        subscribes: topics.map((topic) => ({ topic })),
        canReconcile,
      })),
      producers: [{ agent: "a", schedule: "makes" }],
    });
  }

  async step(step: Step): Promise<void> {
    const name = CONSUMERS[step.who % CONSUMERS.length] ?? "";
    await this.#take(step, name);
    if ((step.dice[4] ?? 0) % 5 === 0) this.#snapshot = this.#takeSnapshot();
  }

  async #take({ action, dice: [one = 0, two = 0, three = 0, four = 0] }: Step, name: string): Promise<void> {
    const key = { agent: "a", schedule: name };
    const consumer = this.oracle.consumers.get(name);
    const session = this.#sessions.get(name) ?? { token: "none", jobId: "none" };
    switch (action) {
      case "publish": {
        const events = this.#somePublications(one, two);
        const answers = await this.events.publish(events);
        deepStrictEqual(
          answers.map(({ isNew }) => isNew),
          this.oracle.publish(events),
        );
        return;
      }
      case "work":
        // A whole run, as most of them go, up to some phase.
        for (const [phase, dice] of RUN.slice(0, 1 + (one % RUN.length)))
          await this.#take({ action: phase, who: 0, dice: [...dice, two] }, name);
        return;
      case "begin": {
        if (consumer === undefined) return;
        const begun = { token: this.#draw("t"), jobId: this.#draw("job-") };
        const isManual = one % 4 === 0;
        const answer = await this.events.begin({ ...key, ...begun, isManual });
        const expected = this.oracle.begin(consumer, begun.token, begun.jobId, isManual);
        strictEqual(typeof answer === "string" ? answer : "begun", expected);
        if (expected === "begun") this.#sessions.set(name, begun);
        return;
      }
      case "reserve": {
        if (consumer === undefined) return;
        const events = this.#someEvents(consumer, one);
        const reservation = { key: this.#draw("run"), events, prepared: "{}", isIntent: two % 3 !== 0 };
        const answer = await codeOf(this.events.reserve({ ...key, ...session }, reservation));
        const { token } = session;
        strictEqual(
          answer,
          this.oracle.reserve(consumer, token, reservation.key, namesOf(events), reservation.isIntent),
        );
        return;
      }
      case "mutate":
        return this.#mutate(name, consumer, session, one);
      case "settle":
        return this.#settle(name, consumer, session, [one, two, three, four]);
      case "settle again": {
        if (this.#lastSettle === undefined) return;
        const { schedule, token, settlement } = this.#lastSettle;
        const before = this.decisions.length;
        const answer = await codeOf(
          this.events.settle({ agent: "a", schedule, token }, settlement),
          resultOf,
        );
        const last = this.model.consumers.get({ agent: "a", schedule })?.kept.last;
        if (last?.token === token && last.key === settlement.key) strictEqual(answer, "settled");
        strictEqual(this.decisions.length, before);
        return;
      }
      case "settle late": {
        const old = this.#old[one % Math.max(1, this.#old.length)];
        if (old === undefined || !this.oracle.consumers.has(old.schedule)) return;
        const before = this.decisions.length;
        const claim = { agent: "a", ...old };
        const outcome: SettledOutcome = { kind: "committed", publish: this.#somePublications(one, two) };
        const settled = this.events.settle(claim, { key: this.#draw("late"), outcome, ends: "session" });
        deepStrictEqual(await settled, { result: "superseded" });
        strictEqual(await this.events.noteMutation(claim, { kind: "none" }), "superseded");
        strictEqual(this.decisions.length, before);
        return;
      }
      case "crash":
        for (const [schedule, { token }] of this.#sessions) this.#old.push({ schedule, token });
        this.#sessions.clear();
        this.oracle.crash();
        await this.events.recover();
        this.#noteSuspended();
        return;
      case "resolve": {
        const jobId = this.#suspended[one % Math.max(1, this.#suspended.length)] ?? "job-none";
        const run = [...this.oracle.consumers.values()].find((other) => other.run?.jobId === jobId)?.run;
        const isApplied = run !== undefined && this.#appliedKeys.has(run.key);
        const kind =
          (["reconcile", "skip", isApplied ? "applied" : "not-applied"] as const)[two % 3] ?? "skip";
        const resolution = kind === "applied" ? { kind, result: "1" } : { kind, note: "looked" };
        const answer = await codeOf(this.events.resolve(jobId, resolution), () => "resolved");
        strictEqual(answer, this.oracle.resolve(jobId, kind));
        return;
      }
      case "wait": {
        const ms = WAITS_MS[one % WAITS_MS.length] ?? 0;
        await this.clock.advance(ms);
        this.oracle.nowMs += ms;
        return;
      }
      case "define":
        await this.define([one, two, three]);
        this.#noteSuspended();
        return;
      case "wake":
        this.oracle.wake();
        await this.events.wake("a");
        return;
      case "prune":
        this.#forgetPruned(one % 2 === 0);
        await this.events.prune({ isAsked: one % 2 === 0 });
    }
  }

  /** The outside world changes, and the process may die before it says so. */
  async #mutate(
    name: string,
    consumer: OracleConsumer | undefined,
    { token }: Session,
    die: number,
  ): Promise<void> {
    const run = consumer?.run;
    const isOwn = run?.mutation === "intended" && consumer?.claim?.token === token;
    const kind = die % 3 === 0 && !this.#appliedKeys.has(run?.key ?? "") ? "none" : "applied";
    if (consumer === undefined) return;
    if (isOwn && kind === "applied" && !this.#appliedKeys.has(run.key)) {
      this.#appliedKeys.add(run.key);
      for (const event of run.events) {
        const place = `${name} ${event}`;
        this.changes.set(place, (this.changes.get(place) ?? 0) + 1);
        strictEqual(this.changes.get(place), 1, `changes by ${place}`);
      }
      if (die % 5 === 0) return;
    }
    const note = kind === "applied" ? ({ kind, result: "1" } as const) : ({ kind } as const);
    const claim = { agent: "a", schedule: name, token };
    strictEqual(await codeOf(this.events.noteMutation(claim, note)), this.oracle.note(consumer, token, kind));
  }

  async #settle(
    name: string,
    consumer: OracleConsumer | undefined,
    { token }: Session,
    [one = 0, two = 0, three = 0, four = 0]: readonly number[],
  ): Promise<void> {
    if (consumer === undefined) return;
    const { run } = consumer;
    const outcome = this.#someOutcome(one, two);
    const isOpen = run !== undefined && three % 8 !== 0;
    const events = "events" in outcome && !isOpen ? this.#someEvents(consumer, three) : [];
    const given: SettledOutcome = "events" in outcome ? { ...outcome, events } : outcome;
    // A session that has changed the world does not say that it has not.
    const isTakenBack = four % 3 === 0 && !this.#appliedKeys.has(run?.key ?? "");
    const isLast = ["transient", "failed", "suspended"].includes(given.kind);
    const ends = isLast ? "idle" : ((["session", "idle", "run"] as const)[four % 3] ?? "idle");
    const mutation = isTakenBack ? ("none" as const) : undefined;
    const settlement = { key: run?.key ?? this.#draw("run"), outcome: given, mutation, ends };
    const claim = { agent: "a", schedule: name, token };
    const answer = await codeOf(this.events.settle(claim, settlement), (settled) =>
      settled.result === "superseded"
        ? "superseded"
        : settled.isEnded
          ? "ended"
          : settled.goesOn
            ? "goes on"
            : "stays",
    );
    const expected = this.oracle.settle(
      consumer,
      token,
      oracleOutcome(given),
      namesOf(events),
      isTakenBack,
      ends,
    );
    strictEqual(answer, expected);
    if (!["ended", "goes on", "stays"].includes(expected)) return;
    if (given.kind !== "unused") this.#lastSettle = { schedule: name, token, settlement };
    this.#noteSuspended();
    if (expected !== "ended") return;
    this.#sessions.delete(name);
    this.#old.push({ schedule: name, token });
  }

  #someOutcome(one: number, two: number): SettledOutcome {
    const at = new Date(this.oracle.nowMs + (WAITS_MS[two % 4] ?? 0));
    const publish = two % 3 === 0 ? this.#somePublications(one, two) : [];
    const outcomes: readonly SettledOutcome[] = [
      { kind: "committed", publish, state: `${two}`, events: [] },
      { kind: "committed", publish, events: [] },
      { kind: "nothing", publish, wakesAt: at, wakes: "asked" },
      { kind: "nothing", publish, wakesAt: new Date(at.getTime() + 60_000), wakes: "timeout" },
      { kind: "transient", retryAt: at, error: "busy", events: [] },
      { kind: "failed", error: "no", events: [] },
      { kind: "suspended", error: "unknown" },
      { kind: "released" },
      { kind: "unused" },
    ];
    return outcomes[one % outcomes.length] ?? { kind: "unused" };
  }

  #somePublications(one: number, two: number): { topic: string; id: string; payload: string }[] {
    return Array.from({ length: 1 + (one % 3) }, (_, index) => ({
      topic: TOPICS[(one + index * two) % 2] ?? "",
      id: `e${(two + index * (1 + (one % 2))) % 6}`,
      payload: `${(one >> 2) % 3}`,
    }));
  }

  /** Of the events that the consumer could reserve, some; sometimes with one that it could not. */
  #someEvents(consumer: OracleConsumer, die: number): EventIds[] {
    const free = this.oracle.free(consumer).filter((_, index) => ((die >> (index % 8)) & 1) === 1);
    const names = die % 11 === 0 ? [...free, "orders e9"] : free;
    return names.map((name) => {
      const [topic = "", id = ""] = name.split(" ");
      return { topic, ids: [id] };
    });
  }

  #noteSuspended(): void {
    for (const { run } of this.oracle.consumers.values())
      if (run?.mutation === "suspended") this.#suspended.push(run.jobId);
  }

  /** An event that is forgotten may come again, and be worked on again. */
  #forgetPruned(isAsked: boolean): void {
    const before = new Set(this.oracle.events.keys());
    const had = new Map(
      [...this.oracle.consumers].map(([name, { entries }]) => [name, new Set(entries.keys())]),
    );
    this.oracle.prune(isAsked);
    for (const event of before)
      if (!this.oracle.events.has(event))
        for (const name of CONSUMERS) this.changes.delete(`${name} ${event}`);
    for (const [name, events] of had)
      for (const event of events)
        if (this.oracle.consumers.get(name)?.entries.has(event) !== true)
          this.changes.delete(`${name} ${event}`);
  }

  /** Whether the model, the oracle, and what can be rebuilt from facts are the same. */
  check(): void {
    for (const [name, expected] of this.oracle.consumers) {
      const consumer = this.model.consumers.get({ agent: "a", schedule: name });
      if (consumer === undefined) throw new Error(`${name} is missing`);
      const entries = [...consumer.subscriptions.values()].flatMap(({ topic, pending }) =>
        Array.from(pending, ([seq, { attempt, run }]) => [
          `${topic.name} ${topic.events.get(seq)?.id}`,
          { isReserved: run !== null, attempt },
        ]),
      );
      deepStrictEqual(
        Object.fromEntries(entries),
        Object.fromEntries(expected.entries),
        `what is pending for ${name}`,
      );
      const due = dueOf(consumer);
      const isDue = typeof due === "string" ? due : due.dueMs <= this.oracle.nowMs ? "due" : "not_due";
      strictEqual(isDue, this.oracle.notDue(expected) ?? "due", `${name} is due`);
      const { state, run, claim, retry, interruptions } = consumer.kept;
      deepStrictEqual(
        {
          state: state ?? undefined,
          mutation: run?.mutation.kind,
          token: claim?.token,
          retryMs: retry?.at_ms,
          interruptions,
        },
        {
          state: expected.state,
          mutation: expected.run?.mutation,
          token: expected.claim?.token,
          retryMs: expected.retry?.atMs,
          interruptions: expected.interruptions,
        },
      );
    }
    deepStrictEqual(
      this.#keptPayloads(),
      new Map([...this.oracle.events].map(([name, { payload }]) => [name, payload])),
      "the kept events",
    );
    this.#checkRebuilt();
  }

  #keptPayloads(): Map<string, string> {
    const payloads = new Map<string, string>();
    for (const { name, events } of this.model.topics.values()) {
      for (const { id, payload } of events.values()) payloads.set(`${name} ${id}`, payload);
      for (const { id, payload } of this.consumed.read(name)) {
        strictEqual(payloads.has(`${name} ${id}`), false, "an event is pending or consumed");
        payloads.set(`${name} ${id}`, payload);
      }
    }
    return payloads;
  }

  #checkRebuilt(): void {
    const snapshot = snapshotOf(this.model);
    deepStrictEqual(JSON.parse(JSON.stringify(snapshot)), snapshot);
    const now = plain(this.model);
    const rebuilt = rebuiltFrom(this.decisions);
    deepStrictEqual(plain(rebuilt.model), now);
    const { text, after, consumed } = this.#snapshot;
    const kept = copyOf(consumed);
    const fromSnapshot = modelOf(JSON.parse(text) as EventSnapshot, kept);
    for (const facts of this.decisions.slice(after)) applyFacts(fromSnapshot, facts);
    deepStrictEqual(plain(fromSnapshot), now);
    for (const topic of TOPICS) {
      deepStrictEqual(rebuilt.consumed.read(topic), this.consumed.read(topic));
      deepStrictEqual(kept.read(topic), this.consumed.read(topic));
    }
  }

  #takeSnapshot(): Snapshot {
    const text = JSON.stringify(snapshotOf(this.model));
    return { text, after: this.decisions.length, consumed: copyOf(this.consumed) };
  }

  #draw(kind: string): string {
    return `${kind}${++this.#drawn}`;
  }
}

function copyOf(events: MemoryConsumedEvents): MemoryConsumedEvents {
  const copy = new MemoryConsumedEvents();
  for (const topic of TOPICS) for (const event of events.read(topic)) copy.add(topic, event);
  return copy;
}

function namesOf(events: readonly EventIds[]): string[] {
  return events.flatMap(({ topic, ids }) => ids.map((id) => `${topic} ${id}`));
}

function oracleOutcome(outcome: SettledOutcome): OracleOutcome {
  const { kind } = outcome;
  if (kind === "committed") return { kind, publish: outcome.publish ?? [], state: outcome.state };
  if (kind === "nothing") return { kind, publish: outcome.publish ?? [], untilMs: outcome.wakesAt.getTime() };
  return kind === "transient" ? { kind, atMs: outcome.retryAt.getTime() } : { kind };
}

function resultOf({ result }: { readonly result: string }): string {
  return result;
}

/** What a call resolved with, or the code that it was refused with. */
async function codeOf<Answer>(
  call: Promise<Answer>,
  say: (answer: Answer) => string = String,
): Promise<string> {
  try {
    return say(await call);
  } catch (error) {
    if (error instanceof EventError) return error.code;
    throw error;
  }
}
