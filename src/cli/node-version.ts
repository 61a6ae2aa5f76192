/** The oldest Node that Rota runs on. Pure; an old Node has to parse this file, so it imports nothing. */

const OLDEST_NODE = [20, 19] as const;

/** What to say of a Node that is too old. `version`: as in `process.versions.node`. */
export function oldNodeMessage(version: string): string | undefined {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  const [oldestMajor, oldestMinor] = OLDEST_NODE;
  const isOld = major < oldestMajor || (major === oldestMajor && minor < oldestMinor);
  if (!isOld) return undefined;
  return `${version} is too old: Rota needs ${OLDEST_NODE.join(".")} or newer`;
}
