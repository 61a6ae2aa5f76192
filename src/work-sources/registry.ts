/** The types of work sources, and how an adapter of each is created. */
import { type Clock, systemClock } from "../clock.js";
import { messageOf, quote } from "../errors.js";
import { guarded, type Logger, processLogger } from "../logger.js";
import { createDirectorySource } from "./directory/directory-source.js";
import { WorkSourceError } from "./errors.js";
import { createGitHubSource } from "./github/github-source.js";
import { createMemorySource } from "./memory-source.js";
import { invalidSource, requireConfig } from "./source-config.js";
import type { WorkSourceAdapter, WorkSourceConfig } from "./work-source.js";

/** What a factory gets beside the configuration. */
export interface WorkSourceContext {
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Checks the configuration, and throws when it is wrong. Reads no files and opens no connections. */
export type WorkSourceFactory = (config: WorkSourceConfig, context: WorkSourceContext) => WorkSourceAdapter;

/** The types that every registry has. */
const BUILT_IN: readonly (readonly [string, WorkSourceFactory])[] = [
  ["memory", createMemorySource],
  ["directory", createDirectorySource],
  ["github", createGitHubSource],
];

export class WorkSourceRegistry {
  readonly #factories = new Map<string, WorkSourceFactory>(BUILT_IN);

  get types(): readonly string[] {
    return [...this.#factories.keys()];
  }

  /** Adds a type, and returns a function that removes it. */
  register(type: string, factory: WorkSourceFactory): () => void {
    if (this.#factories.has(type))
      throw new WorkSourceError(
        `A work source of type ${quote(type)} is already registered: choose a different name.`,
        { code: "DUPLICATE_WORK_SOURCE" },
      );
    this.#factories.set(type, factory);
    return () => {
      if (this.#factories.get(type) === factory) this.#factories.delete(type);
    };
  }

  /** A new adapter. */
  create(config: WorkSourceConfig, options: Partial<WorkSourceContext> = {}): WorkSourceAdapter {
    const { clock = systemClock, logger = processLogger } = options;
    const { type } = requireConfig(config);
    const factory = this.#factories.get(type);
    if (factory === undefined)
      throw new WorkSourceError(
        `Unknown work source type ${quote(type)}, expected ${this.types.join(", ")}. ` +
          "Register more types with registerWorkSource.",
        { code: "UNKNOWN_WORK_SOURCE" },
      );
    try {
      return factory(config, { clock, logger: guarded(logger) });
    } catch (error) {
      if (error instanceof WorkSourceError) throw error;
      throw invalidSource(
        `A work source of type ${quote(type)} could not be created: ${messageOf(error)}`,
        error,
      );
    }
  }
}

let common: WorkSourceRegistry | undefined;

/** The registry of managers that are created without one. */
export function defaultRegistry(): WorkSourceRegistry {
  common ??= new WorkSourceRegistry();
  return common;
}

/** Adds a type to the default registry, and returns a function that removes it. */
export function registerWorkSource(type: string, factory: WorkSourceFactory): () => void {
  return defaultRegistry().register(type, factory);
}
