/** Schemas of maps whose `type` decides which keys they have: the built-in types, and the types of the host. */
import { allOptional, constant, type KeySchemas, map, type MapSchema, openMap } from "./fields.js";

export interface TypedMap {
  readonly description: string;
  readonly keys: () => KeySchemas;
}

interface TypedMapOptions {
  /** Types that the host has registered: the schema accepts any keys beside the type. */
  readonly hostTypes: readonly string[];
  /** Describes a map of such a type. */
  readonly hostDescription: string;
  /** `false` for a part that is merged later: any key may be missing. */
  readonly isWhole: boolean;
}

/** The schemas by type. */
export function typedMaps(
  known: Readonly<Record<string, TypedMap>>,
  { hostTypes, hostDescription, isWhole }: TypedMapOptions,
): Record<string, MapSchema> {
  const schemas: Record<string, MapSchema> = {};
  for (const type of hostTypes)
    schemas[type] = openMap({ type: constant(type, hostDescription) }, "a map with a type", {
      description: hostDescription,
    });
  for (const [type, { description, keys }] of Object.entries(known))
    schemas[type] = map(
      { type: constant(type, description), ...(isWhole ? keys() : allOptional(keys())) },
      "a map with a type",
      { description },
    );
  return schemas;
}
