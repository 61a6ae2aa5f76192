/** Who owns a state directory, seen from outside: which process, whether it lives, and when it last showed that. */
import { lstat, readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { isFields } from "../../../fields.js";
import { isoTimeMs } from "../../../iso-time.js";
import { lifeOf, signerOf } from "./process-identity.js";

export interface Owner {
  readonly pid: number;
  readonly host: string;
  readonly since: Date | undefined;
  /** Its last sign of life. */
  readonly seenAt: Date;
  readonly isAlive: boolean;
}

/** Of an owner on a different machine only its signs of life are known, by a clock that may differ from this one. */
const LONGEST_SILENCE_MS = 60_000;

/** `undefined` where it has no owner. Touches nothing. */
export async function readOwner(stateDir: string, now: Date): Promise<Owner | undefined> {
  const lock = join(stateDir, "owner.lock");
  for (const name of await namesIn(lock)) {
    const signer = signerOf(name);
    if (signer === undefined) continue;
    try {
      const seenAt = (await lstat(join(lock, name))).mtime;
      const said = saidBy(await readFile(join(lock, name), "utf8"));
      const life = lifeOf(signer);
      const isSilent = now.getTime() - seenAt.getTime() > LONGEST_SILENCE_MS;
      const isAlive = life === "alive" || (life === "unknown" && !isSilent);
      return { pid: signer.pid, host: said.host, since: said.since, seenAt, isAlive };
    } catch {
      // Given back between two looks.
    }
  }
  return undefined;
}

async function namesIn(directory: string): Promise<readonly string[]> {
  try {
    return await readdir(directory);
  } catch {
    return [];
  }
}

function saidBy(text: string): { readonly host: string; readonly since: Date | undefined } {
  let said: unknown;
  try {
    said = JSON.parse(text);
  } catch {
    said = {};
  }
  const { host, since }: Readonly<Record<string, unknown>> = isFields(said) ? said : {};
  const sinceMs = isoTimeMs(since);
  return {
    host: typeof host === "string" ? host : "unknown",
    since: sinceMs === undefined ? undefined : new Date(sinceMs),
  };
}
