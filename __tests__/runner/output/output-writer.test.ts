/** A job's output fails no job and holds none up for long, whatever becomes of it. */
import { describe, expect, it } from "vitest";
import type { RuntimeJob } from "../../../src/runner/runtime.js";
import type { MemoryStore } from "../../../src/state/memory/memory-store.js";
import { Scene, settleable } from "../scene.js";

const never = (): Promise<never> => new Promise(() => {});
const boom = (): never => {
  throw new Error("boom");
};

describe("the output of a job", () => {
  const run = async ({ log }: RuntimeJob): Promise<string> => {
    log("line");
    return "done";
  };
  const broken = (openOutput: MemoryStore["jobs"]["openOutput"]): Scene => {
    const scene = new Scene();
    scene.store.jobs.openOutput = openOutput;
    return scene;
  };
  const output = { write: async () => {}, close: async () => {} };

  it.each([
    ["cannot be opened", async () => boom()],
    ["cannot be written", async () => ({ ...output, write: async () => boom() })],
    ["cannot be closed", async () => ({ ...output, close: async () => boom() })],
    [
      "can neither be written nor closed",
      async () => ({ write: async () => boom(), close: async () => boom() }),
    ],
  ])("that %s does not fail the job, and is logged once", async (_, openOutput) => {
    const scene = broken(openOutput);
    const { result } = await scene.run({ run }, {}, "5s");
    expect(result).toMatchObject({ status: "completed", summary: "done", durationMs: 0 });
    expect(scene.lines).toEqual([`Could not keep the output of ${result.jobId}: boom`]);
    expect(scene.clock.sleeping).toBe(0);
  });

  it.each([
    ["opened", never],
    ["written", async () => ({ ...output, write: never })],
    ["closed", async () => ({ ...output, close: never })],
  ])("that hangs while it is %s delays the end of the job by at most five seconds", async (_, openOutput) => {
    const scene = broken(openOutput);
    const { result, record } = await scene.run({ run }, {}, "5s");
    expect(result).toMatchObject({ status: "completed", durationMs: 0 });
    expect(record).toMatchObject({ status: "completed", finished_at: "2026-01-01T00:00:05.000Z" });
    expect(scene.lines).toEqual([`Could not keep the output of ${result.jobId}: no reply in 5000 ms`]);
    expect(scene.clock.sleeping).toBe(0);
  });

  it("that hangs does not block a job that awaits each write", async () => {
    const scene = broken(async () => ({ ...output, write: never }));
    const patient = async ({ write }: RuntimeJob): Promise<string> => {
      for (let at = 0; at < 100; at++) await write("x");
      return "done";
    };
    expect((await scene.run({ run: patient }, {}, "5s")).result).toMatchObject({
      status: "completed",
      durationMs: 5_000,
    });
  });

  it("that opens after the job was ended is closed again", async () => {
    const opening = settleable<typeof output>();
    const calls: string[] = [];
    const scene = broken(() => opening.promise);
    await scene.run({ run }, {}, "5s");
    opening.resolve({
      write: async () => void calls.push("write"),
      close: async () => void calls.push("close"),
    });
    await scene.clock.advance(0);
    expect(calls).toEqual(["close"]);
  });

  it("that is slower than the job gets everything the job wrote", async () => {
    const pieces: (string | Uint8Array)[] = [];
    const scene = broken(async () => ({
      write: async (chunk) => {
        await scene.clock.sleep("1s");
        pieces.push(Buffer.from(chunk));
      },
      close: async () => void pieces.push("closed"),
    }));
    const hasty = ({ log, write }: RuntimeJob): Promise<void> => {
      log("first");
      void write(Buffer.alloc(1_000_000, "x"));
      return scene.clock.sleep("1s");
    };
    await scene.run({ run: hasty }, {}, "1m");
    expect(pieces.pop()).toBe("closed");
    expect(pieces.join("")).toBe(`first\n${"x".repeat(1_000_000)}`);
  });

  it("has what the job wrote during a slow write, in its order", async () => {
    const pieces: string[] = [];
    const scene = broken(async () => ({
      ...output,
      write: async (chunk) => {
        await scene.clock.sleep("1s");
        pieces.push(String(chunk));
      },
    }));
    const steady = async ({ log }: RuntimeJob): Promise<void> => {
      for (let line = 0; line < 10; line++) {
        log(`line ${line}`);
        await scene.clock.sleep(300);
      }
    };
    await scene.run({ run: steady }, {}, "1m");
    expect(pieces.join("").split("\n")).toEqual([
      ...Array.from({ length: 10 }, (_, line) => `line ${line}`),
      "",
    ]);
  });

  it("has a line that counts the lost bytes when the job writes too fast", async () => {
    const flood = ({ log }: RuntimeJob): void => {
      for (let at = 0; at < 200; at++) log("x".repeat(99_999));
    };
    const { output: kept } = await new Scene().run({ run: flood });
    expect(kept?.endsWith("\n[12000000 bytes of output came too fast to be kept]\n")).toBe(true);
  });

  it("holds at most eight megabytes in memory, including the current write", async () => {
    let keptBytes = 0;
    const scene = broken(async () => ({
      ...output,
      write: async (chunk) => {
        await scene.clock.sleep(1);
        keptBytes += chunk.length;
      },
    }));
    const flood = async ({ write }: RuntimeJob): Promise<void> => {
      void write(Buffer.alloc(6_000_000));
      await scene.clock.sleep(1);
      void write(Buffer.alloc(6_000_000));
    };
    await scene.run({ run: flood }, {}, "1s");
    const line = "\n[6000000 bytes of output came too fast to be kept]\n";
    expect(keptBytes).toBe(6_000_000 + line.length);
  });

  it("that failed gets no further write, not even the held-back start of a secret", async () => {
    const tried: string[] = [];
    const sdkQuery = async function* (): AsyncGenerator {
      yield { type: "assistant", content: "done" };
    };
    const scene = new Scene({ sdkQuery });
    scene.store.jobs.openOutput = async () => ({
      ...output,
      write: async (chunk) => (tried.push(String(chunk)), boom()),
    });
    // The end of a line may be the beginning of this.
    const runtime = { type: "messages", options: { env: { TOKEN: "\nsecret" } } };
    expect((await scene.run({ runtime }, {}, "5s")).result).toMatchObject({ status: "completed" });
    expect(new Set(tried)).toEqual(new Set(['{"type":"assistant","content":"done"}']));
  });
});

