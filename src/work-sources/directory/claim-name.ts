/**
 * The names of files in a directory of work: which are items, and what a claimed one is called in `working`:
 * "2026-11-16T14-22-00.000Z~<token>~fix-login.md", until when, by whom, and what.
 */
import { extname } from "node:path";
import { isoTimeMs } from "../../iso-time.js";

export interface ClaimedName {
  readonly expiresMs: number;
  /** Tells this claim from every other. */
  readonly token: string;
  /** The file's name in `ready`. */
  readonly name: string;
}

export const OUTCOME_SUFFIX = ".outcome.yaml";
const FORMATS: Readonly<Record<string, ItemFormat>> = {
  ".md": "markdown",
  ".yaml": "yaml",
  ".yml": "yaml",
  ".json": "json",
};
/** File systems take 255 bytes: this leaves room for what is put before and after. */
const LONGEST_NAME_BYTES = 200;
const CLAIMED = /^(\d{4}-\d\d-\d\dT\d\d)-(\d\d)-(\d\d\.\d{3}Z)~([0-9a-f]{24})~(.+)$/s;

export type ItemFormat = "json" | "markdown" | "yaml";

/** The format of an item's file; `undefined` for a file that is none. */
export function formatOf(name: string): ItemFormat | undefined {
  return FORMATS[extname(name).toLowerCase()];
}

/** Files that are nobody's business: hidden, or still being written. */
export function isIgnored(name: string): boolean {
  return name.startsWith(".") || name.endsWith(".tmp");
}

/** Why a file of this name cannot be an item. */
export function nameProblem(name: string): string | undefined {
  if (formatOf(name) === undefined) return "does not end in .md, .yaml, .yml or .json";
  if (name.endsWith(OUTCOME_SUFFIX)) return `ends in ${OUTCOME_SUFFIX}, as outcomes do`;
  if (Buffer.byteLength(name) > LONGEST_NAME_BYTES)
    return `has a name of more than ${LONGEST_NAME_BYTES} bytes`;
  return undefined;
}

/** Whether this may be the name of an item's file: nothing that leads elsewhere. */
export function isItemName(name: string): boolean {
  return !/[/\0]/.test(name) && !isIgnored(name) && nameProblem(name) === undefined;
}

export function claimedName({ expiresMs, token, name }: ClaimedName): string {
  return `${new Date(expiresMs).toISOString().replaceAll(":", "-")}~${token}~${name}`;
}

/** `undefined` for a name that nobody was claimed under. */
export function readClaimedName(text: string): ClaimedName | undefined {
  const [, hour, minute, second, token, name] = CLAIMED.exec(text) ?? [];
  const expiresMs = isoTimeMs(`${hour}:${minute}:${second}`);
  if (expiresMs === undefined || token === undefined || name === undefined) return undefined;
  return isItemName(name) ? { expiresMs, token, name } : undefined;
}

/** The name for the n-th file that would have had this one: "fix-login-2.md". */
export function numberedName(name: string, suffix: string): string {
  const extension = extname(name);
  return `${name.slice(0, name.length - extension.length)}-${suffix}${extension}`;
}
