/**
 * Puts variables into texts: `${NAME}`, `${NAME:-default}`, and `$${` for a literal `${`. Pure.
 * A default may not contain variables; it is used when the variable is unset or empty, as in a shell.
 */

export type Environment = Readonly<Record<string, string | undefined>>;

export interface Interpolated {
  readonly text: string;
  readonly faults: readonly VariableFault[];
}

export interface VariableFault {
  /** The text of the variable. */
  readonly written: string;
  /** The name of the unset variable; `undefined` for a malformed variable. */
  readonly name: string | undefined;
}

const VARIABLE = /\$\$\{|\$\{(?:([A-Za-z_]\w*)(?::-([^{}]*))?\}|([^}]{0,40}\}?))/g;

/** `undefined` for a text without variables. */
export function interpolate(text: string, env: Environment): Interpolated | undefined {
  if (!text.includes("${")) return undefined;
  const faults: VariableFault[] = [];
  const put = (written: string, name?: string, byDefault?: string): string => {
    if (written === "$${") return "${";
    // Ignores inherited properties such as "constructor".
    const value = name !== undefined && Object.hasOwn(env, name) ? env[name] : undefined;
    if (byDefault !== undefined) return value === undefined || value === "" ? byDefault : value;
    if (value !== undefined) return value;
    faults.push({ written, name });
    return written;
  };
  return { text: text.replaceAll(VARIABLE, put), faults };
}
