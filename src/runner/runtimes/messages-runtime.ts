/**
 * Runs a job by asking an agent SDK and listening to its messages until they end. Each is a line of the output.
 * What a message means is decided in message-text.ts.
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
import { secretsIn } from "../output/secrets.js";

export function messagesRuntime(configuration: RuntimeConfiguration, { sdkQuery }: RuntimeContext): Runtime {
  refuseUnknownKeys(configuration, ["options"]);
  const options = configuration["options"] ?? {};
  if (!isFields(options))
    throw invalidRuntime("The options of a messages runtime are not a map, expected those of the SDK.");
  if (sdkQuery === undefined)
    throw invalidRuntime("A messages runtime needs an sdkQuery: give one to the scheduler or executor.");
  const secrets = secretsIn({ ...textsOf(options["env"]), ...textsOf(options["headers"]) });
  return { secrets, run: (job) => listen(job, sdkQuery, options) };
}

async function listen(
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
    const messages = await waiting.for(() => sdkQuery({ prompt, abortController, options }));
    // Whoever gives the function may have given one that answers something else.
    if (messages !== undefined && !(Symbol.asyncIterator in Object(messages)))
      throw new TypeError("The sdkQuery answered no async iterable of messages.");
    const iterator = messages?.[Symbol.asyncIterator]();
    const result = iterator === undefined ? undefined : await collect(job, iterator, waiting);
    if (result !== undefined) return result;
    // One that hangs is given up with the job.
    await iterator?.return?.();
    throw signal.reason;
  } finally {
    signal.removeEventListener("abort", abort);
  }
}

/** What the messages say when they have ended; `undefined` when the job is to end before. */
async function collect(
  job: RuntimeJob,
  iterator: AsyncIterator<unknown>,
  waiting: AbortableWait,
): Promise<RuntimeResult | undefined> {
  let summary: string | undefined;
  let error: string | undefined;
  for (;;) {
    const step = await waiting.for(() => iterator.next());
    if (step === undefined) return undefined;
    if (step.done === true) break;
    const message: unknown = step.value;
    summary = summaryIn(message) ?? summary;
    error = errorIn(message) ?? error;
    for (const piece of lineOf(message)) await job.write(piece);
  }
  return error === undefined ? { success: true, summary } : { success: false, summary, error };
}

/** Waits for one thing after the other, until it is ended; no wait leaves anything behind. */
class AbortableWait {
  #isEnded = false;
  #endThis: ((nothing: undefined) => void) | undefined;

  end(): void {
    this.#isEnded = true;
    this.#endThis?.(undefined);
  }

  /** `undefined`: it was ended. What comes of the thing later is nobody's business any more. */
  for<Value>(begin: () => Value | PromiseLike<Value>): Promise<Value | undefined> {
    return new Promise((resolve, reject) => {
      if (this.#isEnded) {
        resolve(undefined);
        return;
      }
      // Without a function around it: with one, tens of megabytes of messages outlived their turn.
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