describe("an empty write to the output of a job", () => {
  it("resolves at once, and does not block later writes", async () => {
    const run = async ({ write }: RuntimeJob): Promise<void> => {
      await write("");
      await write("later");
    };
    expect((await new Scene().run({ run })).output).toBe("later");
  });
});

describe("the output of a job while the log is away", () => {
  /** A scene whose store is away from one second to another, and all that it took. */
  const awayBetween = (fromSecond: number, untilSecond: number): { scene: Scene; kept: string[] } => {
    const scene = new Scene();
    const kept: string[] = [];
    const requireStore = (): void => {
      const second = scene.clock.monotonic() / 1_000;
      if (second >= fromSecond && second < untilSecond) throw new Error("away");
    };
    scene.store.jobs.openOutput = async () => {
      requireStore();
      return {
        write: async (chunk) => {
          requireStore();
          kept.push(Buffer.from(chunk).toString());
        },
        close: async () => {},
      };
    };
    return { scene, kept };
  };
  const ticks = (count: number): string =>
    Array.from({ length: count }, (_, second) => `${second}\n`).join("");
  const ticking =
    ({ clock }: Scene, count: number) =>
    async ({ log }: RuntimeJob): Promise<void> => {
      for (let second = 0; second < count; second++) {
        log(`${second}`);
        await clock.sleep("1s");
      }
    };

  it.each([
    ["open", 0],
    ["write", 3],
  ])("gets what came meanwhile once and in its order when it failed to %s", async (_, fromSecond) => {
    const { scene, kept } = awayBetween(fromSecond, 20);
    await scene.run({ run: ticking(scene, 30) }, {}, "30s");
    expect(kept.join("")).toBe(ticks(30));
    expect(scene.lines).toEqual([]);
  });

  it("is complete when the log is back soon after the job's end", async () => {
    const { scene, kept } = awayBetween(1, 7);
    const { record } = await scene.run({ run: ticking(scene, 3) }, {}, "8s");
    expect(kept.join("")).toBe("0\n1\n2\n");
    expect(record).toMatchObject({ status: "completed", finished_at: "2026-01-01T00:00:07.000Z" });
  });

  it("does not delay the end of the job, and the loss is logged", async () => {
    const { scene, kept } = awayBetween(1, Infinity);
    const { result, record } = await scene.run({ run: ticking(scene, 3) }, {}, "8s");
    expect(kept).toEqual(["0\n"]);
    expect(record).toMatchObject({ status: "completed", finished_at: "2026-01-01T00:00:08.000Z" });
    expect(scene.lines).toEqual([`Could not keep the output of ${result.jobId}: away`]);
    expect(scene.clock.sleeping).toBe(0);
  });

  it("does not block a job that awaits each write", async () => {
    const { scene } = awayBetween(0, 60);
    const patient = async ({ write }: RuntimeJob): Promise<void> => {
      for (let at = 0; at < 100; at++) await write("x");
    };
    expect((await scene.run({ run: patient }, {}, "5s")).result).toMatchObject({ durationMs: 0 });
  });

  it("has a line at the place of bytes beyond the limit", async () => {
    const { scene, kept } = awayBetween(0, 10);
    const flood = async ({ write }: RuntimeJob): Promise<void> => {
      for (let at = 0; at < 12; at++) await write(Buffer.alloc(1_000_000, "x"));
      await scene.clock.sleep("20s");
      void write("later");
    };
    const { result } = await scene.run({ run: flood }, {}, "20s");
    const line = "\n[4000000 bytes of output came while none could be kept]\n";
    expect(kept.join("").replace(/x+/, (xs) => `${xs.length}`)).toBe(`8000000${line}later`);
    expect(scene.lines).toEqual([`Could not keep the output of ${result.jobId}: away`]);
  });

  it("hides a secret that was written in two tries", async () => {
    const sdkQuery = async function* (): AsyncGenerator {
      yield { type: "assistant", content: "the secret-text is out" };
      await scene.clock.sleep("20s");
    };
    const scene = new Scene({ sdkQuery });
    const kept: string[] = [];
    let tries = 0;
    scene.store.jobs.openOutput = async () => ({
      write: async (chunk) => {
        if (++tries < 3) boom();
        kept.push(Buffer.from(chunk).toString());
      },
      close: async () => {},
    });
    const runtime = { type: "messages", options: { env: { TOKEN: "secret-text" } } };
    await scene.run({ runtime }, {}, "30s");
    expect(kept.join("")).toBe('{"type":"assistant","content":"the [hidden] is out"}\n');
  });

  it("is not written twice when the reply of the log came late", async () => {
    const scene = new Scene();
    const kept: string[] = [];
    scene.store.jobs.openOutput = async () => ({
      write: async (chunk) => {
        const text = Buffer.from(chunk).toString();
        if (kept.length === 0) await scene.clock.sleep("12s");
        kept.push(text);
      },
      close: async () => {},
    });
    await scene.run({ run: ticking(scene, 30) }, {}, "1m");
    expect(kept.join("")).toBe(ticks(30));
  });
});
