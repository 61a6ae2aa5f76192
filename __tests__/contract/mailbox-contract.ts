/** What the mailbox of every store does. */
import { describe, expect, it, onTestFinished } from "vitest";
import { FakeClock } from "../../src/clock.js";
import type { Mailbox, NewRequest } from "../../src/state/mailbox.js";
import type { Claim, StateStore } from "../../src/state/store.js";

const X = { agent: "a", schedule: "x" };
const RUN: NewRequest = { ...X, action: "run" };
const TTL = { ttlMs: 10_000 };
const START = "2026-03-01T00:00:00.000Z";

export interface MailboxSubject {
  /** An open store. */
  readonly store: StateStore;
  /** The mailbox as a different process has it. */
  readonly outside: Mailbox;
  /** A store on the same states, opened after the first has closed. */
  readonly reopen: () => Promise<StateStore>;
}

export function testMailbox(name: string, open: (clock: FakeClock) => Promise<MailboxSubject>): void {
  const opened = async (): Promise<MailboxSubject & { clock: FakeClock; mailbox: Mailbox }> => {
    const clock = new FakeClock(START);
    const subject = await open(clock);
    onTestFinished(() => subject.store.close());
    await subject.store.define({ schedules: [X] });
    return { ...subject, clock, mailbox: subject.store.mailbox };
  };
  const ids = async (mailbox: Mailbox): Promise<string[]> =>
    (await mailbox.pending()).map(({ request }) => request.id);
  const claimed = (claim: Claim | string): Claim => {
    if (typeof claim === "string") throw new Error(claim);
    return claim;
  };

  describe(`${name}: the mailbox`, () => {
    it("keeps every request, oldest first, until it is answered", async () => {
      const { mailbox, outside, clock } = await opened();
      const posted: string[] = [];
      for (let index = 0; index < 4; index++) {
        posted.push((await outside.post(RUN, TTL)).id);
        await clock.advance(1);
      }
      expect(await ids(mailbox)).toEqual(posted);
      const [first] = await mailbox.pending();
      if (first === undefined) throw new Error("nothing is pending");
      await mailbox.take(first.request.id);
      await mailbox.answer(first.request, { refusal: "at_capacity" });
      expect(await ids(mailbox)).toEqual(posted.slice(1));
    });

    it("keeps all that a request says", async () => {
      const { mailbox, outside } = await opened();
      const request: NewRequest = {
        agent: "a b/\u0000é",
        schedule: "x",
        action: "run",
        job_id: null,
        trigger: "webhook",
        prompt: "Line one\nline two \u0000",
        data: { deep: [1, "two", { three: null }] },
        key: "delivery-1",
        cause: "a push",
        author: "octocat",
      };
      const posted = await outside.post(request, TTL);
      const [found] = await mailbox.pending();
      expect(found?.request).toEqual({
        ...request,
        id: posted.id,
        created_at: START,
        expires_at: "2026-03-01T00:00:10.000Z",
      });
    });

    it("returns the answer to its caller", async () => {
      const { mailbox, outside, clock } = await opened();
      const posted = await outside.post(RUN, TTL);
      const waiting = outside.waitForAnswer(posted, { clock, timeoutMs: 10_000 });
      await mailbox.take(posted.id);
      await mailbox.answer(posted, { refusal: "already_running" });
      await mailbox.answer(posted, { refusal: "disabled" });
      await clock.advance("1s");
      expect(await waiting).toEqual({ id: posted.id, refusal: "already_running" });
    });

    it("returns nothing to a caller that no scheduler answers, who withdraws the request", async () => {
      const { mailbox, outside, clock } = await opened();
      const posted = await outside.post(RUN, { ttlMs: 60_000 });
      const waiting = outside.waitForAnswer(posted, { clock, timeoutMs: 0 });
      expect(await waiting).toBeUndefined();
      expect(await outside.withdraw(posted)).toBeUndefined();
      expect(await ids(mailbox)).toEqual([]);
    });

    it("forgets a request when its time is over", async () => {
      const { mailbox, outside, clock } = await opened();
      await outside.post(RUN, TTL);
      await clock.advance("11s");
      expect(await ids(mailbox)).toEqual([]);
    });

    it("leaves a request of its caller's own to the caller", async () => {
      const { mailbox } = await opened();
      await mailbox.post(RUN, { ...TTL, isTaken: true });
      expect(await ids(mailbox)).toEqual([]);
    });

    it("claims a schedule for a request, which then has the job as its answer", async () => {
      const { store, mailbox, outside, clock } = await opened();
      const posted = await outside.post({ ...RUN, prompt: "P", key: "k" }, TTL);
      await mailbox.take(posted.id);
      const claim = claimed(await store.claimFor(posted));
      await mailbox.answer(posted, { job_id: claim.jobId });
      const answer = await outside.waitForAnswer(posted, { clock, timeoutMs: 0 });
      expect(answer).toEqual({ id: posted.id, job_id: claim.jobId });
      expect(await mailbox.ofJob(claim.jobId)).toMatchObject({ prompt: "P" });
      expect(await mailbox.ofJob("job-2026-03-01-00000000")).toBeUndefined();
      expect(await mailbox.findKey({ ...X, key: "k" })).toMatchObject({
        jobId: claim.jobId,
        request: { prompt: "P" },
      });
      expect(await mailbox.findKey({ ...X, key: "other" })).toBeUndefined();
      expect(await mailbox.findKey({ agent: "a", schedule: "y", key: "k" })).toBeUndefined();
    });

    it("knows a key for 24 hours, also after a restart, and what its job was started with for longer", async () => {
      const { store, mailbox, clock, reopen } = await opened();
      const posted = await mailbox.post({ ...RUN, data: [1], key: "k" }, { ...TTL, isTaken: true });
      const { jobId } = claimed(await store.claimFor(posted));
      await mailbox.answer(posted, { job_id: jobId });
      await clock.advance("23h");
      await store.close();
      const { mailbox: later } = await reopen();
      expect(await later.findKey({ ...X, key: "k" })).toMatchObject({ jobId });
      await clock.advance("2h");
      expect(await later.findKey({ ...X, key: "k" })).toBeUndefined();
      expect(await later.ofJob(jobId)).toMatchObject({ data: [1] });
    });

    it("calls back when a request comes", async () => {
      const { mailbox, outside } = await opened();
      const heard = new Promise<void>((resolve) => {
        onTestFinished(mailbox.onPost(resolve));
      });
      await outside.post(RUN, TTL);
      await expect(heard).resolves.toBeUndefined();
    });

    it("lets no caller withdraw what was carried out", async () => {
      const { store, mailbox, outside } = await opened();
      const posted = await outside.post(RUN, TTL);
      await mailbox.take(posted.id);
      const { jobId } = claimed(await store.claimFor(posted));
      await mailbox.answer(posted, { job_id: jobId });
      expect(await outside.withdraw(posted)).toEqual({ id: posted.id, job_id: jobId });
    });
  });
}
