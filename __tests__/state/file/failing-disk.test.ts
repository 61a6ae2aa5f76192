/** A disk that fails at any single step of a write: what was there stays, the caller is told, and work goes on. */
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { StateFileError } from "../../../src/state/errors.js";
import { completeClaim, type FinishResult } from "../../../src/state/store.js";
import {
  CODES,
  filesIn,
  KEY,
  OPEN_FILES,
  PAST,
  places,
  stepsOf,
  Subject,
  TOO_LATE,
  update,
} from "./failing-store.js";
import { systemError } from "../watched-disk.js";

const updateSteps = await stepsOf(
  () => Subject.opened(),
  (subject) => update(subject, 1),
);
const firstSteps = await stepsOf(
  async () => new Subject(),
  (subject) => update(subject, 1),
);
const committing = places(updateSteps).filter(([step]) => !TOO_LATE.has(step));
const committingFirst = places(firstSteps).filter(([step]) => !TOO_LATE.has(step));
const afterwards = places(updateSteps).filter(([step]) => TOO_LATE.has(step));

describe("an update", () => {
  it("goes through all the steps that these tests make fail", () => {
    expect(updateSteps).toEqual([
      "lstat state.yaml",
      "mkdir state.yaml.lock-held",
      "chmod state.yaml.lock-held",
      "open held",
      "chmod held",
      "rename state.yaml.lock-held",
      "lstat state.yaml",
      "lstat held",
      "writeFile held",
      "utimes held",
      "sync held",
      "stat held",
      "link state.yaml",
      "lstat state.yaml",
      "rename held",
      "lstat held.old",
      "open state",
      "sync state",
      "close state",
      "unlink held.old",
      "close held",
    ]);
  });

  it.each(committing)("that fails at `%s` leaves the old bytes, and says so", async (_, place) => {
    await using subject = await Subject.opened();
    for (const [number, code] of CODES.entries()) {
      const before = subject.bytes;
      subject.failAt(place, code);
      const refusal = await update(subject, 2 * number + 1).catch((error: unknown) => error);
      expect(refusal).toBeInstanceOf(StateFileError);
      expect(refusal).toMatchObject({
        code: "STATE_FILE",
        path: expect.stringContaining(subject.stateDir),
        operation: expect.stringMatching(/^[a-z ]+$/),
        cause: { code },
      });
      expect(subject.bytes).toBe(before);
      expect((await subject.store.read(KEY)).failure_count).toBe(number === 0 ? undefined : 2 * number);

      subject.repair();
      await subject.patiently(update(subject, 2 * number + 2));
      expect(subject.bytes).toContain(`failure_count: ${2 * number + 2}\n`);
      expect(filesIn(subject.stateDir)).toEqual(OPEN_FILES);
    }
    // The owner's file and the present version.
    expect(subject.watched.open).toBe(2);
  });

  it.each(committing)(
    "on a disk that fails from `%s` on is refused, until it works again",
    async (_, place) => {
      await using subject = await Subject.opened();
      const before = subject.bytes;
      subject.failAt(place, "EIO", true);
      await expect(update(subject, 1)).rejects.toThrow(StateFileError);
      await expect(update(subject, 2)).rejects.toThrow(StateFileError);
      expect(before === subject.bytes || place > updateSteps.indexOf("rename held")).toBe(true);
      subject.repair();
      await subject.patiently(update(subject, 3));
      expect(subject.bytes).toContain("failure_count: 3\n");
    },
  );

  it.each(afterwards)("that is safe when `%s` fails has succeeded", async (step, place) => {
    await using subject = await Subject.opened();
    for (const [number, code] of CODES.entries()) {
      subject.failFrom(place, step, code);
      await update(subject, 2 * number + 1);
      expect(subject.bytes).toContain(`failure_count: ${2 * number + 1}\n`);
      subject.repair();
      await subject.patiently(update(subject, 2 * number + 2));
      expect(filesIn(subject.stateDir)).toEqual(OPEN_FILES);
    }
  });

  it.each([0, 1, 5_000])("of which %i bytes arrive, without an error, is refused", async (taken) => {
    await using subject = await Subject.opened();
    const before = subject.bytes;
    subject.watched.bytesTaken = () => taken;
    const refusal = await update(subject, 1).catch((error: unknown) => error);
    expect(refusal).toBeInstanceOf(StateFileError);
    expect(refusal).toMatchObject({
      path: subject.file,
      operation: "write",
      message: expect.stringContaining(`${taken} of `),
    });
    expect(subject.bytes).toBe(before);
    subject.watched.bytesTaken = (__, length) => length;
    await update(subject, 2);
    expect(subject.bytes).toContain("failure_count: 2\n");
  });

  it("that is refused takes down those written with it, and no other", async () => {
    await using subject = await Subject.opened();
    subject.failAt(updateSteps.indexOf("sync held"), "ENOSPC");
    const together = [1, 2, 3].map((number) => update(subject, number));
    let later: Promise<unknown> | undefined;
    const failing = subject.watched.before;
    subject.watched.before = (step) => {
      if (step.startsWith("sync ")) later ??= update(subject, 4);
      return failing(step);
    };
    const outcomes = await Promise.allSettled(together);
    expect(outcomes.map(({ status }) => status)).toEqual(["rejected", "rejected", "rejected"]);
    await later;
    expect(subject.bytes).toContain("failure_count: 4\n");
  });

  it.each(committingFirst)(
    "that is the first and fails at `%s` (step %i) leaves nothing half done",
    async (_, place) => {
      await using subject = new Subject();
      subject.failAt(place, "EIO");
      await expect(update(subject, 1)).rejects.toThrow(StateFileError);
      subject.repair();
      const { failure_count } = await subject.patiently(subject.store.read(KEY));
      // With no old file to put back, a new one whose name may not be safe stays: whole.
      expect([undefined, 1]).toContain(failure_count);
      await subject.patiently(update(subject, 2));
      expect(filesIn(subject.stateDir)).toEqual(["state.yaml", "state.yaml.lock"]);
      expect(subject.errors).toEqual([]);
    },
  );

  it("needs no directory to be synced where the file system cannot", async () => {
    await using subject = await Subject.opened();
    subject.watched.before = (step) => {
      if (step === "sync state") throw systemError("EINVAL");
    };
    await update(subject, 1);
    expect(subject.bytes).toContain("failure_count: 1\n");
  });

  it("that would replace a damaged file keeps that beside it once, however often it fails", async () => {
    await using subject = await Subject.opened();
    writeFileSync(subject.file, "agents: [\n");
    const kept = `${subject.file}.corrupt-2025-01-01T00-00-00-000Z`;
    writeFileSync(kept, "older");
    for (let number = 1; number < 10; number++) {
      await subject.clock.advance("1s");
      subject.watched.before = (step) => {
        if (/^sync \d/.test(step)) throw systemError("ENOSPC");
      };
      await expect(update(subject, number)).rejects.toThrow(StateFileError);
    }
    expect(subject.bytes).toBe("agents: [\n");
    const copies = (): string[] => readdirSync(subject.stateDir).filter((name) => name.includes(".corrupt-"));
    expect(copies()).toHaveLength(2);
    subject.repair();
    await update(subject, 10);
    expect(copies()).toHaveLength(2);
    expect(readFileSync(kept, "utf8")).toBe("older");
  });

  it("is safe before its directory is: the file first, then its name", () => {
    const order = ["writeFile held", "sync held", "rename held", "sync state"];
    expect(updateSteps.filter((step) => order.includes(step))).toEqual(order);
  });
});

