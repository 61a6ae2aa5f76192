/**
 * The names of files in a work directory: which files are items, and the name of a claimed item in `working`:
 * "2026-11-16T14-22-00.000Z~<token>~fix-login.md", the expiry, the claim and the item.
 */
import { extname } from "node:path";
import { isoTimeMs } from "../../iso-time.js";

export interface ClaimedName {
  readonly expiresMs: number;
  /** Unique for each claim. */
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
/** File systems allow 255 bytes; the rest is for the prefix of a claim and the suffix of an outcome. */
const LONGEST_NAME_BYTES = 200;
const CLAIMED = /^(\d{4}-\d\d-\d\dT\d\d)-(\d\d)-(\d\d\.\d{3}Z)~([0-9a-f]{24})~(.+)$/s;

export type ItemFormat = "json" | "markdown" | "yaml";

/** The format of an item's file; `undefined` for any other file. */
export function formatOf(name: string): ItemFormat | undefined {
  return FORMATS[extname(name).toLowerCase()];
}

/** Whether a file is skipped without a warning: a hidden one, or one that is still being written. */
export function isIgnored(name: string): boolean {
  return name.startsWith(".") || name.endsWith(".tmp");
}

/** Why a file of the name cannot be an item. */
export function nameProblem(name: string): string | undefined {
  if (formatOf(name) === undefined) return "does not end in .md, .yaml, .yml or .json";
  if (name.endsWith(OUTCOME_SUFFIX)) return `ends in ${OUTCOME_SUFFIX}, which is reserved for outcomes`;
  if (Buffer.byteLength(name) > LONGEST_NAME_BYTES)
    return `has a name of more than ${LONGEST_NAME_BYTES} bytes`;
  return undefined;
}

/** Whether an item's file may have the name. A name that leads to a different directory is not allowed. */
export function isItemName(name: string): boolean {
  return !/[/\0]/.test(name) && !isIgnored(name) && nameProblem(name) === undefined;
}

export function claimedName({ expiresMs, token, name }: ClaimedName): string {
  return `${new Date(expiresMs).toISOString().replaceAll(":", "-")}~${token}~${name}`;
}

/** `undefined` for a name that is not the name of a claimed item. */
export function readClaimedName(text: string): ClaimedName | undefined {
  const [, hour, minute, second, token, name] = CLAIMED.exec(text) ?? [];
  const expiresMs = isoTimeMs(`${hour}:${minute}:${second}`);
  if (expiresMs === undefined || token === undefined || name === undefined) return undefined;
  return isItemName(name) ? { expiresMs, token, name } : undefined;
}

/** The name of a file whose own name exists already: "fix-login-2.md". */
export function numberedName(name: string, suffix: string): string {
  const extension = extname(name);
  return `${name.slice(0, name.length - extension.length)}-${suffix}${extension}`;
}
