/** Which texts are addresses of a PostgreSQL database. Pure. */

const PROTOCOLS = new Set(["postgres:", "postgresql:"]);

export const EXPECTED_DATABASE =
  "postgres://user:password@host:5432/database, with special characters percent-encoded, above all in the password";

export function isDatabaseUrl(text: string): boolean {
  if (!URL.canParse(text) || !hasWholeEscapes(text)) return false;
  const { protocol, pathname, search, hash } = new URL(text);
  // An "@" after the host means that a "/", "?" or "#" in the password ended the host too early.
  return PROTOCOLS.has(protocol) && !`${pathname}${search}${hash}`.includes("@");
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
