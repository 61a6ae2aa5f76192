/** Who may write to the state file, and what becomes of the lock, and of the file, when a writer dies or stops. */
import { execFileSync } from "node:child_process";
import {
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  unlinkSync,
  writeFileSync,
} from "node:fs";
import { basename, join } from "node:path";
import { describe, expect, it } from "vitest";
import { FakeClock } from "../../../../src/clock.js";
import { nodeDisk } from "../../../../src/state/file/disk.js";
import { StateFileError } from "../../../../src/state/errors.js";
import { FileStore } from "../../../../src/state/file/file-store.js";
import { takeLock } from "../../../../src/state/file/lock/lock-directory.js";
import { type ProcessIdentity } from "../../../../src/state/file/lock/process-identity.js";
import { Children, until } from "../../child.js";
import { forge, frozen, timed } from "./lock-fixtures.js";
import { ObedientStore } from "../obedient-store.js";
import { temporaryDirectory } from "../../temporary-directory.js";
import { WatchedDisk } from "../../watched-disk.js";

const hasProc = existsSync("/proc/self/stat");
const KEY = { agent: "a", schedule: "s" };

describe("the write lock", () => {
  it.each([
    "chmod prepared",
    "lstat state.yaml",
    "rename state.yaml.lock",
    "locked lstat state.yaml",
    "writeFile held",
    "sync held",
    "link held.old",
    "rename state.yaml",
    "unlink held.old",
  ])("of a process killed before `%s` keeps no other process waiting", async (step) => {
    using temporary = temporaryDirectory();
    await using killed = new ObedientStore(temporary.path);
    await killed.call("update", KEY, { failure_count: 1 });
    killed.signalBefore(step, "SIGKILL");
    const writing = killed.call("update", KEY, { failure_count: 2 });
    await expect(writing).rejects.toThrow("It ended");
    await killed.ended();
    await using store = new FileStore({ stateDir: temporary.path }, frozen());
    const isWritten = step === "unlink held.old";
    expect((await store.read(KEY)).failure_count).toBe(isWritten ? 2 : 1);
    await store.update(KEY, { missed_count: 1 });
    expect(await store.read(KEY)).toMatchObject({ failure_count: isWritten ? 2 : 1, missed_count: 1 });
    const left = readdirSync(temporary.path, { recursive: true, encoding: "utf8" });
    expect(left.toSorted()).toEqual(["state.yaml", "state.yaml.lock"]);
  });

  it.skipIf(!hasProc).each(["writeFile held", "rename state.yaml", "unlink held.old"])(
    "of a process stopped before `%s` is taken after 4.3 s",
    async (step) => {
      using temporary = temporaryDirectory();
      await using stopped = new ObedientStore(temporary.path);
      await stopped.call("update", KEY, { failure_count: 1 });
      stopped.signalBefore(step, "SIGSTOP");
      const writing = stopped.call("update", KEY, { failure_count: 2 });
      await stopped.stopped();
      const clock = new FakeClock();
      const path = join(temporary.path, "state.yaml.lock");
      const { result, tookMs } = await timed(clock, takeLock({ disk: nodeDisk, clock, path }));
      expect(tookMs).toBeGreaterThanOrEqual(4_300);
      expect(tookMs).toBeLessThan(5_000);
      await result.handle.close();
      unlinkSync(result.file);
      // It starts anew, and gets its turn.
      stopped.goOn();
      expect(await writing).toMatchObject({ result: { failure_count: 2 } });
    },
  );

  it("that was lost is taken again, and what other processes wrote meanwhile is kept", async () => {
    using temporary = temporaryDirectory();
    const watched = new WatchedDisk();
    await using store = new FileStore({ stateDir: temporary.path }, { ...frozen(), disk: watched.disk });
    await using other = new FileStore({ stateDir: temporary.path }, frozen());
    await store.update(KEY, { failure_count: 1 });
    let isTaken = false;
    watched.before = async (step) => {
      if (!/^rename \d/.test(step) || isTaken) return;
      isTaken = true;
      const lock = join(temporary.path, "state.yaml.lock");
      for (const name of readdirSync(lock)) unlinkSync(join(lock, name));
      await other.update(KEY, { missed_count: 1 });
    };
    expect(await store.update(KEY, { failure_count: 2 })).toMatchObject({ missed_count: 1 });
    expect(await other.read(KEY)).toMatchObject({ failure_count: 2, missed_count: 1 });
  });

  it("that is lost again and again is given up, with an error", async () => {
    using temporary = temporaryDirectory();
    const watched = new WatchedDisk();
    await using store = new FileStore({ stateDir: temporary.path }, { ...frozen(), disk: watched.disk });
    await store.update(KEY, { failure_count: 1 });
    const before = readFileSync(join(temporary.path, "state.yaml"));
    watched.before = (step) => {
      if (/^rename \d/.test(step)) unlinkSync(join(temporary.path, "state.yaml.lock", step.slice(7)));
    };
    await expect(store.update(KEY, { failure_count: 2 })).rejects.toThrow(StateFileError);
    expect(readFileSync(join(temporary.path, "state.yaml"))).toEqual(before);
    watched.before = () => {};
    await store.update(KEY, { failure_count: 3 });
    expect(await store.read(KEY)).toMatchObject({ failure_count: 3 });
  });

  it("is not taken from one that is slow and shows that it lives", async () => {
    using temporary = temporaryDirectory();
    const realClock = new FakeClock();
    const watched = new WatchedDisk();
    await using slow = new FileStore({ stateDir: temporary.path }, { realClock, disk: watched.disk });
    await using other = new FileStore({ stateDir: temporary.path }, { realClock });
    await slow.update(KEY, { failure_count: 1 });
    watched.steps.length = 0;
    watched.before = async (step) => {
      if (/^sync \d/.test(step)) await realClock.sleep("10s");
    };
    const writing = slow.update(KEY, { failure_count: 2 });
    await until(() => watched.count(/^sync /) > 0);
    const both = Promise.all([writing, other.update(KEY, { missed_count: 1 })]);
    const isOver = (): boolean => watched.count(/^rename \d/) > 0;
    while (!isOver()) {
      // Time goes on when all three wait for it: the disk, the one who shows that it lives, and the other.
      await until(() => realClock.sleeping === 3 || isOver());
      await realClock.advance(50);
    }
    await timed(realClock, both);
    expect(watched.count(/^writeFile /)).toBe(1);
    expect(await other.read(KEY)).toMatchObject({ failure_count: 2, missed_count: 1 });
  });

  it("may show that it is held at any moment without looking like a change from outside", async () => {
    using temporary = temporaryDirectory();
    const realClock = new FakeClock();
    const watched = new WatchedDisk();
    await using store = new FileStore({ stateDir: temporary.path }, { realClock, disk: watched.disk });
    const changes: unknown[] = [];
    store.onChange((changed) => changes.push(changed));
    await store.update(KEY, { failure_count: 1 });
    watched.before = async (step) => {
      if (!/^rename \d/.test(step)) return;
      await realClock.advance(2_100);
      await until(() => watched.count(/^utimes /) > 0 && realClock.sleeping > 0);
    };
    await store.update(KEY, { failure_count: 2 });
    expect(await store.read(KEY)).toMatchObject({ failure_count: 2 });
    expect(changes).toEqual([]);
  });

  it("is held by one at a time, however many die with it", async () => {
    using temporary = temporaryDirectory();
    const [lock, file] = [join(temporary.path, "lock"), join(temporary.path, "number")];
    const enough = 300;
    writeFileSync(file, "0");
    await using children = new Children();
    const counts = await Promise.all(
      Array.from({ length: 4 }, async () => {
        let added = 0;
        let deaths = 0;
        for (; Number(readFileSync(file, "utf8")) < enough; deaths++) {
          const child = children.start("contend.js", [lock, file, String(enough)]);
          await child.end();
          added += child.lines.length;
        }
        return { added, deaths };
      }),
    );
    const total = (key: "added" | "deaths"): number => counts.reduce((sum, count) => sum + count[key], 0);
    expect(Number(readFileSync(file, "utf8"))).toBe(total("added"));
    expect(total("added")).toBeGreaterThanOrEqual(enough);
    expect(total("deaths")).toBeGreaterThan(4);
  }, 180_000);
});

