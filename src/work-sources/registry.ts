/** Which types of work sources there are, and how an adapter of each is made. */
import { type Clock, systemClock } from "../clock.js";
import { messageOf, quote } from "../errors.js";
import { guarded, type Logger, processLogger } from "../logger.js";
import { createDirectorySource } from "./directory/directory-source.js";
import { WorkSourceError } from "./errors.js";
import { githubSource } from "./github/github-source.js";
import { createMemorySource } from "./memory-source.js";
import { invalidSource, requireConfig } from "./source-config.js";
import type { WorkSourceAdapter, WorkSourceConfig } from "./work-source.js";

/** What an adapter is given beside its configuration. */
export interface WorkSourceContext {
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Checks the configuration, and throws when it is wrong; reaches for nothing outside yet. */
export type WorkSourceFactory = (config: WorkSourceConfig, context: WorkSourceContext) => WorkSourceAdapter;

/** The types every registry knows. */
const BUILT_IN: readonly (readonly [string, WorkSourceFactory])[] = [
  ["memory", createMemorySource],
  ["directory", createDirectorySource],
  ["github", githubSource],
];

export class WorkSourceRegistry {
  readonly #factories = new Map<string, WorkSourceFactory>(BUILT_IN);

  /** Adds a type, and answers how to take it away again. */
  register(type: string, factory: WorkSourceFactory): () => void {
    if (this.#factories.has(type))
      throw new WorkSourceError(
        `A work source of type ${quote(type)} is registered already: choose another name.`,
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
        `There is no work source of type ${quote(type)}: there are ${[...this.#factories.keys()].join(", ")}. ` +
          "Register others with registerWorkSource.",
        { code: "UNKNOWN_WORK_SOURCE" },
      );
    try {
      return factory(config, { clock, logger: guarded(logger) });
    } catch (error) {
      if (error instanceof WorkSourceError) throw error;
      throw invalidSource(
        `A work source of type ${quote(type)} could not be made: ${messageOf(error)}`,
        error,
      );
    }
  }
}

let common: WorkSourceRegistry | undefined;

/** The registry of whoever is given none. */
export function defaultRegistry(): WorkSourceRegistry {
  common ??= new WorkSourceRegistry();
  return common;
}

/** Adds a type for all managers without a registry of their own, and answers how to take it away again. */
export function registerWorkSource(type: string, factory: WorkSourceFactory): () => void {
  return defaultRegistry().register(type, factory);
}
