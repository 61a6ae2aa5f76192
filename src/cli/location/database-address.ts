/** The address of a database: whether it is one, and how to say it without telling its password. Pure. */
import { type CliError, usageError } from "../errors.js";

export const DEFAULT_SCHEMA = "rota";

export interface DatabaseAddress {
  readonly url: string;
  readonly schema: string;
  /** The address without what nobody else should read. */
  readonly name: string;
  /** How long to wait for a connection, in milliseconds. */
  readonly connectMs: number;
}

const PROTOCOLS = new Set(["postgres:", "postgresql:"]);
const DEFAULT_CONNECT_MS = 10_000;

/** Whether a text is the address of a database of this kind, perhaps with mistakes in it. */
export function isPostgresUrl(text: string): boolean {
  return /^postgres(ql)?:/i.test(text);
}

/** `from`: where the text stood, for messages. They never show the text: a mistake may be right in its password. */
export function databaseAddress(
  text: string,
  from: string,
  schema: string = DEFAULT_SCHEMA,
): DatabaseAddress {
  const url = text.trim();
  if (!URL.canParse(url) || !hasWholeEscapes(url)) throw invalid(from);
  const { protocol, username, host, pathname, search, hash, searchParams } = new URL(url);
  // An "@" behind the host: a "/", "?" or "#" in the password ended that before its time.
  if (!PROTOCOLS.has(protocol) || `${pathname}${search}${hash}`.includes("@")) throw invalid(from);
  const user = username === "" ? "" : `${username}@`;
  const shown = `${protocol}//${user}${host}${pathname}`;
  const seconds = Number(searchParams.get("connect_timeout") ?? 0);
  return {
    url,
    schema,
    name: schema === DEFAULT_SCHEMA ? shown : `${shown}, schema ${schema}`,
    connectMs: seconds > 0 ? seconds * 1000 : DEFAULT_CONNECT_MS,
  };
}

/** A "%" that stands for itself would be taken for something else, or fail the driver. */
function hasWholeEscapes(url: string): boolean {
  try {
    decodeURIComponent(url);
    return true;
  } catch {
    return false;
  }
}

function invalid(from: string): CliError {
  return usageError(
    `Invalid ${from}: expected postgres://user:password@host:5432/database, ` +
      "with special characters percent-encoded, most of all those of the password",
  );
}
