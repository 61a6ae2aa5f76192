import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import {
  lifeOf,
  signedName,
  signerOf,
  thisProcess,
} from "../../../../src/state/file/lock/process-identity.js";
import { until } from "../../child.js";
import { stateOf } from "../obedient-store.js";

const hasProc = existsSync("/proc/self/stat");
const TOKEN = "0123456789abcdef01234567";

describe("a signed name", () => {
  it("tells whose it is", () => {
    expect(signerOf(signedName(TOKEN))).toEqual(thisProcess());
    expect(thisProcess().pid).toBe(process.pid);
  });

  it.each([
    "",
    "state.yaml",
    TOKEN,
    `-1-5-0123456789ab-${TOKEN}`,
    `1-5-0123456789ab-${TOKEN}.old`,
    `1-5-0123456789ab-${TOKEN}0`,
    `1-5-0123456789AB-${TOKEN}`,
    `../1-5-0123456789ab-${TOKEN}`,
    `1-5-0123456789ab-${TOKEN}\n`,
  ])("is not %j", (name) => {
    expect(signerOf(name)).toBeUndefined();
  });
});

describe("a process", () => {
  it("is alive while it runs", () => {
    expect(lifeOf(thisProcess())).toBe("alive");
  });

  it("is dead when it has ended", () => {
    const { pid } = spawnSync("true");
    expect(lifeOf({ ...thisProcess(), pid })).toBe("dead");
  });

  it.skipIf(!hasProc)("is dead when another has its pid by now", () => {
    expect(lifeOf({ ...thisProcess(), started: "1" })).toBe("dead");
  });

  it("counts as alive when it could not tell when it started", () => {
    expect(lifeOf({ ...thisProcess(), started: "0" })).toBe("alive");
  });

  it("of another machine is unknown, whatever runs here under its pid", () => {
    const machine = "0123456789ab";
    expect(lifeOf({ ...thisProcess(), machine })).toBe("unknown");
    expect(lifeOf({ ...thisProcess(), pid: spawnSync("true").pid, machine })).toBe("unknown");
  });

  it.skipIf(!hasProc)("of another user is alive", () => {
    expect(lifeOf({ ...thisProcess(), pid: 1, started: "0" })).toBe("alive");
  });

  it.skipIf(!hasProc)("that was killed and that its parent has not asked for is dead", async () => {
    // A parent that turns into a program which never asks for its children.
    const parent = spawn("sh", ["-c", "sleep 1000 & echo $!; exec sleep 1000"], {
      stdio: ["ignore", "pipe", "ignore"],
      detached: true, // both in a group of their own, to end together
    });
    try {
      const [printed] = (await once(parent.stdout, "data")) as [Buffer];
      const pid = Number(printed.toString());
      await until(() => readFileSync(`/proc/${parent.pid}/comm`, "utf8") === "sleep\n");
      expect(lifeOf({ ...thisProcess(), pid, started: "0" })).toBe("alive");
      process.kill(pid, "SIGKILL");
      await until(() => stateOf(pid) === "Z");
      expect(lifeOf({ ...thisProcess(), pid, started: "0" })).toBe("dead");
    } finally {
      process.kill(-(parent.pid ?? 0), "SIGKILL");
      await once(parent, "exit");
    }
  });
});
