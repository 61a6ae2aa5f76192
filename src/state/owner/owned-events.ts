/**
 * The events of a store with one owner: each call is decided by the rules on the model in memory, applied to it, and
 * handed to the store as facts to keep. Where they are kept, and what durable means there, is up to the store.
 */
import type { StoreClock } from "../../clock.js";
import type { Logger } from "../../logger.js";
import { applyFacts } from "../events/apply-fact.js";
import { defineEvents, pruneEvents, type ReadConsumed, topicsFromStart } from "../events/define-rules.js";
import { EventError } from "../events/errors.js";
import { checkEvents, checkTopic } from "../events/event-checks.js";
import type { EventFact } from "../events/event-facts.js";
import {
  type ConsumerModel,
  type EventModel,
  isOpen,
  type LiveEvent,
  openSubscriptions,
  type TopicModel,
} from "../events/event-model.js";
import type {
  EventDefinitions,
  EventIds,
  EventStore,
  ConsumerStatus,
  KeptEvent,
  ListOptions,
  MutationNote,
  NewEvent,
  PeekOptions,
  PendingEvent,
  Production,
  Pruned,
  PruneOptions,
  Publication,
  Reservation,
  Resolution,
  Session,
  SessionRefusal,
  SessionRequest,
  SessionToken,
  Settled,
  Settlement,
  TopicStatus,
} from "../events/event-store.js";
import { planPublish, wokenBy } from "../events/publish-rules.js";
import {
  interruptSession,
  recoverConsumer,
  resolveRun,
  suspendedBy,
  wakeConsumer,
} from "../events/recovery-rules.js";
import {
  beginSession,
  keyOf,
  knownConsumer,
  named,
  noteMutation,
  reserveEvents,
  sessionOf,
} from "../events/session-rules.js";
import { settleRun } from "../events/settle-rules.js";
import { consumerStatus, getEvents, peekEvents, topicStatus } from "../events/status.js";
import { checkKey } from "../validate-state.js";
import type { ScheduleKey } from "../store.js";

export interface OwnedEventsOptions {
  readonly model: EventModel;
  readonly clock: StoreClock;
  readonly logger: Logger;
  readonly leaseMs: number;
  /** Throws unless the store is open and owns its states. */
  readonly requireOwner: () => void;
  /** Resolves when the facts are durable, all of them. */
  readonly keep: (facts: readonly EventFact[]) => Promise<void>;
  /** What reads the consumed events of these topics: it returns the ones that are consumed when it is called. */
  readonly openConsumed: (topics: ReadonlySet<string>) => Promise<ReadConsumed>;
}

export class OwnedEvents implements EventStore {
  readonly #options: OwnedEventsOptions;
  readonly #model: EventModel;
  /** When the leases of claims end, on the monotonic clock, by token. */
  readonly #leases = new Map<string, number>();
  readonly #listeners = new Set<(consumers: readonly ScheduleKey[]) => void>();

  constructor(options: OwnedEventsOptions) {
    this.#options = options;
    this.#model = options.model;
  }

