import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { FakeClock } from "../../../src/index.js";
import { ClaimQueue } from "../../../src/state/owner/claim-queue.js";
import type { ScheduleState } from "../../../src/state/schedule-state.js";
import type { ClaimToken, ScheduleKey } from "../../../src/state/store.js";

const START_MS = Date.parse("2026-03-01T00:00:00Z");
const LEASE_MS = 30_000;
const textOf = ({ agent, schedule }: ScheduleKey): string => `${agent}/${schedule}`;

/** The claim rules in the plainest way: lists, looked through from end to end. */
class PlainQueue {
  definitions: readonly ScheduleKey[] = [];
  maxConcurrent = 1;
  readonly states = new Map<string, Partial<ScheduleState>>();
  living: { name: string; agent: string; leaseEndsMs: number; token?: string }[] = [];

  take(limit: number, nowMs: number): string[] {
    this.living = this.living.filter(({ leaseEndsMs }) => leaseEndsMs > nowMs);
    const claimed: string[] = [];
    while (claimed.length < limit) {
      const [next] = this.definitions
        .map((definition, order) => ({ definition, order, dueMs: this.#claimableMs(definition, nowMs) }))
        .filter(({ dueMs }) => dueMs <= nowMs)
        .toSorted((a, b) => a.dueMs - b.dueMs || a.order - b.order);
      if (next === undefined) break;
      const { agent } = next.definition;
      this.living.push({ name: textOf(next.definition), agent, leaseEndsMs: nowMs + LEASE_MS });
      claimed.push(textOf(next.definition));
    }
    return claimed;
  }

  #claimableMs({ agent, schedule }: ScheduleKey, nowMs: number): number {
    const state = this.states.get(textOf({ agent, schedule }));
    if (state?.next_run_at == null || state.status === "disabled") return Infinity;
    if (this.living.some(({ name }) => name === textOf({ agent, schedule }))) return Infinity;
    if (this.living.filter((claim) => claim.agent === agent).length >= this.maxConcurrent) return Infinity;
    const pausedMs = state.paused_until == null ? 0 : Date.parse(state.paused_until);
    return pausedMs > nowMs ? Infinity : Math.max(Date.parse(state.next_run_at), pausedMs);
  }
}

const EVERY_KEY = ["a", "b", "c"].flatMap((agent) =>
  ["v", "w", "x", "y", "z"].map((schedule): ScheduleKey => ({ agent, schedule })),
);
const name = fc.constantFrom(...EVERY_KEY);
/** Few times, so that many schedules are due at the same. */
const iso = fc.integer({ min: -2, max: 4 }).map((times) => new Date(START_MS + times * 30_000).toISOString());
type Step =
  | { do: "define"; picks: ScheduleKey[]; max: number }
  | { do: "note"; key: ScheduleKey; state: Partial<ScheduleState> }
  | { do: "take"; limit: number }
  | { do: "end" | "renew"; pick: number }
  | { do: "wait"; ms: number };

const anyState = fc.record(
  { status: fc.constantFrom("idle" as const, "disabled" as const), next_run_at: iso, paused_until: iso },
  { requiredKeys: ["status"] },
);
const waits = fc.constantFrom(1000, 10_000, 29_999, 30_000);
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 1,
    arbitrary: fc
      .tuple(fc.array(name), fc.integer({ min: 1, max: 3 }))
      .map(([picks, max]): Step => ({ do: "define", picks, max })),
  },
  {
    weight: 5,
    arbitrary: fc.tuple(name, anyState).map(([key, to]): Step => ({ do: "note", key, state: to })),
  },
  { weight: 5, arbitrary: fc.integer({ min: 0, max: 4 }).map((limit): Step => ({ do: "take", limit })) },
  { weight: 3, arbitrary: fc.nat().map((pick): Step => ({ do: "end", pick })) },
  { weight: 1, arbitrary: fc.nat().map((pick): Step => ({ do: "renew", pick })) },
  { weight: 3, arbitrary: waits.map((ms): Step => ({ do: "wait", ms })) },
);

