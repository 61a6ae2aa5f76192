// A disk on which this process sends itself a signal before one exact step: "rename state.yaml", "sync held", or, while
// it holds the write lock, "locked lstat state.yaml".
import * as fs from "node:fs/promises";
import { basename } from "node:path";
import { setTimeout } from "node:timers/promises";

/** The names of locks are random: "held" stands for the file of one, "prepared" for one on its way to be taken. */
const plain = (path) =>
  basename(path).replace(/^(.*-)?\d+-\d+-[0-9a-f]{12}-[0-9a-f]{24}/, (_, lock) =>
    lock ? "prepared" : "held",
  );

export function signalDisk() {
  let awaited;
  let signal;
  let isLocked = false;

  async function before(step) {
    if (step !== awaited && !(isLocked && `locked ${step}` === awaited)) return;
    awaited = undefined;
    process.kill(process.pid, signal);
    // A signal may take a moment to arrive, and by then nothing more may have been done.
    await setTimeout(20);
  }

  const disk = new Proxy(fs, {
    get:
      (target, name) =>
      async (...paths) => {
        // Of no disk that is known, so that every step is one that can be waited for.
        if (name === "statfs") return { type: 0 };
        const step = `${String(name)} ${plain(paths[name === "rename" || name === "link" ? 1 : 0])}`;
        await before(step);
        const result = await target[name](...paths);
        if (step === "rename state.yaml.lock") isLocked = true;
        if (step === "rename state.yaml") isLocked = false;
        return name === "open" ? watched(result, plain(paths[0])) : result;
      },
  });

  const watched = (handle, file) =>
    new Proxy(handle, {
      get(target, name) {
        const value = Reflect.get(target, name, target);
        if (typeof value !== "function") return value;
        return async (...args) => {
          await before(`${String(name)} ${file}`);
          return value.apply(target, args);
        };
      },
    });

  return {
    disk,
    /** From now on, the signal comes before this step, once. */
    await: (step, name) => {
      awaited = step;
      signal = name;
    },
  };
}
