/** Counts and shortened lists in messages. Pure. */

/** "1 agent", "2 agents". */
export function counted(count: number, noun: string): string {
  return `${count} ${count === 1 ? noun : `${noun}s`}`;
}

/** "a, b and 3 more": at most `most` of the texts. */
export function shortList(texts: readonly string[], most: number): string {
  const rest = texts.length - most;
  return `${texts.slice(0, most).join(", ")}${rest > 0 ? ` and ${rest} more` : ""}`;
}
