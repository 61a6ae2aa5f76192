/** Parses the address of a PostgreSQL database, and names it without its password. Pure. */
import { type CliError, usageError } from "../errors.js";

export const DEFAULT_SCHEMA = "rota";

export interface DatabaseAddress {
  readonly url: string;
  readonly schema: string;
  /** The address without its password and parameters, for messages. */
  readonly name: string;
  /** How long to wait for a connection, in milliseconds. */
  readonly connectMs: number;
}

const PROTOCOLS = new Set(["postgres:", "postgresql:"]);
const DEFAULT_CONNECT_MS = 10_000;

/** Whether a text begins like a PostgreSQL address; it may still be invalid. */
export function isPostgresUrl(text: string): boolean {
  return /^postgres(ql)?:/i.test(text);
}

/** `from`: the option or variable, for messages. They never show the text itself, because it may hold a password. */
export function databaseAddress(
  text: string,
  from: string,
  schema: string = DEFAULT_SCHEMA,
): DatabaseAddress {
  const url = text.trim();
  if (!URL.canParse(url) || !hasWholeEscapes(url)) throw invalid(from);
  const { protocol, username, host, pathname, search, hash, searchParams } = new URL(url);
  // An "@" after the host means that a "/", "?" or "#" in the password ended the host too early.
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

/** A "%" that is not part of an escape would be misread, or make the driver throw. */
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
      "with special characters percent-encoded, above all in the password",
  );
}
