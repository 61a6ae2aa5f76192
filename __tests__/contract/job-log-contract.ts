/** What every job log keeps, whatever it keeps it in. */
import { describe, expect, it } from "vitest";
import { FakeClock } from "../../src/clock.js";
import { type Random, seededRandom } from "../../src/random.js";
import type { JobFilter, JobLog, JobRecord, NewJob } from "../../src/state/job-log/job-log.js";

export interface JobLogSetup {
  readonly clock: FakeClock;
  readonly random: Random;
  readonly maxOutputBytes: number;
}

export interface OpenedJobLog extends AsyncDisposable {
  readonly log: JobLog;
}

const hourly: NewJob = { agent: "writer", schedule: "hourly", trigger: "interval" };

export function testJobLog(name: string, open: (setup: JobLogSetup) => Promise<OpenedJobLog>): void {
  interface Subject extends OpenedJobLog {
    readonly clock: FakeClock;
  }
  const opened = async (setup: Partial<JobLogSetup> = {}): Promise<Subject> => {
    const clock = new FakeClock("2026-11-15T09:00:00Z");
    const subject = await open({ clock, random: seededRandom(1), maxOutputBytes: 1000, ...setup });
    return { log: subject.log, clock, [Symbol.asyncDispose]: () => subject[Symbol.asyncDispose]() };
  };
  const ids = (records: readonly JobRecord[]): string[] => records.map(({ id }) => id);

  describe(`${name}: a job that starts`, () => {
    it("has a record with all that is known of it, and null for the rest", async () => {
      await using subject = await opened();
      const record = await subject.log.start({
        ...hourly,
        slot: "2026-11-15T09:00:00Z",
        source: "baseline-interval",
        attempt: 2,
        prompt: "Write.",
        work_item: { number: 7, labels: ["ready"] },
      });
      expect(record).toEqual({
        id: expect.stringMatching(/^job-2026-11-15-[0-9a-z]{8}$/) as string,
        agent: "writer",
        schedule: "hourly",
        trigger: "interval",
        slot: "2026-11-15T09:00:00.000Z",
        source: "baseline-interval",
        attempt: 2,
        prompt: "Write.",
        work_item: { number: 7, labels: ["ready"] },
        status: "running",
        started_at: "2026-11-15T09:00:00.000Z",
        finished_at: null,
        duration_ms: null,
        error: null,
        summary: null,
        exit_code: null,
        response_body: null,
      });
      expect(await subject.log.get(record.id)).toEqual(record);
    });

    it("is the first attempt, of no schedule, without work, unless it is said", async () => {
      await using subject = await opened();
      const record = await subject.log.start({ agent: "writer", trigger: "manual" });
      expect(record).toMatchObject({ attempt: 1, schedule: null, slot: null, source: null, work_item: null });
    });

    it("keeps the id it was given", async () => {
      await using subject = await opened();
      const { id } = await subject.log.start({ ...hourly, id: "job-2026-11-15-k3x9qa" });
      expect(id).toBe("job-2026-11-15-k3x9qa");
      expect(await subject.log.get(id)).toMatchObject({ id });
    });

    it("is refused with an id that another job has, also when both come at once", async () => {
      await using subject = await opened();
      const id = "job-2026-11-15-k3x9qa";
      const starts = await Promise.allSettled([
        subject.log.start({ ...hourly, id, prompt: "first" }),
        subject.log.start({ ...hourly, id, prompt: "second" }),
      ]);
      expect(starts.map(({ status }) => status)).toEqual(["fulfilled", "rejected"]);
      await expect(subject.log.start({ ...hourly, id })).rejects.toMatchObject({ code: "INVALID_STATE" });
      expect(await subject.log.get(id)).toMatchObject({ prompt: "first" });
      expect(await subject.log.list()).toHaveLength(1);
    });

    it("draws again when its eight characters are taken", async () => {
      const drawn = [0.25, 0.25, 0.25, 0.75];
      await using subject = await opened({ random: () => drawn.shift() ?? 0.5 });
      const first = await subject.log.start(hourly);
      const second = await subject.log.start(hourly);
      expect(first.id).toBe("job-2026-11-15-90000000");
      expect(second.id).toBe("job-2026-11-15-r0000000");
      expect(ids(await subject.log.list())).toEqual([second.id, first.id]);
    });

    it("draws again when another that starts at the same moment drew the same", async () => {
      const drawn = [0.25, 0.25, 0.75];
      await using subject = await opened({ random: () => drawn.shift() ?? 0.5 });
      const started = await Promise.all([subject.log.start(hourly), subject.log.start(hourly)]);
      expect(ids(started)).toEqual(["job-2026-11-15-90000000", "job-2026-11-15-r0000000"]);
    });

    it("is refused, not waited for forever, where every draw is the same", async () => {
      await using subject = await opened({ random: () => 0.25 });
      await subject.log.start(hourly);
      await expect(subject.log.start(hourly)).rejects.toMatchObject({ code: "INVALID_STATE" });
    });

    it("is refused with what could not be read again, and harms no other", async () => {
      await using subject = await opened();
      const circular: Record<string, unknown> = {};
      circular["self"] = circular;
      const starts = await Promise.allSettled([
        subject.log.start({ ...hourly, work_item: circular }),
        subject.log.start({ ...hourly, work_item: 1n }),
        subject.log.start({ ...hourly, attempt: 0 }),
        subject.log.start({ ...hourly, started_at: "yesterday" }),
        subject.log.start({ ...hourly, slot: "soon" }),
        subject.log.start(hourly),
      ]);
      const codes = starts.map(
        (start) => start.status === "rejected" && (start.reason as { code: string }).code,
      );
      expect(codes).toEqual([...Array.from({ length: 5 }, () => "INVALID_STATE"), false]);
      expect(await subject.log.list()).toHaveLength(1);
    });

    it("keeps its texts exactly", async () => {
      await using subject = await opened();
      const odd = 'a "quoted"\n{"id":"job-2026-11-15-aaaaaa","status":"running"}\r\n\u2028 \\ é 🐑 \0';
      const { id } = await subject.log.start({
        ...hourly,
        agent: odd,
        schedule: odd,
        prompt: odd,
        work_item: odd,
      });
      await subject.log.finish(id, { status: "failed", error: odd, summary: odd, response_body: [odd] });
      expect(await subject.log.get(id)).toMatchObject({
        agent: odd,
        schedule: odd,
        prompt: odd,
        work_item: odd,
        error: odd,
        summary: odd,
        response_body: [odd],
      });
      expect(await subject.log.list()).toHaveLength(1);
    });

    it("may have taken its work item later, and tells of it in its end", async () => {
      await using subject = await opened();
      const { id } = await subject.log.start(hourly);
      await subject.log.finish(id, { status: "completed", work_item: { number: 7 } });
      expect((await subject.log.get(id))?.work_item).toEqual({ number: 7 });
      expect((await subject.log.list())[0]?.work_item).toEqual({ number: 7 });
    });

    it("keeps its work item as it was, whatever the caller does with it later", async () => {
      await using subject = await opened();
      const item = { number: 7 };
      const record = await subject.log.start({ ...hourly, work_item: item });
      item.number = 8;
      expect(record.work_item).toEqual({ number: 7 });
      expect((await subject.log.get(record.id))?.work_item).toEqual({ number: 7 });
    });
  });

  describe(`${name}: a job that ends`, () => {
    it("has its outcome in its record, and the time since its start", async () => {
      await using subject = await opened();
      const { id } = await subject.log.start(hourly);
      await subject.clock.advance(1500);
      const outcome = {
        status: "failed",
        error: "no",
        summary: "s",
        exit_code: 3,
        response_body: { a: 1 },
      } as const;
      expect(await subject.log.finish(id, outcome)).toBe(true);
      expect(await subject.log.get(id)).toMatchObject({
        ...outcome,
        agent: "writer",
        started_at: "2026-11-15T09:00:00.000Z",
        finished_at: "2026-11-15T09:00:01.500Z",
        duration_ms: 1500,
      });
    });

    it("has a duration that a jump of the wall clock does not change", async () => {
      await using subject = await opened();
      const { id } = await subject.log.start(hourly);
      await subject.clock.advance(1500);
      subject.clock.jump("-1h");
      await subject.log.finish(id, { status: "completed" });
      expect((await subject.log.get(id))?.duration_ms).toBe(1500);
    });

    it("has the times its caller knows better", async () => {
      await using subject = await opened();
      const { id } = await subject.log.start({ ...hourly, started_at: "2026-11-15T08:00:00Z" });
      await subject.log.finish(id, {
        status: "completed",
        finished_at: "2026-11-15T08:00:02Z",
        duration_ms: 1999,
      });
      expect(await subject.log.get(id)).toMatchObject({
        started_at: "2026-11-15T08:00:00.000Z",
        finished_at: "2026-11-15T08:00:02.000Z",
        duration_ms: 1999,
      });
    });

    it("keeps its first end, also when two come at once", async () => {
      await using subject = await opened();
      const { id } = await subject.log.start(hourly);
      const ends = await Promise.all([
        subject.log.finish(id, { status: "completed" }),
        subject.log.finish(id, { status: "timeout" }),
      ]);
      expect(ends).toEqual([true, false]);
      expect(await subject.log.finish(id, { status: "interrupted" })).toBe(false);
      expect(await subject.log.get(id)).toMatchObject({ status: "completed" });
    });

    it("is not ended by one that is unknown", async () => {
      await using subject = await opened();
      expect(await subject.log.finish("job-2026-11-15-aaaaaa", { status: "completed" })).toBe(false);
      await subject.log.start(hourly);
      expect(await subject.log.finish("job-2026-11-15-aaaaaa", { status: "completed" })).toBe(false);
      expect(await subject.log.get("job-2026-11-15-aaaaaa")).toBeUndefined();
    });

    it("is refused an outcome that could not be read again, and can end afterwards", async () => {
      await using subject = await opened();
      const { id } = await subject.log.start(hourly);
      const finishing = subject.log.finish(id, { status: "completed", response_body: 1n });
      await expect(finishing).rejects.toMatchObject({ code: "INVALID_STATE" });
      expect(await subject.log.finish(id, { status: "completed" })).toBe(true);
    });
  });

  describe(`${name}: a malformed id`, () => {
    it.each([
      "",
      "job-1",
      "../../etc/passwd",
      "job-2026-11-15-../../x",
      "../job-2026-11-15-k3x9qa",
      "job-2026-11-15-k3x9qa/../x",
      "job-2026-11-15-k3x9qa\n",
      "job-2026-11-15-K3X9QA",
      "job-2026-11-15-k3x9q",
      "job-2026-11-15-k3x9qa.log",
      "job-20261-1-15-k3x9qa",
    ])("is refused everywhere: %j", async (id) => {
      await using subject = await opened();
      const refusal = { code: "INVALID_STATE", message: expect.stringContaining("Not a job id") as string };
      await expect(subject.log.start({ ...hourly, id })).rejects.toMatchObject(refusal);
      await expect(subject.log.finish(id, { status: "completed" })).rejects.toMatchObject(refusal);
      await expect(subject.log.get(id)).rejects.toMatchObject(refusal);
      await expect(subject.log.openOutput(id)).rejects.toMatchObject(refusal);
      await expect(subject.log.readOutput(id)).rejects.toMatchObject(refusal);
      expect(await subject.log.list()).toEqual([]);
    });
  });

  describe(`${name}: the list of jobs`, () => {
    it("is empty before there is one", async () => {
      await using subject = await opened();
      expect(await subject.log.list()).toEqual([]);
    });

    it("is newest first, across days, each job once with its latest status", async () => {
      await using subject = await opened();
      const started: string[] = [];
      for (let job = 0; job < 5; job++) {
        const { id } = await subject.log.start({ ...hourly, attempt: job + 1 });
        started.unshift(id);
        if (job % 2 === 0) await subject.log.finish(id, { status: "completed" });
        await subject.clock.advance("7h");
      }
      const listed = await subject.log.list();
      expect(ids(listed)).toEqual(started);
      expect(listed.map(({ status }) => status)).toEqual([
        "completed",
        "running",
        "completed",
        "running",
        "completed",
      ]);
    });

    it("is ordered by the time of the start, and of equals the later call is first", async () => {
      await using subject = await opened();
      const at = async (time: string): Promise<string> =>
        (await subject.log.start({ ...hourly, started_at: `2026-11-15T${time}:00Z` })).id;
      const [nine, ten, eight, alsoTen] = [
        await at("09:00"),
        await at("10:00"),
        await at("08:00"),
        await at("10:00"),
      ];
      expect(ids(await subject.log.list())).toEqual([alsoTen, ten, nine, eight]);
    });

    it("filters by agent, schedule, status and time, and by all of them together", async () => {
      await using subject = await opened();
      const { log, clock } = subject;
      const writer = await log.start(hourly);
      await clock.advance("1h");
      const reader = await log.start({ ...hourly, agent: "reader" });
      await clock.advance("1d");
      const daily = await log.start({ ...hourly, schedule: "daily" });
      await log.finish(writer.id, { status: "failed" });
      await log.finish(daily.id, { status: "completed" });
      const listed = async (filter: Parameters<JobLog["list"]>[0]): Promise<string[]> =>
        ids(await log.list(filter));
      expect(await listed({ agent: "writer" })).toEqual([daily.id, writer.id]);
      expect(await listed({ schedule: "hourly" })).toEqual([reader.id, writer.id]);
      expect(await listed({ status: "running" })).toEqual([reader.id]);
      expect(await listed({ status: "failed" })).toEqual([writer.id]);
      expect(await listed({ since: new Date(reader.started_at) })).toEqual([daily.id, reader.id]);
      expect(await listed({ since: new Date(Date.parse(reader.started_at) + 1) })).toEqual([daily.id]);
      expect(await listed({ agent: "writer", schedule: "hourly", status: "failed", limit: 1 })).toEqual([
        writer.id,
      ]);
      expect(await listed({ agent: "nobody" })).toEqual([]);
    });

    it("ends at its limit, which is 100 unless it is said", async () => {
      await using subject = await opened();
      await Promise.all(Array.from({ length: 105 }, () => subject.log.start(hourly)));
      expect(await subject.log.list()).toHaveLength(100);
      expect(await subject.log.list({ limit: 3 })).toHaveLength(3);
      expect(await subject.log.list({ limit: 0 })).toHaveLength(0);
      expect(await subject.log.list({ limit: Infinity })).toHaveLength(105);
    });

    it.each([
      [{ limit: -1 }, "Invalid limit -1: expected a whole number from 0, or Infinity"],
      [{ limit: 2.5 }, "Invalid limit 2.5"],
      [{ limit: "5" }, 'Invalid limit "5"'],
      [{ since: "yesterday" }, 'Invalid since "yesterday": expected a Date'],
      [{ since: new Date(NaN) }, "Invalid since an invalid Date"],
      [null, "Invalid filter null: expected an object"],
    ])("rejects the filter %j, and names what is wrong", async (filter, message) => {
      await using subject = await opened();
      await expect(subject.log.list(filter as JobFilter)).rejects.toMatchObject({
        code: "INVALID_STATE",
        message: expect.stringContaining(message) as string,
      });
    });
  });

  describe(`${name}: the output of a job`, () => {
    const id = "job-2026-11-15-k3x9qa";

    it("is what was written, in the order of the calls, also while it is being written", async () => {
      await using subject = await opened();
      const output = await subject.log.openOutput(id);
      const writing = ["one ", Buffer.from("two "), "three "].map((chunk) => output.write(chunk));
      expect(await subject.log.readOutput(id)).toBe("one two three ");
      await Promise.all(writing);
      await output.write("🐑");
      await output.close();
      expect(await subject.log.readOutput(id)).toBe("one two three 🐑");
    });

    it("is undefined for a job that has none, and empty for one that said nothing", async () => {
      await using subject = await opened();
      expect(await subject.log.readOutput(id)).toBeUndefined();
      await (await subject.log.openOutput(id)).close();
      expect(await subject.log.readOutput(id)).toBe("");
    });

    it("is opened once", async () => {
      await using subject = await opened();
      const output = await subject.log.openOutput(id);
      await output.write("kept");
      await expect(subject.log.openOutput(id)).rejects.toMatchObject({ code: "INVALID_STATE" });
      await output.close();
      await expect(subject.log.openOutput(id)).rejects.toMatchObject({ code: "INVALID_STATE" });
      expect(await subject.log.readOutput(id)).toBe("kept");
    });

    it("takes nothing more when it is closed, and may be closed again", async () => {
      await using subject = await opened();
      const output = await subject.log.openOutput(id);
      const writing = output.write("last words");
      await output.close();
      await output.close();
      await writing;
      await expect(output.write("more")).rejects.toMatchObject({ code: "STATE_CLOSED" });
      expect(await subject.log.readOutput(id)).toBe("last words");
    });

    it("is kept whole up to its limit", async () => {
      await using subject = await opened();
      const output = await subject.log.openOutput(id);
      await output.write("x".repeat(1000));
      await output.close();
      expect(await subject.log.readOutput(id)).toBe("x".repeat(1000));
    });

    it.each([1, 7, 499, 500, 501, 1000, 5000, 100_000])(
      "keeps head and tail beyond it, and says how much was cut, in chunks of %i",
      async (chunkBytes) => {
        await using subject = await opened();
        const whole = Array.from({ length: 2000 }, (_, line) => `${String(line).padStart(4, "0")}\n`).join(
          "",
        );
        const output = await subject.log.openOutput(id);
        for (let at = 0; at < whole.length; at += chunkBytes)
          await output.write(whole.slice(at, at + chunkBytes));
        await output.close();
        const cut = "\n[9000 bytes of output were cut here]\n";
        expect(await subject.log.readOutput(id)).toBe(whole.slice(0, 500) + cut + whole.slice(-500));
      },
    );

    it("does not let a caller's buffer change what it wrote", async () => {
      await using subject = await opened();
      const output = await subject.log.openOutput(id);
      const buffer = Buffer.from("before");
      const writing = output.write(buffer);
      buffer.fill("x");
      await writing;
      expect(await subject.log.readOutput(id)).toBe("before");
    });

    it.each(["é", "€", "🐑"])("never splits a character such as %s", async (character) => {
      for (const shift of ["", "a", "aa", "aaa"]) {
        await using subject = await opened();
        const output = await subject.log.openOutput(id);
        const bytes = Buffer.from(shift + character.repeat(3000));
        for (let at = 0; at < bytes.length; at += 97) await output.write(bytes.subarray(at, at + 97));
        await output.close();
        const text = (await subject.log.readOutput(id)) ?? "";
        const [head = "", tail = ""] = text.split(/\n\[\d+ bytes of output were cut here\]\n/);
        expect(head).toMatch(new RegExp(`^${shift}(${character})+$`, "u"));
        expect(tail).toMatch(new RegExp(`^(${character})+$`, "u"));
        const cut = Number(/\[(\d+) bytes/.exec(text)?.[1]);
        expect(Buffer.byteLength(head) + Buffer.byteLength(tail) + cut).toBe(bytes.length);
      }
    });

    it("copes with bytes that are no text", async () => {
      await using subject = await opened();
      const output = await subject.log.openOutput(id);
      await output.write(Buffer.alloc(10_000, 0x80));
      await output.close();
      expect(await subject.log.readOutput(id)).toContain("[9000 bytes of output were cut here]");
    });
  });
}
