/** Reads a file of a configuration; a `problem` is a sentence without its subject. */
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

/** The longest text in UTF-8. */
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

/** Checked before the file is opened, because opening a pipe waits for its writer. */
function problemWith(stats: FileStats): string | undefined {
  if (stats.isDirectory()) return "is a directory: give the path of a file";
  if (!stats.isFile()) return "is not a regular file: give the path of a file";
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
      return "cannot be read: check its permissions";
    default:
      return `cannot be read: ${quote(messageOf(error))}`;
  }
}
