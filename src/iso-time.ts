/** ISO times with their offset, as configuration and state have them: "2026-03-01T09:00:00Z". */

const ISO_TIME = /^(\d{4}-\d\d-\d\d)T\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d)$/;

/** Milliseconds since 1970. Stricter than `Date.parse`, which takes other notations, local time, and 30 February. */
export function isoTimeMs(text: unknown): number | undefined {
  if (typeof text !== "string") return undefined;
  const [, date = ""] = ISO_TIME.exec(text) ?? [];
  const ms = Date.parse(text);
  if (date === "" || Number.isNaN(ms)) return undefined;
  return new Date(date).toISOString().startsWith(date) ? ms : undefined;
}