describe("a file put in the place of the known one", () => {
  /** With other words, the same size and the same time. */
  function replace(path: string): void {
    const text = readFileSync(path, "utf8");
    execFileSync("touch", ["-r", path, `${path}.time`]);
    // What frees an inode gives it to the next that asks, where the file system does so.
    rmSync(path);
    writeFileSync(path, text.replace("failure_count: 1", "failure_count: 2"));
    execFileSync("touch", ["-r", `${path}.time`, path]);
  }

  it("is noticed although it has the size and time of the one that was written", async () => {
    using temporary = temporaryDirectory();
    await using store = new FileStore({ stateDir: temporary.path }, frozen());
    await store.update(KEY, { failure_count: 1 });
    replace(join(temporary.path, "state.yaml"));
    expect((await store.read(KEY)).failure_count).toBe(2);
  });

  it("is noticed although it has the size and time of the one that was read", async () => {
    using temporary = temporaryDirectory();
    const writer = new FileStore({ stateDir: temporary.path }, frozen());
    await writer.update(KEY, { failure_count: 1 });
    await writer.close();
    await using store = new FileStore({ stateDir: temporary.path }, frozen());
    await store.read(KEY);
    replace(join(temporary.path, "state.yaml"));
    expect((await store.read(KEY)).failure_count).toBe(2);
  });
});