const claimSteps = await stepsOf(
  () => Subject.opened(),
  ({ store }) => store.claimDue(1),
);

describe("a claim", () => {
  it.each(places(claimSteps).filter(([step]) => !TOO_LATE.has(step)))(
    "that fails at `%s` is not held, and may be made again",
    async (_, place) => {
      await using subject = await Subject.opened();
      for (const code of CODES) {
        subject.failAt(place, code);
        await expect(subject.store.claimDue(1)).rejects.toThrow(StateFileError);
        subject.repair();
        expect(await subject.store.read(KEY)).toMatchObject({ status: "idle", next_run_at: PAST });
      }
      const { claims } = await subject.patiently(subject.store.claimDue(1));
      expect(claims).toMatchObject([KEY]);
    },
  );

  it.each(committing)("whose end fails at `%s` is still held, and may end again", async (_, place) => {
    await using subject = await Subject.opened();
    const [claim] = (await subject.store.claimDue(1)).claims;
    const complete = (): Promise<boolean> =>
      claim === undefined
        ? Promise.resolve(false)
        : completeClaim(subject.store, claim, { failure_count: 1 });
    for (const code of CODES) {
      subject.failAt(place, code);
      await expect(complete()).rejects.toThrow(StateFileError);
      subject.repair();
      expect((await subject.store.read(KEY)).status).toBe("running");
    }
    expect(await subject.patiently(complete())).toBe(true);
    expect(await subject.store.read(KEY)).toMatchObject({ status: "idle", failure_count: 1 });
  });

  it.each(committing)(
    "that ends together with other claims stays held like them when `%s` fails",
    async (_, place) => {
      await using subject = await Subject.opened();
      const others = ["other", "third"].map((schedule) => ({ agent: "b", schedule }));
      for (const key of others) await subject.store.update(key, { next_run_at: PAST });
      await subject.store.define({ agents: [{ agent: "b", maxConcurrent: 2 }], schedules: [KEY, ...others] });
      const { claims } = await subject.store.claimDue(10);
      expect(claims).toHaveLength(3);
      const ends = claims.map((claim) => ({ claim, change: { failure_count: 1 } }));
      for (const code of CODES) {
        subject.failAt(place, code);
        await expect(subject.store.finishJobs(ends)).rejects.toThrow(StateFileError);
        subject.repair();
        for (const claim of claims) {
          expect(await subject.store.read(claim)).toMatchObject({
            status: "running",
            claim: claim.state.claim,
          });
          expect(await subject.store.renew(claim)).toBe(true);
        }
      }
      const ended: FinishResult = { claim: "ended", record: "none" };
      expect(await subject.patiently(subject.store.finishJobs(ends))).toEqual([ended, ended, ended]);
      for (const claim of claims)
        expect(await subject.store.read(claim)).toMatchObject({ status: "idle", failure_count: 1 });
    },
  );

  it("is made even when the job of the expired one before it cannot be closed", async () => {
    await using subject = await Subject.opened();
    const [first] = (await subject.store.claimDue(1)).claims;
    await subject.store.jobs.start({ id: first?.jobId, agent: "a", schedule: "s", trigger: "interval" });
    await subject.clock.advance("1h");
    subject.watched.before = (step) => {
      if (step.endsWith(".jsonl")) throw systemError("EIO");
    };
    const { claims } = await subject.store.claimDue(1);
    expect(claims).toMatchObject([KEY]);
    expect(subject.errors).toContainEqual(expect.stringMatching(`Could not close ${first?.jobId}`));
    expect((await subject.store.read(KEY)).claim?.token).toBe(claims[0]?.token);
  });
});
