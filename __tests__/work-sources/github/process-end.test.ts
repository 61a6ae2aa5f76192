/** A process that used a GitHub source ends by itself: idle connections do not keep it alive. */
import { describe, expect, it } from "vitest";
import { Child } from "../../state/child.js";
import { REPO, TOKEN } from "./fake-github.js";
import { startScene } from "./scene.js";

describe("a process that has fetched work", () => {
  it("ends although its connections are still open", async () => {
    const { github } = await startScene();
    github.addIssue();
    const program = new URL("processes/fetch-once.js", import.meta.url).href;
    await using child = new Child(program, [github.baseUrl, REPO, TOKEN]);
    await child.end();
    expect(child.lines).toEqual(["1"]);
    expect(child.exitCode).toBe(0);
  });
});
