/** One result of `rota doctor`. */

export interface Finding {
  /** What was checked, in one or two words. */
  readonly about: string;
  /** A failure keeps Rota from working; a warning does not. */
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
