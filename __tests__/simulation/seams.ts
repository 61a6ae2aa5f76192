/**
 * Rota with some exports of its modules replaced: how a bug is planted. A seam names a module of src/ and returns the exports
 * that take the place of its own. All other modules are the sources as they are, and import the replaced exports.
 */
import { fileURLToPath } from "node:url";
import { vi } from "vitest";
import type { SchedulerContext } from "../../src/scheduler/context.js";
import type { StateStore } from "../../src/state/store.js";
import type * as postgres from "../../src/state/postgres/postgres-store.js";
import type { PostgresPool } from "../../src/state/postgres/index.js";
import type { Rota } from "./simulation.js";

export interface Seam {
  /** Below src/, without its extension. */
  readonly module: string;
  /** Returns the exports to be replaced, given all of the module's own. */
  readonly replace: (original: object) => object;
}

/** A bug, and how the simulator notices it. */
export interface PlantedBug {
  /** Finishes the sentence "the simulator notices when". */
  readonly name: string;
  /** A seed whose simulation shows the bug, where the first seeds do not. */
  readonly seed?: number;
  /** The guarantees that the bug breaks. The first one that the simulator finds broken has to be one of them. */
  readonly breaks: readonly string[];
  readonly seams: readonly Seam[];
}

/** What the constructor of a replaced class takes: the same as the original's. */
export type Arguments<Class extends abstract new (...args: never[]) => unknown> =
  ConstructorParameters<Class>;

/** `Module` is the module's type: a replacement that does not fit the module does not compile. */
export function seam<Module extends object>(
  module: string,
  replace: (original: Module) => Partial<Module>,
): Seam {
  return { module, replace: replace as Seam["replace"] };
}

/** The object with some of its methods replaced. The rest are called on the object itself, which may have private fields. */
export function overridden<Original extends object>(
  original: Original,
  overrides: Partial<Original>,
): Original {
  return new Proxy(original, {
    get(target, name): unknown {
      if (name in overrides) return Reflect.get(overrides, name);
      const value: unknown = Reflect.get(target, name);
      return typeof value === "function" ? (value.bind(target) as unknown) : value;
    },
  });
}

/** The same context with this store: for one part of a scheduler. */
export function withStore(context: SchedulerContext, store: StateStore): SchedulerContext {
  return Object.create(context, { store: { value: store } }) as SchedulerContext;
}

/** Replaces a text in whatever SQL the store sends, wherever that is written: in its schema's functions or in a query. */
export function sqlSeam(from: string, to: string): Seam {
  const changed = <Query>(query: Query): Query => {
    if (typeof query === "string") return query.replaceAll(from, to) as Query;
    const { text } = query as { readonly text: string };
    return { ...query, text: text.replaceAll(from, to) };
  };
  const changing = (pool: PostgresPool): PostgresPool => ({
    query: (query) => pool.query(changed(query)),
    connect: async () => {
      const client = await pool.connect();
      return Object.assign(Object.create(client) as typeof client, {
        query: (query: Parameters<typeof client.query>[0]) => client.query(changed(query)),
      });
    },
    on: pool.on.bind(pool),
    end: () => pool.end(),
  });
  return seam<typeof postgres>("state/postgres/postgres-store", ({ PostgresStore }) => ({
    PostgresStore: class extends PostgresStore {
      constructor(options: ConstructorParameters<typeof PostgresStore>[0] = {}) {
        super(options.pool === undefined ? options : { ...options, pool: changing(options.pool) });
      }
    },
  }));
}

/** Loads src/ anew, with the seams in it. Several seams of one module are applied in turn. */
export async function withSeams(seams: readonly Seam[]): Promise<Rota> {
  const modules = [...new Set(seams.map(({ module }) => module))];
  const misfits = new Set(modules.map((module) => `nothing imports src/${module}.ts`));
  // A module that is still being imported would be the original one, without the seams.
  await vi.dynamicImportSettled();
  vi.resetModules();
  for (const module of modules) {
    vi.doMock(pathOf(module), async (importOriginal) => {
      misfits.delete(`nothing imports src/${module}.ts`);
      const exports = { ...(await importOriginal<object>()) };
      for (const { replace } of seams.filter((one) => one.module === module)) {
        const replaced = replace(exports);
        for (const name of Object.keys(replaced))
          if (!(name in exports)) misfits.add(`src/${module}.ts has no export ${name}`);
        Object.assign(exports, replaced);
      }
      return exports;
    });
  }
  try {
    const [{ Scheduler }, { MemoryStore }, { PostgresStore }, { StateLockedError }, checks] =
      await Promise.all([
        import("../../src/scheduler/scheduler.js"),
        import("../../src/state/memory/memory-store.js"),
        import("../../src/state/postgres/postgres-store.js"),
        import("../../src/state/errors.js"),
        import("../../src/scheduler/definition-checks.js"),
      ]);
    // A start that loads them would take real time.
    await checks.loadChecks();
    if (misfits.size > 0) throw new Error(`The seams do not fit: ${[...misfits].join("; ")}.`);
    return { Scheduler, MemoryStore, PostgresStore, StateLockedError };
  } finally {
    for (const module of modules) vi.doUnmock(pathOf(module));
  }
}

function pathOf(module: string): string {
  return fileURLToPath(new URL(`../../src/${module}.ts`, import.meta.url));
}
