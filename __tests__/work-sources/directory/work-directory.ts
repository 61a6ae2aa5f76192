/** A work directory that is removed at the end of the test, and adapters for it. */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { FakeClock } from "../../../src/clock.js";
import type { Disk } from "../../../src/state/file/disk.js";
import { DirectorySource } from "../../../src/work-sources/directory/directory-source.js";
import type { Subfolder } from "../../../src/work-sources/directory/work-folder.js";
import { stateDirectory } from "../../state/temporary-directory.js";

export const HOUR_MS = 3_600_000;

export class WorkDirectory {
  readonly path: string;
  readonly clock: FakeClock = new FakeClock("2026-03-01T00:00:00Z");
  readonly warnings: string[] = [];

  constructor() {
    this.path = join(stateDirectory(), "inbox");
    for (const place of ["ready", "working", "done", "failed"])
      mkdirSync(join(this.path, place), { recursive: true });
  }

  connect(disk?: Disk): DirectorySource {
    const warn = (message: string): void => void this.warnings.push(message);
    const logger = { info: warn, warn, error: warn };
    return new DirectorySource({ path: this.path, claimExpiryMs: HOUR_MS, clock: this.clock, logger, disk });
  }

  write(name: string, text: string | Uint8Array = `# ${name}\n`, place: Subfolder = "ready"): string {
    const file = this.file(place, name);
    writeFileSync(file, text);
    return file;
  }

  file(place: Subfolder, name: string): string {
    return join(this.path, place, name);
  }

  read(place: Subfolder, name: string): string {
    return readFileSync(this.file(place, name), "utf8");
  }

  list(place: Subfolder): string[] {
    return readdirSync(this.file(place, "")).toSorted();
  }

  id(name: string): string {
    return `directory:${this.path}/${name}`;
  }
}
