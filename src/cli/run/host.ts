/** The process around a fleet that runs in the foreground: its signals, its terminal's size, its end. A test has its own. */

export const STOP_SIGNALS = { SIGINT: 2, SIGTERM: 15 } as const;

export type StopSignal = keyof typeof STOP_SIGNALS;
export type RunSignal = StopSignal | "SIGHUP";

export interface RunHost {
  /** Each answers how to stop listening. */
  onSignal(listener: (signal: RunSignal) => void): () => void;
  onResize(listener: () => void): () => void;
  /** The last moment, however the process ends: nothing can be waited for any more. */
  onExit(listener: () => void): () => void;
  /** Of the terminal. */
  rows(): number;
  /** Ends the process now, whatever is under way. */
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
