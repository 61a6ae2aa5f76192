/** Reads a file of a configuration, or says why not: a sentence without its subject. */
import { isUtf8 } from "node:buffer";
import { readFileSync, statSync } from "node:fs";
import { readFile, stat } from "node:fs/promises";
import { messageOf, quote } from "../errors.js";
import { LONGEST_TEXT } from "./yaml/read-yaml.js";

export type FileText = { readonly text: string } | { readonly problem: string };

interface FileStats {
  readonly size: number;
  isFile(): boolean;
  isDirectory(): boolean;
}

/** As many bytes as the longest text can have. */
const MOST_BYTES = 3 * LONGEST_TEXT;

export async function readText(path: string): Promise<FileText> {
  try {
    const problem = problemWith(await stat(path));
    return problem === undefined ? decoded(await readFile(path)) : { problem };
  } catch (error) {
    return { problem: whyUnreadable(error) };
  }
}

export function readTextSync(path: string): FileText {
  try {
    const problem = problemWith(statSync(path));
    return problem === undefined ? decoded(readFileSync(path)) : { problem };
  } catch (error) {
    return { problem: whyUnreadable(error) };
  }
}

/** Asked before it is opened: a pipe would be waited for. */
function problemWith(stats: FileStats): string | undefined {
  if (stats.isDirectory()) return "is a directory: give the path of a file";
  if (!stats.isFile()) return "is no file: give the path of one";
  return stats.size > MOST_BYTES ? `has ${stats.size} bytes, expected at most ${MOST_BYTES}` : undefined;
}

function decoded(bytes: Buffer): FileText {
  if (!isUtf8(bytes)) return { problem: "is not text in UTF-8" };
  return { text: bytes.toString("utf8").replace(/^\ufeff/, "") };
}

function whyUnreadable(error: unknown): string {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  switch (code) {
    case "ENOENT":
    case "ENOTDIR":
      return "was not found: check its path";
    case "EACCES":
    case "EPERM":
      return "may not be read: check its permissions";
    default:
      return `could not be read: ${quote(messageOf(error))}`;
  }
}
