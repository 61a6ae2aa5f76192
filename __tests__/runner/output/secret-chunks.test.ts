/** A secret is nowhere in the output of a job, wherever the output is cut into writes. */
import { describe, expect, it } from "vitest";
import { RuntimeRegistry } from "../../../src/runner/registry.js";
import type { RuntimeResult } from "../../../src/runner/runtime.js";
import { Scene } from "../scene.js";

const SECRETS = ["sesame", "sesame-open-wide", "wide-as-the-sea", "line one of it\nline two of it\n"];
const TEXT = `a sesame, a sesame-open-wide-as-the-sea; ${SECRETS[3]}and "line two of it" sesame-open`;
const SHOWN = 'a [hidden], a [hidden]; [hidden]and "[hidden]" [hidden]-open';

/** Runs a job that writes these chunks, and returns all of them in its result too. */
async function outputOf(...chunks: string[]): Promise<string | undefined> {
  const runtimes = new RuntimeRegistry();
  const whole = chunks.join("");
  const said: RuntimeResult = {
    success: false,
    summary: whole,
    error: whole,
    responseBody: { [whole]: [whole] },
  };
  runtimes.register("chunks", () => ({
    secrets: SECRETS,
    run: async ({ write }) => {
      for (const chunk of chunks) await write(chunk);
      return said;
    },
  }));
  const { output, result } = await new Scene({ runtimes }).run({ runtime: { type: "chunks" } });
  expect(result).toMatchObject({ summary: SHOWN, error: SHOWN, responseBody: { [SHOWN]: [SHOWN] } });
  return output;
}

describe("the output of a job with secrets", () => {
  it("shows none when it is cut at any one place", async () => {
    for (let at = 0; at <= TEXT.length; at++)
      expect(await outputOf(TEXT.slice(0, at), TEXT.slice(at))).toBe(SHOWN);
  });

  it("shows none when it is written character by character", async () => {
    expect(await outputOf(...Array.from(TEXT))).toBe(SHOWN);
  });
});
