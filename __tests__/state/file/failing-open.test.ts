/** A disk that fails while a store is opened or closed: its directory stays free for the next. */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { StateFileError } from "../../../src/state/errors.js";
import { FileStore } from "../../../src/state/file/file-store.js";
import {
  CODES,
  filesIn,
  OPEN_FILES,
  places,
  stepsOf,
  Subject,
  TEXT,
  TOO_LATE,
  update,
} from "./failing-store.js";
import { systemError } from "../watched-disk.js";

const openSteps = await stepsOf(
  async () => new Subject(),
  ({ store }) => store.open(),
);

describe("opening", () => {
  it.each(places(openSteps).filter(([step]) => !TOO_LATE.has(step)))(
    "that fails at `%s` (step %i) leaves the directory free, and can be tried again",
    async (_, place) => {
      for (const code of CODES) {
        await using subject = new Subject();
        subject.failAt(place, code);
        await expect(subject.store.open()).rejects.toThrow(StateFileError);
        subject.repair();
        await subject.store.open();
        await update(subject, 1);
        expect(filesIn(subject.stateDir)).toEqual(OPEN_FILES);
      }
    },
  );
});

const closeSteps = await stepsOf(
  () => Subject.opened(),
  ({ store }) => store.close(),
);

describe("closing", () => {
  it.each(places(closeSteps))(
    "that fails at `%s` (step %i) still lets the next owner in",
    async (_, place) => {
      await using subject = await Subject.opened();
      subject.failAt(place, "EIO");
      await subject.store.close();
      await using next = new FileStore({ stateDir: subject.stateDir }, { realClock: subject.realClock });
      await subject.patiently(next.open());
      expect(filesIn(subject.stateDir)).toEqual(OPEN_FILES);
      expect(subject.watched.open).toBe(0);
    },
  );

  it("waits for a whole file that is on its way, and takes no other", async () => {
    await using subject = await Subject.opened();
    const writing = subject.store.writeFleet({ fleet: { name: "new" }, agents: {} });
    await subject.store.close();
    await writing;
    expect(subject.bytes).toContain("name: new");
    expect(subject.watched.open).toBe(0);
    await expect(subject.store.writeFleet({ fleet: {}, agents: {} })).rejects.toThrow("not open");
  });

  it("gives the directory up even when the job log cannot be closed", async () => {
    await using subject = await Subject.opened();
    const { id } = await subject.store.jobs.start({ agent: "a", trigger: "manual" });
    const output = await subject.store.jobs.openOutput(id);
    await output.write(TEXT);
    subject.watched.before = (step) => {
      if (step.endsWith(".log")) throw systemError("ENOSPC");
    };
    await subject.store.close().catch(() => {});
    expect(readdirSync(join(subject.stateDir, "owner.lock"))).toEqual([]);
  });
});
