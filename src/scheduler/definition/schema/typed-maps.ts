/** Maps of which a `type` says what other keys they have: those that Rota knows, and those of the host. */
import { allOptional, constant, map, type MapSchema, openMap, type Schema } from "./fields.js";

export interface TypedMap {
  readonly description: string;
  readonly keys: () => Readonly<Record<string, Schema>>;
}

interface TypedMapOptions {
  /** Types that the host has registered: only their type is known here. */
  readonly others: readonly string[];
  /** What one of those is. */
  readonly otherIs: string;
  /** Whether keys may be missing because parts of the map are still to be merged. */
  readonly isWhole: boolean;
}

/** By type. */
export function typedMaps(
  known: Readonly<Record<string, TypedMap>>,
  { others, otherIs, isWhole }: TypedMapOptions,
): Record<string, MapSchema> {
  const schemas: Record<string, MapSchema> = {};
  for (const type of others)
    schemas[type] = openMap({ type: constant(type, otherIs) }, "a map with a type", { description: otherIs });
  for (const [type, { description, keys }] of Object.entries(known))
    schemas[type] = map(
      { type: constant(type, description), ...(isWhole ? keys() : allOptional(keys())) },
      "a map with a type",
      { description },
    );
  return schemas;
}
