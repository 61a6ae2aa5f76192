/** What a pause of a whole agent does in every store. */
import { describe, expect, it, onTestFinished } from "vitest";
import { FakeClock } from "../../src/clock.js";
import type { AgentPause } from "../../src/state/agent-pause.js";
import {
  completeClaim,
  releaseClaim,
  type Claim,
  type ScheduleKey,
  type StateStore,
} from "../../src/state/store.js";

const START = "2026-03-01T00:00:00.000Z";
const BY_USER: AgentPause = { by: "user", since: START };

export interface PauseSubject {
  /** An open store. */
  readonly store: StateStore;
  /** A store on the same states, opened after the first has closed. */
  readonly reopen: () => Promise<StateStore>;
  /** A store beside the open one that is not open itself, as a command has it; absent for a store in memory. */
  readonly outside?: StateStore | undefined;
}

const key = (name: string): ScheduleKey => {
  const [agent = "", schedule = ""] = name.split("/");
  return { agent, schedule };
};
const namesOf = (claims: readonly ScheduleKey[]): string[] =>
  claims.map(({ agent, schedule }) => `${agent}/${schedule}`);

function claimed(claim: Claim | string | undefined): Claim {
  if (claim === undefined || typeof claim === "string") throw new Error(`Expected a claim, got ${claim}.`);
  return claim;
}

