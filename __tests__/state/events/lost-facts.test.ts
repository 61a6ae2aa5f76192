/** What a model is that was made of facts, where a damaged line has cost one decision. */
import { describe, expect, it } from "vitest";
import { FakeClock, StoreClock } from "../../../src/clock.js";
import { applyFacts } from "../../../src/state/events/apply-fact.js";
import type { EventFact } from "../../../src/state/events/event-facts.js";
import { emptyModel } from "../../../src/state/events/event-model.js";
import type { Session } from "../../../src/state/events/event-store.js";
import { snapshotOf } from "../../../src/state/events/snapshot.js";
import { MemoryConsumedEvents } from "../../../src/state/memory/memory-consumed-events.js";
import { OwnedEvents } from "../../../src/state/owner/owned-events.js";
import { silent } from "./event-driver.js";

const KEY = { agent: "a", schedule: "c" };
type Decisions = (readonly EventFact[])[];

/** Events that are made of decisions, and add theirs. */
function eventsOf(decisions: Decisions): OwnedEvents {
  const consumed = new MemoryConsumedEvents();
  const model = emptyModel(consumed);
  for (const facts of decisions) applyFacts(model, facts);
  return new OwnedEvents({
    model,
    clock: new StoreClock(new FakeClock("2026-03-01T00:00:00.000Z")),
    logger: silent,
    leaseMs: 30_000,
    requireOwner() {},
    keep: async (facts) => {
      decisions.push(facts);
    },
    openConsumed: async () => (topic) => consumed.read(topic),
  });
}

/** Two events, a session, and a run that has reserved the first and noted its change. */
async function changed(): Promise<{ decisions: Decisions; events: OwnedEvents; session: Session }> {
  const decisions: Decisions = [];
  const events = eventsOf(decisions);
  await events.define({
    topics: [{ topic: "in" }],
    consumers: [{ ...KEY, subscribes: [{ topic: "in" }] }],
    producers: [],
  });
  await events.publish(["1", "2"].map((id) => ({ topic: "in", id, payload: id })));
  const session = await events.begin({ ...KEY, token: "t", jobId: "job-1" });
  if (typeof session === "string") throw new Error(session);
  const reservation = { events: [{ topic: "in", ids: ["1"] }], prepared: "{}", isIntent: true };
  await events.reserve(session, { ...reservation, key: "run-1" });
  await events.noteMutation(session, { kind: "applied", result: "1" });
  return { decisions, events, session };
}

async function without(decisions: Decisions, fact: EventFact["fact"]): Promise<OwnedEvents> {
  const index = decisions.findIndex(([first]) => first?.fact === fact);
  if (index < 0) throw new Error(`There is no decision ${fact}.`);
  const events = eventsOf(decisions.toSpliced(index, 1));
  await events.recover(true);
  return events;
}

const peek = async (events: OwnedEvents): Promise<string[]> =>
  (await events.peek(KEY, { limit: 9 })).map(({ id }) => id);

