import { type Arbitrary, array, assert, asyncProperty, constantFrom, nat, record } from "fast-check";
import { describe, expect, it } from "vitest";
import { StoreClock } from "../../../src/clock.js";
import { OwnedEvents } from "../../../src/state/owner/owned-events.js";
import type { EventModel } from "../../../src/state/events/event-model.js";
import { ACTIONS, EventDriver, silent, type Step } from "./event-driver.js";
import { rebuiltFrom } from "./model-comparison.js";

const weighted = ACTIONS.flatMap((action) => {
  const often = ["publish", "work", "begin", "reserve", "mutate", "settle"].includes(action);
  return Array.from({ length: often ? 4 : 1 }, () => action);
});
const step: Arbitrary<Step> = record({
  action: constantFrom(...weighted),
  who: nat(1),
  dice: array(nat(255), { minLength: 5, maxLength: 5 }),
});
const steps = array(step, { minLength: 1, maxLength: 60, size: "max" });

/** Steps on a new scene, each checked against the oracle. */
async function expectSame(taken: readonly Step[]): Promise<void> {
  const driver = new EventDriver();
  await driver.define();
  for (const one of taken) {
    await driver.step(one);
    driver.check();
  }
}

/** The same steps, and then a model that is made of all decisions but one. */
async function expectNoSecondChange(taken: readonly Step[], die: number): Promise<void> {
  const driver = new EventDriver();
  await driver.define();
  // Without what was defined there is no telling whom the events were for.
  for (const one of taken) if (one.action !== "define") await driver.step(one);
  // Mostly one of the last: what comes after it tells what it was.
  const later = driver.decisions.length - 1;
  const missing = die % 4 === 0 ? 1 + (die % Math.max(1, later)) : Math.max(1, later - (die % 3));
  const { model, consumed } = rebuiltFrom(driver.decisions.filter((_, index) => index !== missing));
  const events = new OwnedEvents({
    model,
    clock: new StoreClock(driver.clock),
    logger: silent,
    leaseMs: 1,
    requireOwner() {},
    keep: async () => {},
    openConsumed: async () => (topic) => consumed.read(topic),
  });
  await events.recover(true);
  const lost = new Set(
    (driver.decisions[missing] ?? []).flatMap((fact) =>
      fact.fact === "published" ? [`${fact.topic} ${fact.id}`] : [],
    ),
  );
  for (const [name, { entries }] of driver.oracle.consumers) {
    const { free, held, stuck } = pendingFor(model, name);
    expect(stuck, `what no run of ${name} has, and is reserved`).toEqual([]);
    const changedTwice = free.filter((event) => driver.changes.has(`${name} ${event}`));
    expect(changedTwice, `what ${name} may change a second time`).toEqual([]);
    const gone = [...entries.keys()].filter((event) => ![...lost, ...free, ...held].includes(event));
    expect(gone, `what ${name} has lost`).toEqual([]);
  }
}

function pendingFor(model: EventModel, schedule: string): Record<"free" | "held" | "stuck", string[]> {
  const found = { free: [] as string[], held: [] as string[], stuck: [] as string[] };
  const consumer = model.consumers.get({ agent: "a", schedule });
  if (consumer === undefined) return found;
  const { run: open, unsettled } = consumer.kept;
  const runs = new Set([open, ...unsettled].map((run) => run?.key));
  for (const { topic, pending } of consumer.subscriptions.values())
    for (const [seq, { run }] of pending) {
      const event = `${topic.name} ${topic.events.get(seq)?.id}`;
      (run === null ? found.free : found.held).push(event);
      if (run !== null && !runs.has(run)) found.stuck.push(event);
    }
  return found;
}

describe("the rules of events, in any order of calls and crashes", () => {
  it("lose no event and no wake, take none twice, and are rebuilt from their facts", async () => {
    await expect(assert(asyncProperty(steps, expectSame), { numRuns: 200 })).resolves.toBeUndefined();
  });

  it("make no second change where any one decision is missing from what was kept", async () => {
    const property = asyncProperty(steps, nat(), expectNoSecondChange);
    await expect(assert(property, { numRuns: 1_500 })).resolves.toBeUndefined();
  });
});
