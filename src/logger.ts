/** The Logger port: where Rota says what a user should know and no return value can carry. */

export interface Logger {
  /** What explains a decision that nobody has to act on. */
  debug?(message: string): void;
  info(message: string): void;
  warn(message: string): void;
  error(message: string): void;
}

const ignore = (): void => {};
const emit = (message: string): void => process.emitWarning(message, "RotaWarning");

/** What is used when no logger is given: warnings and errors become Node's process warnings, the rest is dropped. */
export const processLogger: Logger = { debug: ignore, info: ignore, warn: emit, error: emit };

/** The console, without what is for debugging. */
export const consoleLogger: Logger = {
  info: (message) => console.info(message),
  warn: (message) => console.warn(message),
  error: (message) => console.error(message),
};

/**
 * A logger that cannot hurt who uses it: one that throws or rejects has lost its line, and nothing else. Without `debug`
 * where the other has none, so that nobody makes up what nobody reads.
 */
export function guarded(logger: Logger): Logger {
  const guard =
    (level: keyof Logger) =>
    (message: string): void => {
      try {
        const told: unknown = logger[level]?.(message);
        if (told instanceof Promise) told.catch(ignore);
      } catch {
        // There is nowhere left to say it.
      }
    };
  const lines = { info: guard("info"), warn: guard("warn"), error: guard("error") };
  return logger.debug === undefined ? lines : { debug: guard("debug"), ...lines };
}
