/** A job's output fails no job and holds none up for long, whatever becomes of it. */
import { describe, expect, it } from "vitest";
import type { RuntimeJob } from "../../src/runner/runtime.js";
import type { MemoryStore } from "../../src/state/memory-store.js";
import { Scene, settleable } from "./scene.js";

const never = (): Promise<never> => new Promise(() => {});
const boom = (): never => {
  throw new Error("boom");
};

describe("an output", () => {
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
  ])("that %s fails no job, and is told once", async (_, openOutput) => {
    const scene = broken(openOutput);
    const { result } = await scene.run({ run });
    expect(result).toMatchObject({ status: "completed", summary: "done" });
    expect(scene.lines).toEqual([`Could not keep the output of ${result.jobId}: boom`]);
  });

  it.each([
    ["opened", never],
    ["written", async () => ({ ...output, write: never })],
    ["closed", async () => ({ ...output, close: never })],
  ])("that hangs while it is %s delays the end by five seconds at most", async (_, openOutput) => {
    const scene = broken(openOutput);
    const { result, record } = await scene.run({ run }, {}, "5s");
    expect(result).toMatchObject({ status: "completed", durationMs: 0 });
    expect(record).toMatchObject({ status: "completed", finished_at: "2026-01-01T00:00:05.000Z" });
    expect(scene.lines).toEqual([`Could not keep the output of ${result.jobId}: no answer in 5000 ms`]);
    expect(scene.clock.sleeping).toBe(0);
  });

  it("that hangs does not keep a job waiting that waits for each write", async () => {
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

  it("that is opened too late is closed again", async () => {
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

  it("that is slower than the job has all that it wrote", async () => {
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

  it("has what came while it was being written, in its order", async () => {
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

  it("of a job that writes faster than it is kept has a line that says what is missing", async () => {
    const flood = ({ log }: RuntimeJob): void => {
      for (let at = 0; at < 200; at++) log("x".repeat(99_999));
    };
    const { output: kept } = await new Scene().run({ run: flood });
    expect(kept?.endsWith("\n[12000000 bytes of output came too fast to be kept]\n")).toBe(true);
  });

  it("has no more waiting than eight megabytes, with what is being written", async () => {
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

  it("that failed gets nothing more, not even what may have been a secret", async () => {
    let writes = 0;
    const sdkQuery = async function* (): AsyncGenerator {
      yield { type: "assistant", content: "done" };
    };
    const scene = new Scene({ sdkQuery });
    scene.store.jobs.openOutput = async () => ({ ...output, write: async () => (writes++, boom()) });
    // The end of a line may be the beginning of this.
    const runtime = { type: "messages", options: { env: { TOKEN: "\nsecret" } } };
    expect((await scene.run({ runtime })).result).toMatchObject({ status: "completed" });
    expect(writes).toBe(1);
  });
});
