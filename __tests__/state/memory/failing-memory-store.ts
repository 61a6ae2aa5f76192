/** A memory store whose writes can be made to fail, before or after their effect. */
import { MemoryStore } from "../../../src/index.js";
import type { StateOperation } from "../../../src/state/operations.js";
import type { OwnedJobLog } from "../../../src/state/owner/owned-job-log.js";

export class FailingMemoryStore extends MemoryStore {
  failure: "before" | "after" | undefined;

  protected override async commit(operation: StateOperation): Promise<void> {
    if (this.failure === "before") throw new Error("no write");
    await super.commit(operation);
    if (this.failure === "after") throw new Error("no reply");
  }

  protected override get log(): OwnedJobLog {
    const log = super.log;
    return new Proxy(log, {
      get: (target, name) => {
        const value: unknown = Reflect.get(target, name, target);
        if (typeof value !== "function") return value;
        return async (...args: unknown[]): Promise<unknown> => {
          const isWrite = name === "openRecords" || name === "closeRecords";
          if (isWrite && this.failure === "before") throw new Error("no write");
          const result: unknown = await value.apply(target, args);
          if (isWrite && this.failure === "after") throw new Error("no reply");
          return result;
        };
      },
    });
  }
}
