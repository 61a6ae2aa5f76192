/** The process around a foreground run: signals, terminal size, exit. Tests pass their own. */

export const STOP_SIGNALS = { SIGINT: 2, SIGTERM: 15 } as const;

export type StopSignal = keyof typeof STOP_SIGNALS;
export type RunSignal = StopSignal | "SIGHUP";

export interface RunHost {
  /** Each `on` method returns a function that removes the listener. */
  onSignal(listener: (signal: RunSignal) => void): () => void;
  onResize(listener: () => void): () => void;
  /** Called synchronously just before the process ends, for whatever reason. */
  onExit(listener: () => void): () => void;
  /** The terminal's height. */
  rows(): number;
  /** Ends the process at once. */
  exit(code: number): void;
}

const USUAL_ROWS = 24;

export const processHost: RunHost = {
  onSignal: (listener) => {
    const signals: readonly RunSignal[] = ["SIGINT", "SIGTERM", "SIGHUP"];
    const hear = (signal: NodeJS.Signals): void => {
      const known = signals.find((one) => one === signal);
      if (known !== undefined) listener(known);
    };
    for (const signal of signals) process.on(signal, hear);
    return () => {
      for (const signal of signals) process.off(signal, hear);
    };
  },
  onResize: (listener) => {
    process.stdout.on("resize", listener);
    return () => process.stdout.off("resize", listener);
  },
  onExit: (listener) => {
    process.on("exit", listener);
    return () => process.off("exit", listener);
  },
  rows: () => process.stdout.rows || USUAL_ROWS,
  exit: (code) => process.exit(code),
};
