/** What the compiler accepts as an agent: a typing mistake does not compile. `tsc` checks each `@ts-expect-error`. */
import { describe, expect, it } from "vitest";
import type { Agent } from "../../../src/index.js";

const schedules = { hourly: { type: "interval", interval: "1h" } } as const;

describe("the type of an agent", () => {
  it("accepts every built-in runtime, work source and type of schedule", () => {
    const agents: readonly Agent[] = [
      { name: "a", description: "Reads.", schedules, run: () => "done", instances: { max_concurrent: 2 } },
      { name: "b", runtime: { type: "command", command: ["node"], env: { LEVEL: 3 }, input: "none" } },
      { name: "c", runtime: { type: "http", url: "https://example.org", method: "PUT", body: { a: 1 } } },
      { name: "d", runtime: { type: "messages", options: { model: "small" } }, timeout: "5m" },
      { name: "e", runtime: { type: "function" }, run: () => {}, data: { team: "news" } },
      { name: "f", schedules: { w: { type: "webhook", work_source: { type: "directory", path: "inbox" } } } },
      { name: "g", schedules: { c: { type: "chat", work_source: { type: "github", repo: "a/b" } } } },
      {
        name: "h",
        schedules: {
          o: {
            type: "once",
            at: "2026-03-01T09:00:00Z",
            work_source: { type: "memory", items: [{ title: "x" }] },
          },
          n: { type: "cron", expression: "@daily", timezone: "UTC", prompt: "Go.", timeout: 5 },
        },
      },
    ];
    expect(agents).toHaveLength(8);
  });

  it("accepts runtimes and work sources that a host has declared", () => {
    const agents: readonly Agent[] = [
      { name: "a", runtime: { type: "own", size: 3 } },
      { name: "b", schedules: { w: { type: "webhook", work_source: { type: "tickets", labels: [] } } } },
    ];
    expect(agents).toHaveLength(2);
  });

  it("rejects misspelt keys and types", () => {
    const agents: readonly Agent[] = [
      // @ts-expect-error schedules
      { name: "a", shedules: schedules },
      // @ts-expect-error a key of the host belongs in `data`
      { name: "a", model: "small" },
      // @ts-expect-error max_concurrent
      { name: "a", instances: { max_concurent: 2 } },
      // @ts-expect-error command
      { name: "a", runtime: { type: "comand", command: ["node"] } },
      // @ts-expect-error pass_env
      { name: "a", runtime: { type: "command", command: ["node"], passenv: ["HOME"] } },
      // @ts-expect-error a list
      { name: "a", runtime: { type: "command", command: "node work.js" } },
      // @ts-expect-error url is missing
      { name: "a", runtime: { type: "http" } },
      // @ts-expect-error a declared runtime has its own keys
      { name: "a", runtime: { type: "own", sise: 3 } },
      // @ts-expect-error prompt
      { name: "a", schedules: { s: { type: "interval", interval: "1h", promt: "Go." } } },
      // @ts-expect-error min_interval
      { name: "a", schedules: { s: { type: "interval", interval: "1h", min_intervall: "1m" } } },
      // @ts-expect-error a key of a different type of schedule
      { name: "a", schedules: { s: { type: "interval", interval: "1h", timezone: "UTC" } } },
      // @ts-expect-error path is missing
      { name: "a", schedules: { s: { type: "webhook", work_source: { type: "directory" } } } },
      // @ts-expect-error directory
      { name: "a", schedules: { s: { type: "webhook", work_source: { type: "dir", path: "inbox" } } } },
      // @ts-expect-error claim_expiry
      { name: "a", schedules: { s: { type: "webhook", work_source: { type: "memory", expiry: "1h" } } } },
    ];
    expect(agents).toHaveLength(14);
  });
});
