/** What the doctor found. */

export interface Finding {
  /** What was looked at, in a word or two. */
  readonly about: string;
  /** A warning is something to know; a failure keeps Rota from working. */
  readonly verdict: "failure" | "ok" | "warning";
  readonly message: string;
}

export function fine(about: string, message: string): Finding {
  return { about, verdict: "ok", message };
}

export function warning(about: string, message: string): Finding {
  return { about, verdict: "warning", message };
}

export function failure(about: string, message: string): Finding {
  return { about, verdict: "failure", message };
}
