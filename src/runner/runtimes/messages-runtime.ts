/**
 * Runs a job by sending its prompt to an agent SDK and reading the messages until they end. Each message becomes a line
 * of the output. message-text.ts finds the summary and the error in them.
 */
import { isFields } from "../../fields.js";
import { invalidRuntime, refuseUnknownKeys } from "../configuration.js";
import { errorIn, lineOf, summaryIn } from "./message-text.js";
import type {
  Runtime,
  RuntimeConfiguration,
  RuntimeContext,
  RuntimeJob,
  RuntimeResult,
  SdkQuery,
} from "../runtime.js";
import { secretsIn, secretsInHeaders } from "../output/secrets.js";

export function messagesRuntime(configuration: RuntimeConfiguration, { sdkQuery }: RuntimeContext): Runtime {
  refuseUnknownKeys(configuration, ["options"]);
  const options = configuration["options"] ?? {};
  if (!isFields(options))
    throw invalidRuntime("The options of a messages runtime are not a map, expected those of the SDK.");
  if (sdkQuery === undefined)
    throw invalidRuntime("A messages runtime needs an sdkQuery: give one to the scheduler or executor.");
  const secrets = [...secretsIn(textsOf(options["env"])), ...secretsInHeaders(textsOf(options["headers"]))];
  return { secrets, run: (job) => readMessages(job, sdkQuery, options) };
}

async function readMessages(
  job: RuntimeJob,
  sdkQuery: SdkQuery,
  options: Readonly<Record<string, unknown>>,
): Promise<RuntimeResult> {
  const { prompt, signal } = job;
  const abortController = new AbortController();
  const waiting = new AbortableWait();
  const abort = (): void => {
    abortController.abort(signal.reason);
    waiting.end();
  };
  if (signal.aborted) abort();
  else signal.addEventListener("abort", abort, { once: true });
  try {
    const question = { prompt, abortController, options: { ...options, abortController } };
    const messages = await waiting.for(() => sdkQuery(question));
    // A host's function may return anything.
    if (messages !== undefined && !(Symbol.asyncIterator in Object(messages)))
      throw new TypeError("The sdkQuery returned no async iterable of messages.");
    const iterator = messages?.[Symbol.asyncIterator]();
    const result = iterator === undefined ? undefined : await collect(job, iterator, waiting);
    if (result !== undefined) return result;
    // If this hangs, the runner abandons the job.
    await iterator?.return?.();
    throw signal.reason;
  } finally {
    signal.removeEventListener("abort", abort);
  }
}

/** The result after the last message; `undefined` when the wait was ended before. */
async function collect(
  job: RuntimeJob,
  iterator: AsyncIterator<unknown>,
  waiting: AbortableWait,
): Promise<RuntimeResult | undefined> {
  let summary: string | undefined;
  let error: string | undefined;
  try {
    for (;;) {
      const step = await waiting.for(() => iterator.next());
      if (step === undefined) return undefined;
      if (step.done === true) break;
      const message: unknown = step.value;
      summary = summaryIn(message) ?? summary;
      error = errorIn(message) ?? error;
      for (const piece of lineOf(message)) await job.write(piece);
    }
  } catch (thrown) {
    // An SDK reports an error, and then throws because its program has exited.
    if (error === undefined) throw thrown;
  }
  return error === undefined ? { success: true, summary } : { success: false, summary, error };
}

/** Waits for one promise after the other, until `end` is called. Keeps no reference to a finished wait. */
class AbortableWait {
  #isEnded = false;
  #endThis: ((nothing: undefined) => void) | undefined;

  end(): void {
    this.#isEnded = true;
    this.#endThis?.(undefined);
  }

  /** `undefined` after `end`; a later result or error is ignored. */
  for<Value>(begin: () => Value | PromiseLike<Value>): Promise<Value | undefined> {
    return new Promise((resolve, reject) => {
      if (this.#isEnded) {
        resolve(undefined);
        return;
      }
      // Not wrapped in a closure: that kept tens of megabytes of messages alive.
      this.#endThis = resolve;
      Promise.resolve(begin()).then(resolve, reject);
    });
  }
}

function textsOf(values: unknown): Record<string, string> {
  const texts: Record<string, string> = {};
  for (const [name, value] of Object.entries(isFields(values) ? values : {}))
    if (typeof value === "string") texts[name] = value;
  return texts;
}
