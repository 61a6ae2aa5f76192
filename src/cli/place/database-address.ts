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
export function databaseAddress(url: string, from: string, schema: string = DEFAULT_SCHEMA): DatabaseAddress {
  if (!URL.canParse(url)) throw invalid(from);
  const { protocol, username, host, pathname, searchParams } = new URL(url);
  // An "@" in the path: a "/" in the password ended the host before its time.
  if (!PROTOCOLS.has(protocol) || pathname.includes("@")) throw invalid(from);
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

function invalid(from: string): CliError {
  return usageError(
    `Invalid ${from}: expected postgres://user:password@host:5432/database, ` +
      `with special characters of the password percent-encoded`,
  );
}
