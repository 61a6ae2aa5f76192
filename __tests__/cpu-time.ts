/** CPU milliseconds one call takes: the least of a few, because whatever else the process does only ever adds. */
export function cpuMs(act: () => unknown): number {
  let least = Infinity;
  for (let i = 0; i < 5; i++) {
    const before = process.cpuUsage();
    act();
    const { user, system } = process.cpuUsage(before);
    least = Math.min(least, (user + system) / 1000);
  }
  return least;
}
