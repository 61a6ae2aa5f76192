/** A start that fails leaves nothing behind: the store is closed, and the next start opens it again. */
import { describe, expect, it } from "vitest";
import { MemoryStore } from "../../src/index.js";
import { agent, every, scene } from "./scene.js";

class Watched extends MemoryStore {
  readonly calls: string[] = [];
  isBroken = true;

  override async open(...args: Parameters<MemoryStore["open"]>): Promise<void> {
    this.calls.push("open");
    await super.open(...args);
  }

  override async define(...args: Parameters<MemoryStore["define"]>): ReturnType<MemoryStore["define"]> {
    if (this.isBroken) throw new Error("no schedule is taken");
    return super.define(...args);
  }

  override async close(): Promise<void> {
    this.calls.push("close");
    await super.close();
  }
}

describe("a start whose store cannot define schedules", () => {
  it("rejects with the store closed", async () => {
    const store = new Watched();
    const { scheduler, clock } = scene({ store });
    await expect(scheduler.start([agent("a", { x: every("1h") })])).rejects.toThrow("no schedule is taken");
    expect(store.calls).toEqual(["open", "close"]);
    expect([scheduler.getStatus(), clock.sleeping]).toEqual(["stopped", 0]);
  });

  it("may be made again", async () => {
    const store = new Watched();
    const { scheduler } = scene({ store });
    await expect(scheduler.start([agent("a", { x: every("1h") })])).rejects.toThrow("no schedule is taken");
    store.isBroken = false;
    await scheduler.start([agent("a", { x: every("1h") })]);
    expect(store.calls).toEqual(["open", "close", "open"]);
  });
});