/** Every schedule defined and with a state, so that something happens. */
const opening: fc.Arbitrary<Step[]> = fc
  .tuple(
    fc.shuffledSubarray(EVERY_KEY, { minLength: 5 }),
    fc.array(anyState, { minLength: 15, maxLength: 15 }),
    fc.integer({ min: 1, max: 3 }),
  )
  .map(([picks, states, max]) => {
    const notes = states.map((to, i): Step => ({ do: "note", key: EVERY_KEY[i] as ScheduleKey, state: to }));
    return notes.concat({ do: "define", picks, max });
  });

/** What both queues claimed or removed, one line a call. */
async function claimedByBoth(steps: readonly Step[]): Promise<{ claimed: string[]; expected: string[] }> {
  const clock = new FakeClock(START_MS);
  const queue = new ClaimQueue(clock, LEASE_MS, () => "job-2026-03-01-aaaaaa");
  const plain = new PlainQueue();
  const claimed: string[] = [];
  const expected: string[] = [];
  const claims: ClaimToken[] = [];
  const stateOf = (key: ScheduleKey): Partial<ScheduleState> => plain.states.get(textOf(key)) ?? {};
  for (const each of steps) {
    if (each.do === "define") {
      const schedules = [...new Map(each.picks.map((key) => [textOf(key), key])).values()];
      const agents = schedules.map(({ agent }) => ({ agent, maxConcurrent: each.max }));
      const before = plain.definitions;
      plain.definitions = schedules;
      plain.maxConcurrent = each.max;
      const gone = queue.define({ agents, schedules }, stateOf);
      claimed.push(gone.map(textOf).toSorted().join(" "));
      const removed = before.filter((key) => !schedules.includes(key));
      expected.push(removed.map(textOf).toSorted().join(" "));
    } else if (each.do === "note") {
      plain.states.set(textOf(each.key), each.state);
      queue.note(each.key, each.state);
    } else if (each.do === "take") {
      const taken = queue.take(each.limit);
      claimed.push(taken.claims.map(textOf).join(" "));
      expected.push(plain.take(each.limit, clock.now().getTime()).join(" "));
      for (const claim of taken.claims) {
        const living = plain.living.find(({ name: held }) => held === textOf(claim));
        if (living !== undefined) living.token = claim.token;
        claims.push(claim);
      }
    } else if (each.do === "wait") {
      await clock.advance(each.ms);
    } else if (claims.length > 0) {
      const claim = claims[each.pick % claims.length] as ClaimToken;
      const living = plain.living.find(({ token }) => token === claim.token);
      if (each.do === "renew") {
        queue.renew(claim);
        if (living !== undefined) living.leaseEndsMs = clock.now().getTime() + LEASE_MS;
      } else {
        queue.end(claim);
        plain.living = plain.living.filter((other) => other !== living);
      }
    }
  }
  return { claimed, expected };
}

describe("the claim queue", () => {
  it("decides as the plain rules do, whatever happens in which order", async () => {
    await fc.assert(
      fc.asyncProperty(opening, fc.array(step, { minLength: 5, maxLength: 60 }), async (first, steps) => {
        const { claimed, expected } = await claimedByBoth([...first, ...steps]);
        expect(claimed).toEqual(expected);
      }),
      { numRuns: 500 },
    );
  });

  it("costs what is due, not what exists", () => {
    const clock = new FakeClock(START_MS);
    const examined = { count: 0 };
    const watched = (state: Partial<ScheduleState>): Partial<ScheduleState> =>
      new Proxy(state, {
        get(target, property, receiver) {
          examined.count++;
          return Reflect.get(target, property, receiver) as unknown;
        },
      });
    const queue = new ClaimQueue(clock, LEASE_MS, () => "job-2026-03-01-aaaaaa");
    const schedules = Array.from({ length: 10_000 }, (_, i) => ({
      agent: `a${i % 100}`,
      schedule: `x${i}`,
    }));
    const later = new Date(START_MS + 3_600_000).toISOString();
    const now = new Date(START_MS).toISOString();
    queue.define({ schedules }, ({ schedule }) => watched({ next_run_at: schedule === "x7" ? now : later }));
    examined.count = 0;
    expect(queue.take(10).claims.map(textOf)).toEqual(["a7/x7"]);
    expect(examined.count).toBeLessThan(10);
  });
});
