/**
 * Variables in texts: `${NAME}`, `${NAME:-default}`, and `$${` for a literal `${`. Pure.
 * A default holds no variables, and counts when the variable is unset or empty, as in a shell.
 */

export type Environment = Readonly<Record<string, string | undefined>>;

export interface Interpolated {
  readonly text: string;
  readonly faults: readonly VariableFault[];
}

export interface VariableFault {
  /** What stands in the text. */
  readonly written: string;
  /** The variable that is unset; `undefined` when it is not even a variable. */
  readonly name: string | undefined;
}

const VARIABLE = /\$\$\{|\$\{(?:([A-Za-z_]\w*)(?::-([^{}]*))?\}|([^}]{0,40}\}?))/g;

/** `undefined` for a text that has none, as most have. */
export function interpolate(text: string, env: Environment): Interpolated | undefined {
  if (!text.includes("${")) return undefined;
  const faults: VariableFault[] = [];
  const put = (written: string, name?: string, byDefault?: string): string => {
    if (written === "$${") return "${";
    // Not what an object inherits, such as "constructor".
    const value = name !== undefined && Object.hasOwn(env, name) ? env[name] : undefined;
    if (byDefault !== undefined) return value === undefined || value === "" ? byDefault : value;
    if (value !== undefined) return value;
    faults.push({ written, name });
    return written;
  };
  return { text: text.replaceAll(VARIABLE, put), faults };
}