  /** Frees what an owner that died left running. `isDamaged`: facts that it had kept are missing. */
  async recover(isDamaged = false): Promise<void> {
    this.#leases.clear();
    const nowMs = this.#nowMs();
    const recovered: EventFact[] = [];
    for (const consumer of this.#model.consumers.values()) {
      // Each step leads on to the next, until nothing is left to decide.
      for (;;) {
        const facts = recoverConsumer(consumer, { nowMs, isDamaged });
        if (facts.length === 0) break;
        applyFacts(this.#model, facts);
        recovered.push(...facts);
      }
    }
    if (recovered.length > 0) await this.#options.keep(recovered);
  }

  async define(definitions: EventDefinitions): Promise<void> {
    this.#options.requireOwner();
    for (const { topic } of definitions.topics) checkTopic(topic);
    for (const key of [...definitions.consumers, ...definitions.producers]) checkKey(key);
    const readConsumed = await this.#options.openConsumed(topicsFromStart(this.#model, definitions));
    const facts = defineEvents(this.#model, definitions, readConsumed, this.#nowMs());
    await this.#commit(facts, undefined);
  }

  async publish(events: readonly NewEvent[]): Promise<readonly Publication[]> {
    this.#options.requireOwner();
    checkEvents(events);
    const { facts, published } = planPublish(this.#model, events, this.#nowMs());
    return this.#commit(facts, published);
  }

  async peek(key: ScheduleKey, options: PeekOptions): Promise<readonly PendingEvent[]> {
    return peekEvents(knownConsumer(this.#model, key), options);
  }

  async get(key: ScheduleKey, events: EventIds): Promise<readonly PendingEvent[]> {
    return getEvents(knownConsumer(this.#model, key), events);
  }

  async counts(key: ScheduleKey): Promise<ReadonlyMap<string, number>> {
    const counts = new Map<string, number>();
    for (const { topic, pending, reservedCount } of openSubscriptions(knownConsumer(this.#model, key)))
      counts.set(topic.name, pending.size - reservedCount);
    return counts;
  }

  async begin(request: SessionRequest): Promise<Session | SessionRefusal> {
    const consumer = await this.#held(request);
    const fact = beginSession(consumer, request, this.#nowMs());
    if (typeof fact === "string") return fact;
    this.#leases.set(request.token, this.#options.clock.monotonic() + this.#options.leaseMs);
    await this.#commit(fact === undefined ? [] : [fact], undefined);
    return sessionOf(consumer, request);
  }

  async renew(claim: SessionToken): Promise<boolean> {
    const consumer = await this.#held(claim);
    if (consumer.kept.claim?.token !== claim.token) return false;
    this.#leases.set(claim.token, this.#options.clock.monotonic() + this.#options.leaseMs);
    return true;
  }

  async reserve(claim: SessionToken, reservation: Reservation): Promise<"reserved" | "superseded"> {
    const consumer = await this.#held(claim);
    const fact = reserveEvents(consumer, claim, reservation, this.#nowMs());
    if (fact === "superseded") return fact;
    return this.#commit(fact === undefined ? [] : [fact], "reserved");
  }

  async noteMutation(claim: SessionToken, mutation: MutationNote): Promise<"noted" | "superseded"> {
    const fact = noteMutation(await this.#held(claim), claim, mutation);
    if (fact === "superseded") return fact;
    return this.#commit(fact === undefined ? [] : [fact], "noted");
  }

  async settle(claim: SessionToken, settlement: Settlement): Promise<Settled> {
    const { outcome } = settlement;
    if ("publish" in outcome) checkEvents(outcome.publish ?? []);
    const consumer = await this.#held(claim);
    const { facts, answer } = settleRun(this.#model, consumer, claim, settlement, this.#nowMs());
    if (answer.result === "settled" && answer.isEnded) this.#leases.delete(claim.token);
    return this.#commit(facts, answer);
  }

  async produce({ agent, schedule, publish, state }: Production): Promise<readonly Publication[]> {
    this.#options.requireOwner();
    checkEvents(publish);
    const key = { agent, schedule };
    if (this.#model.producers.get(key) === undefined)
      throw new EventError("UNKNOWN_PRODUCER", `Unknown producer ${named(key)}: define it first.`);
    const { facts, published } = planPublish(this.#model, publish, this.#nowMs());
    const produced: readonly EventFact[] = state === undefined ? [] : [{ fact: "produced", ...key, state }];
    return this.#commit([...facts, ...produced], published);
  }

  async producerState(key: ScheduleKey): Promise<string | undefined> {
    return this.#model.producers.get(key)?.state ?? undefined;
  }

  async resolve(jobId: string, resolution: Resolution): Promise<ScheduleKey> {
    this.#options.requireOwner();
    const consumer = suspendedBy(this.#model, jobId);
    return this.#commit([resolveRun(consumer, resolution)], keyOf(consumer));
  }

  async wake(agent: string): Promise<void> {
    this.#options.requireOwner();
    const facts = this.#consumersOf(agent).flatMap((consumer) => wakeConsumer(consumer) ?? []);
    await this.#commit(facts, undefined);
  }

  async prune({ isAsked = false }: PruneOptions = {}): Promise<Pruned> {
    this.#options.requireOwner();
    const facts = pruneEvents(this.#model, this.#nowMs(), isAsked);
    const subscriptions = facts.flatMap((fact) => {
      if (fact.fact === "pruned" || fact.topic === null) return [];
      const pendingCount = this.#model.consumers.get(fact)?.subscriptions.get(fact.topic)?.pending.size ?? 0;
      return [{ ...keyOf(fact), topic: fact.topic, pendingCount }];
    });
    const topics = facts.flatMap((fact) => (fact.fact === "pruned" ? [fact.topic] : []));
    return this.#commit(facts, { topics, subscriptions });
  }

  async list(
    topic: string,
    { afterSeq = 0, limit, isNewestFirst = false }: ListOptions,
  ): Promise<readonly KeptEvent[]> {
    const readConsumed = await this.#options.openConsumed(new Set([topic]));
    const known = this.#model.topics.get(topic);
    if (known === undefined) return [];
    const live = Array.from(known.events.values(), (event) =>
      keptEvent(topic, event, pendingFor(known, event.seq)),
    );
    const consumed = readConsumed(topic).map(({ published_ms, ...event }) =>
      keptEvent(topic, { ...event, publishedMs: published_ms }, []),
    );
    return [...live, ...consumed]
      .filter(({ seq }) => seq > afterSeq)
      .toSorted((a, b) => (isNewestFirst ? b.seq - a.seq : a.seq - b.seq))
      .slice(0, limit);
  }

  async topics(): Promise<readonly TopicStatus[]> {
    return Array.from(this.#model.topics.values(), topicStatus);
  }

  async consumers(agent?: string): Promise<readonly ConsumerStatus[]> {
    const nowMs = this.#nowMs();
    return this.#consumersOf(agent).map((consumer) => consumerStatus(consumer, nowMs));
  }

  onPublished(listener: (consumers: readonly ScheduleKey[]) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #consumersOf(agent: string | undefined): readonly ConsumerModel[] {
    const consumers = [...this.#model.consumers.values()];
    return agent === undefined ? consumers : consumers.filter((consumer) => consumer.agent === agent);
  }

  /** The consumer of a call by a session. A claim whose lease has ended is interrupted first. */
  async #held(key: ScheduleKey): Promise<ConsumerModel> {
    this.#options.requireOwner();
    const consumer = knownConsumer(this.#model, key);
    const { claim } = consumer.kept;
    if (claim === null) return consumer;
    const endsMs = this.#leases.get(claim.token) ?? -Infinity;
    if (this.#options.clock.monotonic() < endsMs) return consumer;
    this.#leases.delete(claim.token);
    const error = "its claim was not renewed in time";
    await this.#commit([interruptSession(consumer, claim, this.#nowMs(), error)], undefined);
    return consumer;
  }

  /** Applies what was decided, and resolves with the answer when it is durable. */
  async #commit<Answer>(facts: readonly EventFact[], answer: Answer): Promise<Answer> {
    if (facts.length === 0) return answer;
    applyFacts(this.#model, facts);
    await this.#options.keep(facts);
    const woken = wokenBy(this.#model, facts).map(keyOf);
    if (woken.length > 0) for (const listener of this.#listeners) this.#tell(listener, woken);
    return answer;
  }

  #tell(listener: (consumers: readonly ScheduleKey[]) => void, woken: readonly ScheduleKey[]): void {
    try {
      listener(woken);
    } catch (error) {
      this.#options.logger.error(`A listener for published events failed: ${String(error)}`);
    }
  }

  #nowMs(): number {
    return this.#options.clock.now().getTime();
  }
}

function keptEvent(
  topic: string,
  { seq, id, payload, publishedMs }: Omit<LiveEvent, "pendingCount">,
  consumers: readonly ScheduleKey[],
): KeptEvent {
  return { topic, seq, id, payload, publishedAt: new Date(publishedMs), pendingFor: consumers };
}

function pendingFor({ subscriptions }: TopicModel, seq: number): readonly ScheduleKey[] {
  const consumers: ScheduleKey[] = [];
  for (const subscription of subscriptions)
    if (isOpen(subscription) && subscription.pending.has(seq)) consumers.push(keyOf(subscription.consumer));
  return consumers;
}