describe("what a dead process prepared", () => {
  it("is swept, and what a living one prepares is not", async () => {
    using temporary = temporaryDirectory();
    const dead = join(temporary.path, "dead");
    const alive = join(temporary.path, "alive");
    const preparedBy = (lock: string, holder: Partial<ProcessIdentity>, place: string): string => {
      const file = forge(place, holder, "x");
      const path = join(temporary.path, `${lock}-${basename(file)}`);
      mkdirSync(path);
      linkSync(file, join(path, basename(file)));
      rmSync(place, { recursive: true });
      return basename(path);
    };
    const pid = 2 ** 22 + 1;
    preparedBy("owner.lock", { pid }, dead);
    preparedBy("state.yaml.lock", { pid }, dead);
    const kept = ["owner.lock", "state.yaml.lock"].map((lock) => preparedBy(lock, {}, alive));
    await using store = new FileStore({ stateDir: temporary.path }, frozen());
    await store.open();
    await store.update(KEY, { failure_count: 1 });
    expect(readdirSync(temporary.path).toSorted()).toEqual(
      ["owner.lock", "state.yaml", "state.yaml.lock", ...kept].toSorted(),
    );
  });

  it.each(["owner.lock", "state.yaml.lock"])(
    "looks the same to another machine, and is prepared again when that sweeps it: %s",
    async (lock) => {
      using temporary = temporaryDirectory();
      const watched = new WatchedDisk();
      await using store = new FileStore({ stateDir: temporary.path }, { ...frozen(), disk: watched.disk });
      let sweeps = 0;
      watched.before = (step) => {
        if (!step.startsWith(`rename ${lock}-`) || sweeps++ > 0) return;
        rmSync(join(temporary.path, step.slice("rename ".length)), { recursive: true });
      };
      await store.open();
      await store.update(KEY, { failure_count: 1 });
      expect(sweeps).toBeGreaterThan(1);
      expect(await store.read(KEY)).toMatchObject({ failure_count: 1 });
      expect(watched.open).toBe(2);
    },
  );

  it("and half swept away when it became the lock is no lock, so that nothing is written under it", async () => {
    using temporary = temporaryDirectory();
    const watched = new WatchedDisk();
    await using store = new FileStore({ stateDir: temporary.path }, { ...frozen(), disk: watched.disk });
    await using other = new FileStore({ stateDir: temporary.path }, frozen());
    await store.update(KEY, { failure_count: 1 });
    watched.steps.length = 0;
    watched.before = async (step) => {
      const [, prepared = "", name = ""] = /^rename (state\.yaml\.lock-(\d.*))$/.exec(step) ?? [];
      if (name !== "" && watched.count(/^rename state\.yaml\.lock-/) === 1)
        unlinkSync(join(temporary.path, prepared, name));
      if (step.startsWith("link ") && watched.count(/^link /) === 1)
        await other.update(KEY, { missed_count: 1 });
    };
    await store.update(KEY, { failure_count: 2 });
    expect(await other.read(KEY)).toMatchObject({ failure_count: 2, missed_count: 1 });
  });
});
