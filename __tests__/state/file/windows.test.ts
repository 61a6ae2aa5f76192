import { describe, expect, it, onTestFinished } from "vitest";
import { FileStore } from "../../../src/index.js";
import { stateDirectory } from "../temporary-directory.js";

describe("a FileStore on Windows", () => {
  it("says that it is not supported, and what to use", async () => {
    const { platform } = process;
    onTestFinished(() => void Object.defineProperty(process, "platform", { value: platform }));
    Object.defineProperty(process, "platform", { value: "win32" });
    const store = new FileStore({ stateDir: stateDirectory() });
    await expect(store.open()).rejects.toMatchObject({
      code: "UNSUPPORTED_SYSTEM",
      message: expect.stringContaining("use WSL, or a PostgresStore") as string,
    });
  });
});
