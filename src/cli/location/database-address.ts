/** Parses the address of a PostgreSQL database, and names it without its password. Pure. */
import { EXPECTED_DATABASE, isDatabaseUrl } from "../../config/database-url.js";
import { usageError } from "../errors.js";

export const DEFAULT_SCHEMA = "rota";

export interface DatabaseAddress {
  readonly url: string;
  readonly schema: string;
  /** The address without its password and parameters, for messages. */
  readonly name: string;
  /** How long to wait for a connection, in milliseconds. */
  readonly connectMs: number;
}

const DEFAULT_CONNECT_MS = 10_000;

/** `from`: the option or variable, for messages. They never show the text itself, because it may hold a password. */
export function databaseAddress(
  text: string,
  from: string,
  schema: string = DEFAULT_SCHEMA,
): DatabaseAddress {
  const url = text.trim();
  if (!isDatabaseUrl(url)) throw usageError(`Invalid ${from}: expected ${EXPECTED_DATABASE}`);
  const { protocol, username, host, pathname, searchParams } = new URL(url);
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
