/**
 * Fails a test file that leaves files open. Node would close them when it collects garbage, with a warning, and stop doing
 * so in a later version. A handle that src/ forgets shows here too.
 */
import fs from "node:fs/promises";
import { syncBuiltinESMExports } from "node:module";
import { afterAll, expect, vi } from "vitest";

interface OpenedFile {
  readonly path: string;
  readonly test: string | undefined;
  readonly handle: fs.FileHandle;
}

const { open } = fs;
const opened: OpenedFile[] = [];

fs.open = async (path, ...rest) => {
  const test = expect.getState().currentTestName;
  const handle = await open(path, ...rest);
  opened.push({ path: String(path), test, handle });
  return handle;
};
syncBuiltinESMExports();

afterAll(async () => {
  fs.open = open;
  syncBuiltinESMExports();
  // What a test has begun to close is closed soon.
  await vi.waitFor(requireClosed, { timeout: 5_000 });
});

function requireClosed(): void {
  const left = opened.filter(({ handle }) => handle.fd !== -1);
  const files = left.map(({ path, test = "before any test" }) => `${path}, opened in "${test}"`);
  if (files.length > 0) throw new Error(`Left open: ${files.join("; ")}.`);
}
