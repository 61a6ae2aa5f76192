/** Jobs that listen to an agent SDK's messages, from one that ends well to one that hangs. */
import { describe, expect, expectTypeOf, it } from "vitest";
import type { SdkQuery } from "../../../src/runner/runtime.js";
import { type Ended, Scene, settleable } from "../scene.js";

async function* saying(...messages: unknown[]): AsyncGenerator {
  yield* messages;
}

function listen(sdkQuery: SdkQuery): Promise<Ended> {
  return new Scene({ sdkQuery }).run({});
}

describe("a messages job", () => {
  it("calls sdkQuery with the prompt, the options and an AbortController", async () => {
    const asked: Parameters<SdkQuery>[0][] = [];
    const sdkQuery: SdkQuery = (question) => {
      asked.push(question);
      return saying();
    };
    const runtime = { type: "messages", options: { model: "small" } };
    await new Scene({ sdkQuery }).run({ runtime }, { prompt: "Hello" });
    expect(asked).toMatchObject([{ prompt: "Hello", options: { model: "small" } }]);
    expect(asked[0]?.abortController.signal.aborted).toBe(false);
    // Where SDKs read it.
    expect(asked[0]?.options.abortController).toBe(asked[0]?.abortController);
  });

  it("gives each job its own AbortController, and leaves the configured options as they are", async () => {
    const controllers = new Set<unknown>();
    const sdkQuery: SdkQuery = ({ options }) => {
      controllers.add(options.abortController);
      return saying();
    };
    const runtime = Object.freeze({ type: "messages", options: Object.freeze({ model: "small" }) });
    const scene = new Scene({ sdkQuery });
    await scene.run({ runtime });
    await scene.run({ runtime });
    expect(controllers.size).toBe(2);
    expect(runtime.options).toEqual({ model: "small" });
  });

  it("fits the types of agent SDKs, whose options are optional and have types", () => {
    interface SdkOptions {
      abortController?: AbortController;
      model?: string;
      env?: Record<string, string | undefined>;
    }
    type Query = (question: {
      prompt: string | AsyncIterable<{ type: "user" }>;
      options?: SdkOptions;
    }) => AsyncGenerator<{ type: "result" }, void>;
    expectTypeOf<Query>().toExtend<SdkQuery>();
    expectTypeOf<(question: { prompt: string }) => AsyncIterable<unknown>>().toExtend<SdkQuery>();
    expectTypeOf<(question: { prompt: number }) => AsyncIterable<unknown>>().not.toExtend<SdkQuery>();
  });

  it("has each message as a line of JSON in its output", async () => {
    const { output } = await listen(() => saying({ type: "system" }, { type: "user", content: "a\nb" }));
    expect(output).toBe('{"type":"system"}\n{"type":"user","content":"a\\nb"}\n');
  });

  it("has a line for a message that JSON cannot express", async () => {
    const { result, output } = await listen(() => saying({ size: 1n }, undefined));
    expect(result.status).toBe("completed");
    expect(output?.match(/"type":"unprintable"/g)).toHaveLength(2);
  });

  it.each([
    ["an assistant's text", { type: "assistant", content: "text" }, "text"],
    ["an assistant's message", { type: "assistant", message: { content: "text" } }, "text"],
    [
      "the text among an assistant's blocks",
      {
        type: "assistant",
        message: {
          content: [{ type: "text", text: "one" }, { type: "tool_use" }, { type: "text", text: "two" }],
        },
      },
      "one\ntwo",
    ],
    ["a result", { type: "result", subtype: "success", result: "text" }, "text"],
    ["nothing of a user message", { type: "user", content: "text" }, undefined],
    [
      "nothing of blocks without text",
      { type: "assistant", message: { content: [{ type: "tool_use" }] } },
      undefined,
    ],
  ])("has %s as its summary", async (_, message, summary) => {
    expect((await listen(() => saying(message))).result).toEqual(expect.objectContaining({ success: true }));
    expect((await listen(() => saying(message))).result.summary).toBe(summary);
  });

  it("has the last text as its summary", async () => {
    const { result } = await listen(() =>
      saying(
        { type: "assistant", content: "first" },
        { type: "assistant", content: "last" },
        { type: "user", content: "x" },
      ),
    );
    expect(result.summary).toBe("last");
  });

  it("accepts a promise of the messages", async () => {
    const { result } = await listen(() => Promise.resolve(saying({ type: "assistant", content: "text" })));
    expect(result.summary).toBe("text");
  });
});

