/**
 * What the rules of events come to, said a second time and as plainly as possible: no numbers, no facts, no patches. News
 * are counted by steps: every change of the world is one, and a consumer remembers the step of its latest news.
 */

/** "topic id" */
type EventName = string;

export interface OracleEvent {
  payload: string;
  readonly topic: string;
  readonly publishedMs: number;
}

interface Entry {
  isReserved: boolean;
  attempt: number;
}

interface OracleRun {
  readonly key: string;
  readonly events: readonly EventName[];
  mutation: "none" | "intended" | "applied" | "skipped" | "suspended";
  jobId: string;
}

/** What a run saw when it began. */
interface Examined {
  readonly step: number;
  readonly topics: readonly string[];
}

export interface OracleConsumer {
  isDefined: boolean;
  canReconcile: boolean;
  /** Topics, and since when one is closed. */
  readonly subscriptions: Map<string, { closedMs: number | undefined }>;
  readonly entries: Map<EventName, Entry>;
  /** The step of the latest news, by topic. */
  readonly newsSteps: Map<string, number>;
  sleep: (Examined & { untilMs: number }) | undefined;
  retry: { atMs: number; tries: number } | undefined;
  run: OracleRun | undefined;
  claim: (Examined & { token: string; jobId: string }) | undefined;
  interruptions: number;
  state: string | undefined;
}

export interface OraclePublication {
  readonly topic: string;
  readonly id: string;
  readonly payload: string;
}

export type OracleOutcome =
  | { kind: "committed"; publish: readonly OraclePublication[]; state?: string | undefined }
  | { kind: "nothing"; publish: readonly OraclePublication[]; untilMs: number }
  | { kind: "transient"; atMs: number }
  | { kind: "failed" | "suspended" | "released" | "unused" };

const RETENTION_MS = 3_600_000;
const REMOVED_MS = 30 * 86_400_000;
const WAITS_MS = [0, 60_000, 120_000];
const LONGEST_WAIT_MS = 240_000;

export class EventOracle {
  readonly events: Map<EventName, OracleEvent> = new Map();
  readonly consumers: Map<string, OracleConsumer> = new Map();
  nowMs: number;
  #step = 1;

  constructor(nowMs: number) {
    this.nowMs = nowMs;
  }

  define(definitions: Readonly<Record<string, { topics: readonly string[]; canReconcile: boolean }>>): void {
    for (const [name, { topics, canReconcile }] of Object.entries(definitions)) {
      const consumer = this.consumers.get(name) ?? newConsumer();
      this.consumers.set(name, consumer);
      let isChanged = !consumer.isDefined;
      for (const topic of topics) {
        if (consumer.subscriptions.get(topic)?.closedMs === undefined && consumer.subscriptions.has(topic))
          continue;
        consumer.subscriptions.set(topic, { closedMs: undefined });
        isChanged = true;
      }
      Object.assign(consumer, { isDefined: true, canReconcile });
      this.#close(consumer, (topic) => !topics.includes(topic));
      if (isChanged) consumer.sleep = undefined;
      const { run, claim } = consumer;
      if (claim === undefined && run?.mutation === "intended" && !canReconcile) {
        run.mutation = "suspended";
        consumer.retry = undefined;
      }
    }
    for (const [name, consumer] of this.consumers)
      if (!(name in definitions)) {
        consumer.isDefined = false;
        this.#close(consumer, () => true);
      }
  }

