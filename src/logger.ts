/** The Logger port: where Rota says what a user should know and no return value can carry. */

export interface Logger {
  debug(message: string): void;
  info(message: string): void;
  warn(message: string): void;
  error(message: string): void;
}

const ignore = (): void => {};
const emit = (message: string): void => process.emitWarning(message, "RotaWarning");

/** What is used when no logger is given: warnings and errors become Node's process warnings, the rest is dropped. */
export const processLogger: Logger = { debug: ignore, info: ignore, warn: emit, error: emit };