describe("a failing messages job", () => {
  it.each([
    ["a result that is an error", { type: "result", is_error: true, result: "no money" }, "no money"],
    ["a result whose subtype is an error", { type: "result", subtype: "error_max_turns" }, "error_max_turns"],
    ["an error message", { type: "error", error: { message: "overloaded" } }, "overloaded"],
    ["an error message with text", { type: "error", message: "overloaded" }, "overloaded"],
    ["an error without text", { type: "error" }, "The agent reported an error."],
  ])("has the reason in its result for %s", async (_, message, error) => {
    const { result, record } = await listen(() => saying({ type: "assistant", content: "so far" }, message));
    expect(result).toMatchObject({ success: false, status: "failed", error });
    expect(record).toMatchObject({ status: "failed", error });
  });

  it.each<[string, SdkQuery]>([
    [
      "when it is called",
      () => {
        throw new Error("boom");
      },
    ],
    ["by rejecting", () => Promise.reject(new Error("boom"))],
    [
      "between two messages",
      async function* () {
        yield { type: "assistant", content: "so far" };
        throw new Error("boom");
      },
    ],
  ])("has the reason in its result when sdkQuery throws %s", async (_, sdkQuery) => {
    expect((await listen(sdkQuery)).result).toMatchObject({ status: "failed", error: "boom" });
  });

  it("has the reason of an error message when the SDK throws after it", async () => {
    const { result } = await listen(async function* () {
      yield { type: "result", is_error: true, errors: ["no money"] };
      throw new Error("the program exited with code 1");
    });
    expect(result).toMatchObject({ status: "failed", error: "no money" });
  });

  it("reports an sdkQuery that returns no async iterable", async () => {
    const { result } = await listen(() => "hello" as never);
    expect(result).toMatchObject({
      status: "failed",
      error: "The sdkQuery returned no async iterable of messages.",
    });
  });
});

describe("a messages job that is stopped", () => {
  class HangingMessages implements AsyncIterableIterator<unknown> {
    returns = 0;
    readonly next = (): Promise<IteratorResult<unknown>> => this.#next;
    readonly #next: Promise<IteratorResult<unknown>>;
    readonly #returned: () => Promise<IteratorResult<unknown>>;

    constructor(next: Promise<never>, returned: () => Promise<IteratorResult<unknown>>) {
      this.#next = next;
      this.#returned = returned;
    }

    return(): Promise<IteratorResult<unknown>> {
      this.returns++;
      return this.#returned();
    }

    [Symbol.asyncIterator](): this {
      return this;
    }
  }

  it("calls `return` of the iterator, and aborts its controller", async () => {
    const messages = new HangingMessages(new Promise(() => {}), () =>
      Promise.resolve({ done: true, value: undefined }),
    );
    let isAborted = false;
    const sdkQuery: SdkQuery = ({ abortController: { signal } }) => {
      signal.addEventListener("abort", () => (isAborted = true));
      return messages;
    };
    const { result } = await new Scene({ sdkQuery }).run({ timeout: "5s" }, {}, "5s");
    expect(result).toMatchObject({ status: "timeout", durationMs: 5_000 });
    expect(messages.returns).toBe(1);
    expect(isAborted).toBe(true);
  });

  it("is abandoned after the grace when the iterator hangs", async () => {
    const scene = new Scene({
      sdkQuery: () => new HangingMessages(new Promise(() => {}), () => new Promise(() => {})),
    });
    const { result } = await scene.run({ timeout: "5s" }, {}, "15s");
    expect(result).toMatchObject({ status: "timeout", durationMs: 15_000 });
    expect(scene.executor.abandonedCount).toBe(1);
  });

  it("ignores a later rejection of the iterator", async () => {
    const late = settleable<never>();
    const returned = (): Promise<never> => Promise.reject(new Error("cannot"));
    const scene = new Scene({ sdkQuery: () => new HangingMessages(late.promise, returned) });
    const { result } = await scene.run({ timeout: "5s" }, {}, "5s");
    late.reject(new Error("too late"));
    await scene.clock.advance(0);
    expect(result).toMatchObject({ status: "timeout" });
  });

  it("ends at once before the first message", async () => {
    const { result } = await new Scene({ sdkQuery: () => new Promise(() => {}) }).run(
      { timeout: "5s" },
      {},
      "5s",
    );
    expect(result).toMatchObject({ status: "timeout", durationMs: 5_000 });
  });
});
