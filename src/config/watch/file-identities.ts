/** Tells whether files have changed since they were read: by their inodes, sizes and times, not by their contents. */
import { stat } from "node:fs/promises";

/** By path. */
export type Identities = ReadonlyMap<string, string>;

const MISSING = "missing";

export async function identitiesOf(paths: readonly string[]): Promise<Identities> {
  const found = await Promise.all(
    paths.map(async (path): Promise<[string, string]> => [path, await identity(path)]),
  );
  return new Map(found);
}

async function identity(path: string): Promise<string> {
  try {
    const { dev, ino, size, mtimeNs, ctimeNs } = await stat(path, { bigint: true });
    return [dev, ino, size, mtimeNs, ctimeNs].join(" ");
  } catch {
    // Reading the file reports the reason.
    return MISSING;
  }
}

export function areSame(a: Identities, b: Identities): boolean {
  return a.size === b.size && [...a].every(([path, one]) => b.get(path) === one);
}

/** Whether a file that existed before is missing now. */
export function hasVanished(before: Identities, now: Identities): boolean {
  return [...before].some(([path, one]) => one !== MISSING && now.get(path) === MISSING);
}
