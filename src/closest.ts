/** Which word was probably meant: the nearest of those that there are, if it is near enough. Pure. */

/** Longer ones were not mistyped. */
const LONGEST = 64;

export function closest(word: string, known: Iterable<string>): string | undefined {
  const typed = letters(word);
  if (typed === "" || word.length > LONGEST) return undefined;
  let best: string | undefined;
  let bestDistance = Math.max(1, Math.floor(typed.length / 3)) + 1;
  for (const candidate of known) {
    const away = distance(typed, letters(candidate));
    if (away >= bestDistance) continue;
    best = candidate;
    bestDistance = away;
  }
  return best;
}

/** `maxConcurrent`, `max-concurrent` and `max_concurrent` have the same. */
function letters(word: string): string {
  return word.toLowerCase().replaceAll(/[-_ ]/g, "");
}

/** How many letters have to be added, taken away, replaced, or swapped with their neighbour. */
function distance(a: string, b: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const replaced = (last[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      const isSwap = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      const swapped = isSwap ? (beforeLast[j - 2] ?? 0) + 1 : Infinity;
      row.push(Math.min(replaced, swapped, (last[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1));
    }
    beforeLast = last;
    last = row;
  }
  return last[b.length] ?? 0;
}