  #close(consumer: OracleConsumer, isGone: (topic: string) => boolean): void {
    for (const [topic, subscription] of consumer.subscriptions)
      if (isGone(topic)) subscription.closedMs ??= this.nowMs;
  }

  publish(events: readonly OraclePublication[]): boolean[] {
    return events.map(({ topic, id, payload }) => {
      const name = `${topic} ${id}`;
      const known = this.events.get(name);
      if (known === undefined) {
        this.events.set(name, { topic, payload, publishedMs: this.nowMs });
        for (const consumer of this.consumers.values())
          if (isOpen(consumer, topic)) {
            consumer.entries.set(name, { isReserved: false, attempt: 1 });
            consumer.newsSteps.set(topic, this.#next());
          }
        return true;
      }
      if (known.payload === payload) return false;
      known.payload = payload;
      for (const consumer of this.consumers.values())
        if (isOpen(consumer, topic) && consumer.entries.get(name)?.isReserved === false)
          consumer.newsSteps.set(topic, this.#next());
      return false;
    });
  }

  free(consumer: OracleConsumer): EventName[] {
    return [...consumer.entries]
      .filter(([name, { isReserved }]) => !isReserved && isOpen(consumer, topicOf(name)))
      .map(([name]) => name);
  }

  /** Why it is not due; `undefined` when it is. */
  notDue(consumer: OracleConsumer, isManual = false): string | undefined {
    const { claim, isDefined, retry, run, sleep } = consumer;
    if (claim !== undefined) return "running";
    if (!isDefined) return "undefined";
    if (run?.mutation === "suspended") return "suspended";
    if (run === undefined && this.free(consumer).length === 0) return "no_work";
    if (isManual) return undefined;
    if (retry !== undefined) return retry.atMs <= this.nowMs ? undefined : "not_due";
    const isAwake = sleep === undefined || run !== undefined || hasNews(consumer, sleep);
    return isAwake || sleep.untilMs <= this.nowMs ? undefined : "not_due";
  }

  begin(consumer: OracleConsumer, token: string, jobId: string, isManual: boolean): string {
    const reason = this.notDue(consumer, isManual);
    if (reason !== undefined) return reason;
    consumer.claim = { token, jobId, ...this.#examined(consumer) };
    return "begun";
  }

  reserve(
    consumer: OracleConsumer,
    token: string,
    key: string,
    wanted: readonly EventName[],
    isIntent: boolean,
  ): string {
    const { claim, run } = consumer;
    if (claim?.token !== token) return "superseded";
    if (run?.key === key) return "reserved";
    if (run !== undefined) return "RUN_OPEN";
    const free = new Set(this.free(consumer));
    if (!wanted.every((name) => free.has(name))) return "EVENTS_NOT_PENDING";
    if (wanted.length === 0) return "NOTHING_TAKEN";
    for (const name of wanted) entryOf(consumer, name).isReserved = true;
    consumer.run = {
      key,
      events: [...new Set(wanted)],
      mutation: isIntent ? "intended" : "none",
      jobId: claim.jobId,
    };
    return "reserved";
  }

  note(consumer: OracleConsumer, token: string, mutation: "applied" | "none"): string {
    const { claim, run } = consumer;
    if (claim?.token !== token) return "superseded";
    if (run?.mutation === mutation) return "noted";
    if (run?.mutation !== "intended") return "NO_INTENT";
    run.mutation = mutation;
    return "noted";
  }

  settle(
    consumer: OracleConsumer,
    token: string,
    outcome: OracleOutcome,
    handled: readonly EventName[],
    isTakenBack: boolean,
    ends: "session" | "idle" | "run",
  ): string {
    const { claim, run } = consumer;
    if (claim?.token !== token) return "superseded";
    if (outcome.kind === "unused") {
      const isContinued = run?.mutation === "intended" ? consumer.canReconcile : run?.mutation !== "none";
      if (run !== undefined && !isContinued) return "RUN_OPEN";
      return this.#endClaim(consumer, false, ends);
    }
    if (run !== undefined && handled.length > 0) return "RUN_OPEN";
    const mutation =
      run === undefined || (isTakenBack && run.mutation === "intended") ? "none" : run.mutation;
    if (mutation === "intended" && outcome.kind !== "suspended") return "MUTATION_UNDECIDED";
    const isUndone = mutation === "none";
    const free = new Set(this.free(consumer));
    const isAllFree = handled.every((name) => free.has(name));
    switch (outcome.kind) {
      case "committed": {
        if (!isAllFree) return "EVENTS_NOT_PENDING";
        const consumed = run?.events ?? handled;
        if (consumed.length === 0) return "NOTHING_TAKEN";
        this.publish(outcome.publish);
        for (const name of consumed) consumer.entries.delete(name);
        consumer.run = undefined;
        if (outcome.state !== undefined) consumer.state = outcome.state;
        break;
      }
      case "nothing":
        if (run !== undefined) return "RUN_OPEN";
        this.publish(outcome.publish);
        break;
      case "transient":
      case "failed":
        if (!isAllFree) return "EVENTS_NOT_PENDING";
        for (const name of run === undefined ? handled : isUndone ? run.events : []) release(consumer, name);
        if (isUndone) consumer.run = undefined;
        break;
      case "released":
        if (run === undefined || !isUndone) return "NO_INTENT";
        for (const name of run.events) release(consumer, name);
        consumer.run = undefined;
        break;
      case "suspended":
        if (run === undefined || mutation !== "intended") return "NO_INTENT";
        Object.assign(run, { mutation: "suspended", jobId: claim.jobId });
        break;
    }
    const tries = consumer.retry?.tries ?? 0;
    consumer.retry = outcome.kind === "transient" ? { atMs: outcome.atMs, tries: tries + 1 } : undefined;
    consumer.sleep = outcome.kind === "nothing" ? { ...claim, untilMs: outcome.untilMs } : undefined;
    consumer.interruptions = 0;
    return this.#endClaim(consumer, ["committed", "nothing", "released"].includes(outcome.kind), ends);
  }

  #endClaim(consumer: OracleConsumer, mayGoOn: boolean, ends: "session" | "idle" | "run"): string {
    const { claim } = consumer;
    consumer.claim = undefined;
    const goesOn = mayGoOn && this.notDue(consumer) === undefined;
    if (claim === undefined || ends === "session" || (ends === "idle" && !goesOn)) return "ended";
    consumer.claim = { ...claim, ...this.#examined(consumer) };
    return goesOn ? "goes on" : "stays";
  }

  /** The process died. */
  crash(): void {
    for (const consumer of this.consumers.values()) {
      const { claim, run } = consumer;
      if (claim === undefined) continue;
      consumer.claim = undefined;
      consumer.sleep = undefined;
      const waitMs = WAITS_MS[consumer.interruptions] ?? LONGEST_WAIT_MS;
      consumer.interruptions++;
      const tries = consumer.retry?.tries ?? 0;
      consumer.retry = waitMs > 0 || tries > 0 ? { atMs: this.nowMs + waitMs, tries } : undefined;
      if (run?.mutation === "none") {
        for (const name of run.events) release(consumer, name);
        consumer.run = undefined;
      }
      if (run?.mutation === "intended" && !consumer.canReconcile) {
        Object.assign(run, { mutation: "suspended", jobId: claim.jobId });
        consumer.retry = undefined;
      }
    }
  }

  resolve(jobId: string, kind: "applied" | "not-applied" | "reconcile" | "skip"): string {
    const consumer = [...this.consumers.values()].find(
      ({ run }) => run?.mutation === "suspended" && run.jobId === jobId,
    );
    if (consumer?.run === undefined) return "NOT_SUSPENDED";
    const { run } = consumer;
    if (kind === "reconcile" && !consumer.canReconcile) return "CANNOT_RECONCILE";
    Object.assign(consumer, { sleep: undefined, retry: undefined, interruptions: 0 });
    if (kind === "applied") run.mutation = "applied";
    else if (kind === "skip") run.mutation = "skipped";
    else if (kind === "reconcile") run.mutation = "intended";
    else {
      for (const name of run.events) release(consumer, name);
      consumer.run = undefined;
    }
    return "resolved";
  }

  wake(): void {
    for (const consumer of this.consumers.values()) consumer.sleep = undefined;
  }

  prune(isAsked: boolean): void {
    const isPending = (name: EventName): boolean =>
      [...this.consumers.values()].some(({ entries }) => entries.has(name));
    for (const [name, { publishedMs }] of this.events)
      if (!isPending(name) && publishedMs < this.nowMs - RETENTION_MS) this.events.delete(name);
    for (const [name, consumer] of this.consumers) {
      if (consumer.claim !== undefined || consumer.run !== undefined) continue;
      for (const [topic, { closedMs }] of consumer.subscriptions) {
        if (closedMs === undefined || !(isAsked || closedMs + REMOVED_MS <= this.nowMs)) continue;
        consumer.subscriptions.delete(topic);
        consumer.newsSteps.delete(topic);
        for (const event of consumer.entries.keys())
          if (topicOf(event) === topic) consumer.entries.delete(event);
      }
      if (!consumer.isDefined && consumer.subscriptions.size === 0) this.consumers.delete(name);
    }
  }

  #examined({ subscriptions }: OracleConsumer): Examined {
    const open = [...subscriptions].filter(([, { closedMs }]) => closedMs === undefined);
    return { step: this.#step, topics: open.map(([topic]) => topic) };
  }

  #next(): number {
    return ++this.#step;
  }
}

function newConsumer(): OracleConsumer {
  return {
    isDefined: false,
    canReconcile: false,
    subscriptions: new Map(),
    entries: new Map(),
    newsSteps: new Map(),
    sleep: undefined,
    retry: undefined,
    run: undefined,
    claim: undefined,
    interruptions: 0,
    state: undefined,
  };
}

/** Whether an open topic has news since, or has any and was not looked at. */
function hasNews(consumer: OracleConsumer, { step, topics }: Examined): boolean {
  return [...consumer.newsSteps].some(
    ([topic, newsStep]) => isOpen(consumer, topic) && (newsStep > step || !topics.includes(topic)),
  );
}

function isOpen({ subscriptions }: OracleConsumer, topic: string): boolean {
  const subscription = subscriptions.get(topic);
  return subscription !== undefined && subscription.closedMs === undefined;
}

function topicOf(name: EventName): string {
  return name.split(" ")[0] ?? "";
}

function entryOf({ entries }: OracleConsumer, name: EventName): Entry {
  const entry = entries.get(name);
  if (entry === undefined) throw new Error(`${name} is not there`);
  return entry;
}

function release(consumer: OracleConsumer, name: EventName): void {
  const entry = entryOf(consumer, name);
  Object.assign(entry, { isReserved: false, attempt: entry.attempt + 1 });
}
