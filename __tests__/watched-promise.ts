export interface Watched {
  state: "pending" | "fulfilled" | "rejected";
  error?: unknown;
}

/** What has become of a promise so far. */
export function watch(promise: Promise<unknown>): Watched {
  const watched: Watched = { state: "pending" };
  void (async () => {
    try {
      await promise;
      watched.state = "fulfilled";
    } catch (error) {
      watched.state = "rejected";
      watched.error = error;
    }
  })();
  return watched;
}
