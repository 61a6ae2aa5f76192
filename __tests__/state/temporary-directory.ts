import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";

export interface TemporaryDirectory extends Disposable {
  readonly path: string;
}

/** A directory that is gone at the end of its scope. */
export function temporaryDirectory(): TemporaryDirectory {
  const path = mkdtempSync(join(tmpdir(), "rota-state-"));
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }) };
}

/** The path of a directory that is gone at the end of the test. */
export function stateDirectory(): string {
  const temporary = temporaryDirectory();
  onTestFinished(() => temporary[Symbol.dispose]());
  return temporary.path;
}
