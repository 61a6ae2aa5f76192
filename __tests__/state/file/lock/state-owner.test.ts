/** Who owns a state directory, told at a glance and without taking anything. */
import { mkdirSync, statSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { readOwner } from "../../../../src/state/file/lock/state-owner.js";
import { forge } from "./lock-fixtures.js";
import { ObedientStore } from "../obedient-store.js";
import { stateDirectory } from "../../temporary-directory.js";

const SAID = JSON.stringify({ pid: 7, host: "elsewhere", since: "2026-01-01T00:00:00.000Z" });

describe("the owner of a state directory", () => {
  it("is undefined for a directory that no store has opened", async () => {
    expect(await readOwner(stateDirectory(), new Date())).toBeUndefined();
  });

  it("is the process that has", async () => {
    const stateDir = stateDirectory();
    await using owner = new ObedientStore(stateDir);
    await owner.call("open");
    const date = expect.any(Date) as Date;
    const expected = { pid: owner.pid, host: hostname(), since: date, seenAt: date, isAlive: true };
    expect(await readOwner(stateDir, new Date())).toEqual(expected);
  });

  it("is dead after it was killed", async () => {
    const stateDir = stateDirectory();
    await using owner = new ObedientStore(stateDir);
    await owner.call("open");
    await owner.kill();
    expect(await readOwner(stateDir, new Date())).toMatchObject({ pid: owner.pid, isAlive: false });
  });

  it.each([
    [30, true],
    [90, false],
  ])("that is elsewhere and was silent for %i seconds counts as alive: %s", async (seconds, isAlive) => {
    const stateDir = stateDirectory();
    const file = forge(join(stateDir, "owner.lock"), { machine: "0123456789ab" }, SAID);
    const now = new Date(statSync(file).mtimeMs + seconds * 1_000);
    expect(await readOwner(stateDir, now)).toMatchObject({ host: "elsewhere", isAlive });
  });

  it("is known although its file says nothing that can be read", async () => {
    const stateDir = stateDirectory();
    forge(join(stateDir, "owner.lock"), {}, "{");
    expect(await readOwner(stateDir, new Date())).toMatchObject({
      pid: process.pid,
      host: "unknown",
      since: undefined,
    });
  });

  it("is undefined when the lock holds a foreign file", async () => {
    const stateDir = stateDirectory();
    mkdirSync(join(stateDir, "owner.lock"));
    writeFileSync(join(stateDir, "owner.lock/notes"), SAID);
    expect(await readOwner(stateDir, new Date())).toBeUndefined();
  });
});