describe("a model that lacks one decision", () => {
  it("keeps the events of a run whose reservation is missing, for a person to decide", async () => {
    const { decisions } = await changed();
    const events = await without(decisions, "reserved");
    const [status] = await events.consumers();
    expect(status).toMatchObject({
      activity: "suspended",
      run: { key: "run-1", reservations: [["in", [1]]] },
    });
    expect(await peek(events)).toEqual(["2"]);
    await events.resolve("job-1", { kind: "skip" });
    expect((await events.consumers())[0]?.activity).toBe("ready");
  });

  it("keeps all that is pending where a session may have reserved any of it", async () => {
    const { decisions } = await changed();
    const noted = decisions.findIndex(([first]) => first?.fact === "mutated");
    const events = await without(decisions.slice(0, noted), "reserved");
    expect((await events.consumers())[0]).toMatchObject({
      activity: "suspended",
      run: { reservations: [["in", [1, 2]]] },
    });
    expect(await peek(events)).toEqual([]);
  });

  it("keeps the events of a run whose end is missing, and goes on with the next run", async () => {
    const { decisions, events, session } = await changed();
    const done = { kind: "committed" } as const;
    await events.settle(session, { key: "run-1", outcome: done, ends: "idle" });
    const reservation = { events: [{ topic: "in", ids: ["2"] }], prepared: "{}", isIntent: true };
    await events.reserve(session, { ...reservation, key: "run-2" });
    await events.noteMutation(session, { kind: "applied", result: "2" });
    const rebuilt = await without(decisions, "settled");
    const [status] = await rebuilt.consumers();
    expect(status).toMatchObject({ run: { key: "run-2" }, unsettled: [[["in", [1]]]] });
    expect(await peek(rebuilt)).toEqual([]);
    const again = { ...reservation, key: "run-3", events: [{ topic: "in", ids: ["1"] }] };
    const next = await rebuilt.begin({ ...KEY, token: "u", jobId: "job-2" });
    expect(next).toMatchObject({ phase: "next", run: { key: "run-2" } });
    await rebuilt.settle({ ...KEY, token: "u" }, { key: "run-2", outcome: done, ends: "run" });
    const reserving = rebuilt.reserve({ ...KEY, token: "u" }, again);
    await expect(reserving).rejects.toMatchObject({ code: "EVENTS_NOT_PENDING", ids: ["1"] });
    await rebuilt.settle({ ...KEY, token: "u" }, { key: "", outcome: { kind: "unused" }, ends: "session" });
    await rebuilt.recover();
    expect((await rebuilt.consumers())[0]).toMatchObject({
      activity: "suspended",
      run: { key: "run-1", mutation: { kind: "suspended" } },
      unsettled: [],
    });
  });

  it("runs nothing again unasked where the end of a run is missing and the next session had begun", async () => {
    const { decisions, events, session } = await changed();
    await events.settle(session, { key: "run-1", outcome: { kind: "committed" }, ends: "session" });
    await events.begin({ ...KEY, token: "u", jobId: "job-2" });
    const index = decisions.findIndex(([first]) => first?.fact === "settled");
    const rebuilt = eventsOf(decisions.toSpliced(index, 1));
    await rebuilt.recover();
    expect((await rebuilt.consumers())[0]).toMatchObject({ activity: "suspended", run: { key: "run-1" } });
    expect(await peek(rebuilt)).toEqual(["2"]);
  });

  it("is not suspended where no session was open", async () => {
    const { decisions } = await changed();
    const begun = decisions.findIndex(([first]) => first?.fact === "begun");
    const events = await without(decisions.slice(0, begun), "published");
    expect(await peek(events)).toEqual([]);
    expect((await events.consumers())[0]?.activity).toBe("idle");
  });

  it("is the same where the facts of a definition were kept twice", async () => {
    const { decisions } = await changed();
    const [defined = []] = decisions;
    const modelOf = (all: Decisions): unknown => {
      const model = emptyModel(new MemoryConsumedEvents());
      for (const facts of all) applyFacts(model, facts);
      return snapshotOf(model);
    };
    expect(modelOf([defined, ...decisions])).toEqual(modelOf(decisions));
  });

  it("takes numbers from later events where a topic's definition is missing", async () => {
    const { decisions } = await changed();
    const events = await without(decisions, "topic");
    expect((await events.topics())[0]).toMatchObject({ topic: "in", number: 2, isDefined: true });
  });
});

describe("the model", () => {
  it("holds nothing of an event that is pending for no subscription", async () => {
    const { events, session, decisions } = await changed();
    await events.settle(session, { key: "run-1", outcome: { kind: "committed" }, ends: "run" });
    const outcome = { kind: "committed", events: [{ topic: "in", ids: ["2"] }] } as const;
    await events.settle(session, { key: "run-2", outcome, ends: "session" });
    const model = emptyModel(new MemoryConsumedEvents());
    for (const facts of decisions) applyFacts(model, facts);
    const { topics, consumers } = snapshotOf(model);
    expect(topics).toMatchObject([{ number: 2, events: [] }]);
    expect(consumers).toMatchObject([{ kept: { run: null, claim: null }, subscriptions: [{ pending: [] }] }]);
  });
});