export function testAgentPauses(kind: string, open: (clock: FakeClock) => Promise<PauseSubject>): void {
  /** Schedules with the seconds after START at which each is due. */
  async function opened(
    plans: Readonly<Record<string, number>>,
    maxConcurrent = 1,
  ): Promise<PauseSubject & { clock: FakeClock; define: (names: readonly string[]) => Promise<void> }> {
    const clock = new FakeClock(START);
    const subject = await open(clock);
    const { store } = subject;
    onTestFinished(() => store.close());
    const define = async (names: readonly string[]): Promise<void> => {
      const schedules = names.map(key);
      await store.define({ agents: schedules.map(({ agent }) => ({ agent, maxConcurrent })), schedules });
    };
    await Promise.all(
      Object.entries(plans).map(([name, second]) =>
        store.update(key(name), {
          next_run_at: new Date(Date.parse(START) + second * 1_000).toISOString(),
          next_run_source: "baseline-interval",
        }),
      ),
    );
    await define(Object.keys(plans));
    return { ...subject, clock, define };
  }
  const nowOf = async (store: StateStore): Promise<string[]> => namesOf((await store.claimDue(10)).claims);

  describe(`${kind}: the pause of an agent`, () => {
    it("holds back all of its schedules and no other agent's, and ends", async () => {
      const { store, clock } = await opened({ "a/x": 1, "a/y": 2, "b/x": 3 }, 5);
      await store.changePause("a", () => BY_USER);
      await clock.advance("10s");
      expect(await nowOf(store)).toEqual(["b/x"]);
      await store.changePause("a", () => null);
      expect(await nowOf(store)).toEqual(["a/x", "a/y"]);
    });

    it("changes no state of a schedule: every plan stays", async () => {
      const { store, clock } = await opened({ "a/x": 1 });
      const before = await store.read(key("a/x"));
      await store.changePause("a", () => BY_USER);
      await clock.advance("10s");
      await store.claimDue(10);
      expect(await store.read(key("a/x"))).toEqual(before);
    });

    it("is returned with its reason until it ends", async () => {
      const { store } = await opened({ "a/x": 1 });
      const pause: AgentPause = {
        by: "indeterminate",
        since: START,
        job_id: "job-2026-03-01-00000001",
        note: 'x "\n',
      };
      expect(await store.changePause("a", () => pause)).toEqual(pause);
      expect(Object.fromEntries(await store.pauses())).toEqual({ a: pause });
      expect(await store.changePause("a", () => null)).toBeUndefined();
      expect((await store.pauses()).size).toBe(0);
    });

    it("is decided on the pause that is there, and stays when nothing is decided", async () => {
      const { store } = await opened({ "a/x": 1 });
      const seen: unknown[] = [];
      await store.changePause("a", (pause) => (seen.push(pause), BY_USER));
      const kept = await store.changePause("a", (pause) => (seen.push(pause), undefined));
      expect(seen).toEqual([undefined, BY_USER]);
      expect(kept).toEqual(BY_USER);
    });

    it("keeps its slots when it ends, and says until when they were held back", async () => {
      const { store, clock } = await opened({ "a/x": 1, "a/y": 8 }, 5);
      await store.changePause("a", () => BY_USER);
      await clock.advance("5s");
      await store.changePause("a", () => null);
      await clock.advance("5s");
      const { claims } = await store.claimDue(10);
      expect(claims.map(({ slot, heldUntil }) => [slot.toISOString(), heldUntil?.toISOString()])).toEqual([
        ["2026-03-01T00:00:01.000Z", "2026-03-01T00:00:05.000Z"],
        ["2026-03-01T00:00:08.000Z", undefined],
      ]);
    });

    it("ends by itself at its time", async () => {
      const { store, clock } = await opened({ "a/x": 1 });
      await store.changePause("a", () => ({ ...BY_USER, until: "2026-03-01T00:00:20.000Z" }));
      await clock.advance("10s");
      const waiting = await store.claimDue(10);
      expect(waiting.claims).toEqual([]);
      expect(waiting.nextDueAt?.toISOString()).toBe("2026-03-01T00:00:20.000Z");
      expect((await store.pauses()).has("a")).toBe(true);
      await clock.advance("10s");
      expect((await store.pauses()).has("a")).toBe(false);
      const claim = claimed((await store.claimDue(10)).claims[0]);
      expect(claim.slot.toISOString()).toBe("2026-03-01T00:00:01.000Z");
      expect(claim.heldUntil?.toISOString()).toBe("2026-03-01T00:00:20.000Z");
    });

    it("holds for schedules that come later, and for agents without any", async () => {
      const { store, clock, define } = await opened({ "b/x": 1 });
      await store.changePause("a", () => BY_USER);
      await store.update(key("a/late"), {
        next_run_at: "2026-03-01T00:00:02.000Z",
        next_run_source: "baseline-interval",
      });
      await define(["b/x", "a/late"]);
      await clock.advance("10s");
      expect(await nowOf(store)).toEqual(["b/x"]);
      await store.changePause("a", () => null);
      expect(await nowOf(store)).toEqual(["a/late"]);
    });

    it("survives the store", async () => {
      const { store, reopen, clock } = await opened({ "a/x": 1 });
      await store.changePause("a", () => BY_USER);
      await store.close();
      const again = await reopen();
      await again.define({ schedules: [key("a/x")] });
      await clock.advance("10s");
      expect(await nowOf(again)).toEqual([]);
      await again.changePause("a", () => null);
      expect(await nowOf(again)).toEqual(["a/x"]);
    });

    it("lets a job be claimed on request, and holds the schedule back after it", async () => {
      const { store, clock } = await opened({ "a/x": 1 });
      await store.changePause("a", () => BY_USER);
      await clock.advance("10s");
      const claim = claimed(await store.claim(key("a/x")));
      expect(claim.heldUntil).toBeUndefined();
      await completeClaim(store, claim, { next_run_at: "2026-03-01T00:00:12.000Z" });
      await clock.advance("10s");
      expect(await nowOf(store)).toEqual([]);
      await store.changePause("a", () => null);
      expect(await nowOf(store)).toEqual(["a/x"]);
    });

    it("leaves a claim that is held valid, and holds its slot back when it is given back", async () => {
      const { store, clock } = await opened({ "a/x": 1 });
      await clock.advance("2s");
      const claim = claimed((await store.claimDue(10)).claims[0]);
      await store.changePause("a", () => BY_USER);
      expect(await store.renew(claim)).toBe(true);
      expect(await releaseClaim(store, claim)).toBe(true);
      expect(await nowOf(store)).toEqual([]);
      await store.changePause("a", () => null);
      expect(await nowOf(store)).toEqual(["a/x"]);
    });

    it("also holds back what waits for capacity, which counts as seen when the pause ends", async () => {
      const { store, clock } = await opened({ "a/x": 1, "a/y": 2 });
      await clock.advance("3s");
      const first = claimed((await store.claimDue(10)).claims[0]);
      await store.changePause("a", () => BY_USER);
      await completeClaim(store, first, {});
      expect(await nowOf(store)).toEqual([]);
      await clock.advance("7s");
      await store.changePause("a", () => null);
      const second = claimed((await store.claimDue(10)).claims[0]);
      expect(second.schedule).toBe("y");
      expect(second.seenAt.toISOString()).toBe("2026-03-01T00:00:10.000Z");
    });

    it("keeps to capacity when it ends", async () => {
      const { store, clock } = await opened({ "a/x": 1, "a/y": 2, "a/z": 3 }, 2);
      await store.changePause("a", () => BY_USER);
      await clock.advance("10s");
      await store.changePause("a", () => null);
      expect(await nowOf(store)).toEqual(["a/x", "a/y"]);
      expect(await nowOf(store)).toEqual([]);
    });

    it("has changes of its schedules take effect when it ends", async () => {
      const { store, clock } = await opened({ "a/x": 1, "a/y": 2 }, 5);
      await store.changePause("a", () => BY_USER);
      await store.update(key("a/x"), { next_run_at: "2026-03-01T00:01:00.000Z" });
      await store.update(key("a/y"), { status: "disabled" });
      await clock.advance("10s");
      await store.changePause("a", () => null);
      expect(await nowOf(store)).toEqual([]);
      await clock.advance("50s");
      expect(await nowOf(store)).toEqual(["a/x"]);
    });

    it("refuses a pause that cannot be kept, and changes nothing", async () => {
      const { store, clock } = await opened({ "a/x": 1 });
      await expect(store.changePause("a", () => ({ by: "user", since: "today" }))).rejects.toMatchObject({
        code: "INVALID_STATE",
        message: expect.stringContaining('since is "today"'),
      });
      await expect(store.changePause("", () => BY_USER)).rejects.toMatchObject({ code: "INVALID_STATE" });
      await clock.advance("10s");
      expect(await nowOf(store)).toEqual(["a/x"]);
    });

    it("is noticed when a different process begins and ends it", async () => {
      const { store, outside, clock } = await opened({ "a/x": 1 });
      if (outside === undefined) return;
      onTestFinished(() => outside.close());
      await outside.changePause("a", () => BY_USER);
      await clock.advance("10s");
      expect(await nowOf(store)).toEqual([]);
      expect(Object.fromEntries(await store.pauses())).toEqual({ a: BY_USER });
      await outside.changePause("a", () => null);
      expect(await nowOf(store)).toEqual(["a/x"]);
    });
  });
}
