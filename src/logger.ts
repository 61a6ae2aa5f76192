/** The Logger port: messages for a user that no return value can carry. */

export interface Logger {
  /** Explains a decision; needs no action. */
  debug?(message: string): void;
  info(message: string): void;
  warn(message: string): void;
  error(message: string): void;
}

const ignore = (): void => {};
const emit = (message: string): void => process.emitWarning(message, "RotaWarning");

/** The default logger: warnings and errors become Node's process warnings, the rest is dropped. */
export const processLogger: Logger = { debug: ignore, info: ignore, warn: emit, error: emit };

/** Logs to the console, without debug messages. */
export const consoleLogger: Logger = {
  info: (message) => console.info(message),
  warn: (message) => console.warn(message),
  error: (message) => console.error(message),
};

/**
 * Wraps a logger so that an error or rejection in it only loses the line. Has `debug` only if the logger has it, so that
 * callers can skip building debug messages.
 */
export function guarded(logger: Logger): Logger {
  const guard =
    (level: keyof Logger) =>
    (message: string): void => {
      try {
        const returned: unknown = logger[level]?.(message);
        if (returned instanceof Promise) returned.catch(ignore);
      } catch {
        // There is no other place to report it.
      }
    };
  const lines = { info: guard("info"), warn: guard("warn"), error: guard("error") };
  return logger.debug === undefined ? lines : { debug: guard("debug"), ...lines };
}
