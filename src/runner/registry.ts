/**
 * Which runtime runs the jobs of an agent: the one its `runtime` names, else its `run`, else the host's `sdkQuery`.
 * A host may add its own types.
 */
import { isFields } from "../fields.js";
import { quote } from "../errors.js";
import { commandRuntime } from "./runtimes/command-runtime.js";
import { invalidRuntime } from "./configuration.js";
import { RunnerError } from "./errors.js";
import { functionRuntime } from "./runtimes/function-runtime.js";
import { httpRuntime } from "./runtimes/http-runtime.js";
import { messagesRuntime } from "./runtimes/messages-runtime.js";
import type {
  RunnableAgent,
  Runtime,
  RuntimeConfiguration,
  RuntimeContext,
  RuntimeFactory,
} from "./runtime.js";

export class RuntimeRegistry {
  readonly #factories = new Map<string, RuntimeFactory>([
    ["function", () => functionRuntime],
    ["command", commandRuntime],
    ["http", httpRuntime],
    ["messages", messagesRuntime],
  ]);

  get types(): readonly string[] {
    return [...this.#factories.keys()];
  }

  /** Adds a type. Throws a RunnerError with code DUPLICATE_RUNTIME when the registry has it already. */
  register(type: string, factory: RuntimeFactory): void {
    if (this.#factories.has(type))
      throw new RunnerError(`A runtime of type ${quote(type)} is registered already: choose another name.`, {
        code: "DUPLICATE_RUNTIME",
      });
    this.#factories.set(type, factory);
  }

  /** Throws a RunnerError when the jobs of this agent cannot run. */
  runtimeOf(agent: RunnableAgent, context: RuntimeContext): Runtime {
    if (agent.runtime == null && agent.run !== undefined) return functionRuntime;
    const configuration = configurationOf(agent, context);
    const factory = this.#factories.get(configuration.type);
    if (factory === undefined)
      throw new RunnerError(
        `Agent ${agent.name} has a runtime of type ${quote(configuration.type)}, expected one of ${this.types.join(", ")}.`,
        { code: "UNKNOWN_RUNTIME" },
      );
    return factory(configuration, context);
  }
}

function configurationOf(
  { name, runtime }: RunnableAgent,
  { sdkQuery }: RuntimeContext,
): RuntimeConfiguration {
  if (runtime == null) {
    if (sdkQuery !== undefined) return { type: "messages" };
    throw new RunnerError(
      `Agent ${name} cannot run jobs: give it a run function or a runtime, or the scheduler an sdkQuery.`,
      { code: "NO_RUNTIME" },
    );
  }
  const { type } = isFields(runtime) ? runtime : { type: undefined };
  if (isFields(runtime) && typeof type === "string") return { ...runtime, type };
  throw invalidRuntime(`The runtime of agent ${name} has no type, expected text such as "command".`);
}
