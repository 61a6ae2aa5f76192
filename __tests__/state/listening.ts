import type { Logger } from "../../src/logger.js";

/** A logger that keeps what it is told. */
export function listening(): { logger: Logger; warnings: string[] } {
  const warnings: string[] = [];
  const logger: Logger = {
    debug: () => {},
    info: () => {},
    warn: (message) => warnings.push(message),
    error: (message) => warnings.push(message),
  };
  return { logger, warnings };
}
