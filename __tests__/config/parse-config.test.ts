/** What a configuration text becomes: the agents and the options of a scheduler. */
import { join, resolve } from "node:path";
import { describe, expect, it } from "vitest";
import { FakeClock } from "../../src/clock.js";
import { parseConfig } from "../../src/config/parse-config.js";
import { Scheduler } from "../../src/scheduler/scheduler.js";
import { MemoryStore } from "../../src/state/memory/memory-store.js";
import { fleetWith, problemOf, problemsOf, scheduleWith } from "./problems-of.js";

const file = "/etc/fleet/rota.yaml";

function agentIn(text: string, env: Record<string, string> = {}): unknown {
  const [agent] = parseConfig(text, { file, env }).agents;
  return agent;
}

describe("a configuration", () => {
  it("has the agents in the form that a scheduler accepts", () => {
    const text = `
agents:
  - name: writer
    description: Writes the news.
    instances: { max_concurrent: 2 }
    timeout: 10m
    runtime: { type: http, url: "https://example.org/hook", headers: { Accept: text/plain } }
    schedules:
      often: { type: interval, interval: 5m, anchor: start, jitter: 2, prompt: Write. }
      nightly: { type: cron, expression: 0 3 * * *, timezone: Europe/London, missed: once, grace: 1m }
      party: { type: once, at: 2026-12-31T23:00:00Z, when_busy: skip }
      hook: { type: webhook, timeout: 5000 }
      talk: { type: chat }
`;
    expect(parseConfig(text, { file }).agents).toEqual([
      {
        name: "writer",
        description: "Writes the news.",
        instances: { max_concurrent: 2 },
        timeout: "10m",
        runtime: { type: "http", url: "https://example.org/hook", headers: { Accept: "text/plain" } },
        schedules: {
          often: { type: "interval", interval: "5m", anchor: "start", jitter: 2, prompt: "Write." },
          nightly: {
            type: "cron",
            expression: "0 3 * * *",
            timezone: "Europe/London",
            missed: "once",
            grace: "1m",
          },
          party: { type: "once", at: "2026-12-31T23:00:00Z", when_busy: "skip" },
          hook: { type: "webhook", timeout: 5000 },
          talk: { type: "chat" },
        },
      },
    ]);
  });

  it("has the scheduler's options under their names", () => {
    const text =
      "version: 1\nstate_dir: state\ntimezone: UTC\njitter: 5\nmax_concurrent: 3\ncheck_interval: 2s\nagents: []";
    expect(parseConfig(text, { file })).toEqual({
      version: 1,
      stateDir: "/etc/fleet/state",
      timezone: "UTC",
      jitterPercent: 5,
      maxConcurrent: 3,
      checkInterval: 2000,
      agents: [],
      disabled: [],
      files: [file],
    });
  });

  it("says how much is kept of jobs, as the options of a store have it", () => {
    const text = "agents: []\njobs: { keep: 50, max_age: 12h, max_output: 200 kB, max_size: 2GB }";
    const { jobs } = parseConfig(text, { file });
    expect(jobs).toEqual({
      keep: 50,
      maxAgeDays: 0.5,
      maxOutputBytes: 200_000,
      maxSizeBytes: 2_000_000_000,
    });
    expect(parseConfig("agents: []\njobs: { max_size: 5000000 }", { file }).jobs).toEqual({
      maxSizeBytes: 5_000_000,
    });
    expect(parseConfig("agents: []", { file }).jobs).toBeUndefined();
  });

  it("runs in a scheduler unchanged", async () => {
    const text = fleetWith("schedules: { once: { type: interval, interval: 5m, prompt: Hello } }");
    const config = parseConfig(text, { file });
    const prompts: string[] = [];
    const clock = new FakeClock();
    const jobExecutor = {
      execute: ({ prompt }: { readonly prompt: string }) => {
        prompts.push(prompt);
        return { success: true };
      },
    };
    const logger = { info: () => {}, warn: () => {}, error: () => {} };
    const store = new MemoryStore({ clock });
    await using scheduler = new Scheduler({ ...config, store, clock, jobExecutor, logger });
    await scheduler.start(config.agents);
    await clock.advance("6m");
    expect(prompts).toEqual(["Hello", "Hello"]);
  });

  it("has the database that it names, which a scheduler does not replace by a directory", () => {
    const text = "database: ${URL}\ndatabase_schema: fleet\nagents: []";
    const config = parseConfig(text, { env: { URL: "postgres://app:secret@db/app" } });
    expect(config.database).toEqual({ url: "postgres://app:secret@db/app", schema: "fleet" });
    expect(() => new Scheduler(config)).toThrow("The configuration names a database");
    expect(() => new Scheduler({ ...config, store: new MemoryStore() })).not.toThrow();
    expect(parseConfig(text, { env: { URL: "" } }).database).toBeUndefined();
  });

  it("without a file is relative to the current directory, and has no files", () => {
    const { stateDir, files } = parseConfig("agents: []");
    expect(stateDir).toBe(resolve(".rota"));
    expect(files).toEqual([]);
  });

  it("has its state beside its file by default", () => {
    expect(parseConfig("agents: []", { file }).stateDir).toBe("/etc/fleet/.rota");
  });

  it("may have x- keys for anchors", () => {
    const text = `
x-often: &often { type: interval, interval: 5m }
agents:
  - { name: a, schedules: { s: *often } }
  - { name: b, schedules: { s: *often } }
`;
    const { agents } = parseConfig(text, { file });
    expect(agents.map(({ schedules }) => schedules?.["s"])).toEqual([
      { type: "interval", interval: "5m" },
      { type: "interval", interval: "5m" },
    ]);
  });

  it("may have merge keys, which the keys beside them override", () => {
    const text = `
x-often: &often { type: interval, interval: 5m, prompt: a }
x-calm: &calm { jitter: 5, prompt: b }
agents:
  - name: a
    schedules:
      one: { <<: *often, prompt: c }
      many: { <<: [*often, *calm] }
`;
    expect(agentIn(text)).toMatchObject({
      schedules: {
        one: { type: "interval", interval: "5m", prompt: "c" },
        many: { type: "interval", interval: "5m", prompt: "a", jitter: 5 },
      },
    });
  });

  it("may start with a byte order mark", () => {
    expect(parseConfig("\ufeffagents: []", { file }).agents).toEqual([]);
  });
});

describe("a runtime", () => {
  const whole = { type: "command", command: ["node", "work.js"], cwd: "/etc/fleet" };

  it.each([
    ["a map", ["runtime: { type: command, command: [node, work.js] }"]],
    ["the name of a type with the keys beside it", ["runtime: command", "command: [node, work.js]"]],
    ["a map with some of its keys beside it", ["runtime: { type: command }", "command: [node, work.js]"]],
  ])("may be %s", (_, lines) => {
    expect(agentIn(fleetWith(...lines))).toMatchObject({ name: "writer", runtime: whole });
    expect(agentIn(fleetWith(...lines))).not.toHaveProperty("command");
  });

  it("of type command runs in the directory of the file by default", () => {
    expect(agentIn(fleetWith("runtime: command", "command: [a]", "cwd: sub"))).toMatchObject({
      runtime: { cwd: "/etc/fleet/sub" },
    });
  });

  it("of type command gets the env of the agent, which its own env overrides", () => {
    const text = fleetWith("env: { A: 1, B: 2 }", "runtime: { type: command, command: [a], env: { B: 3 } }");
    expect(agentIn(text)).toMatchObject({ runtime: { env: { A: 1, B: 3 } } });
    expect(agentIn(text)).not.toHaveProperty("env");
  });

  it("may be missing, for a host that runs the jobs itself", () => {
    expect(agentIn(fleetWith("schedules: {}"))).toEqual({ name: "writer", schedules: {} });
  });

  it("of a type that the host has registered keeps all its keys", () => {
    const text = fleetWith("runtime: { type: echo, greeting: [hi] }");
    const { agents } = parseConfig(text, { file, runtimeTypes: ["echo"] });
    expect(agents[0]?.runtime).toEqual({ type: "echo", greeting: ["hi"] });
    expect(problemOf(text).code).toBe("UNKNOWN_TYPE");
  });
});

describe("a schedule", () => {
  it("with enabled: false is left out, and listed as disabled", () => {
    const text = fleetWith(
      "schedules:",
      "  on: { type: chat, enabled: true }",
      "  off: { type: chat, enabled: false }",
    );
    const { agents, disabled } = parseConfig(text, { file });
    expect(agents[0]?.schedules).toEqual({ on: { type: "chat" } });
    expect(disabled).toEqual([{ agent: "writer", schedule: "off" }]);
  });

  it("with enabled: false is checked too", () => {
    expect(problemOf(scheduleWith("type: interval, interval: 5x, enabled: false")).path.at(-1)).toBe(
      "interval",
    );
  });

  it("inherits work_source and on_failure from its agent", () => {
    const text = fleetWith(
      "work_source: { type: directory, path: inbox }",
      "on_failure: pause",
      "schedules:",
      "  a: { type: interval, interval: 5m }",
      "  b: { type: cron, cron: '@daily', on_failure: continue, work_source: null }",
      "  c: { type: chat, work_source: { type: directory, path: /else/where } }",
    );
    expect(agentIn(text)).toEqual({
      name: "writer",
      schedules: {
        a: {
          type: "interval",
          interval: "5m",
          on_failure: "pause",
          work_source: { type: "directory", path: "/etc/fleet/inbox" },
        },
        b: { type: "cron", cron: "@daily", on_failure: "continue" },
        c: { type: "chat", work_source: { type: "directory", path: "/else/where" } },
      },
    });
  });

  it("may have no time limit although its agent has one", () => {
    const text = fleetWith("timeout: 5m", "schedules: { s: { type: chat, timeout: null } }");
    expect(agentIn(text)).toMatchObject({ timeout: "5m", schedules: { s: { timeout: Infinity } } });
  });

  it("may have a work source of a type that the host has registered", () => {
    const text = scheduleWith("type: chat, work_source: { type: chores, room: 5 }");
    const { agents } = parseConfig(text, { file, workSourceTypes: ["chores"] });
    expect(agents[0]?.schedules?.["nightly"]).toEqual({
      type: "chat",
      work_source: { type: "chores", room: 5 },
    });
    expect(problemOf(text).code).toBe("UNKNOWN_TYPE");
  });
});

describe("defaults", () => {
  function withDefaults(defaults: string, ...lines: readonly string[]): unknown {
    return agentIn(`defaults: ${defaults}\n${fleetWith(...lines)}`);
  }

  it("are merged into an agent: maps key by key, while lists and scalars are replaced", () => {
    expect(
      withDefaults(
        "{ timeout: 5m, instances: { max_concurrent: 3 }, runtime: { type: command, env: { A: a, B: b }, pass_env: [X] } }",
        "instances: {}",
        "runtime: { type: command, command: [node], env: { B: c }, pass_env: [Y] }",
      ),
    ).toEqual({
      name: "writer",
      timeout: "5m",
      instances: { max_concurrent: 3 },
      runtime: {
        type: "command",
        command: ["node"],
        cwd: "/etc/fleet",
        env: { A: "a", B: "c" },
        pass_env: ["Y"],
      },
      schedules: {},
    });
  });

  it("of a runtime do not affect a runtime of a different type", () => {
    expect(
      withDefaults(
        "{ runtime: { type: command, env: { A: a } } }",
        "runtime: { type: http, url: https://a.b }",
      ),
    ).toMatchObject({ runtime: { type: "http", url: "https://a.b" } });
  });

  it.each(["env: { A: a }", "cwd: sub", "pass_env: [A]"])(
    "for commands (%s) do not affect other runtimes",
    (keys) => {
      expect(withDefaults(`{ ${keys} }`, "runtime: { type: http, url: https://a.b }")).toEqual({
        name: "writer",
        runtime: { type: "http", url: "https://a.b" },
        schedules: {},
      });
    },
  );

  it("of a runtime may be keys beside it", () => {
    expect(withDefaults("{ runtime: command, cwd: sub }", "command: [node]")).toMatchObject({
      runtime: { type: "command", command: ["node"], cwd: "/etc/fleet/sub" },
    });
  });

  it("may be overridden with null", () => {
    expect(withDefaults("{ timeout: 5m }", "timeout: null")).not.toHaveProperty("timeout");
  });

  it("are not reported for a key that an agent misses", () => {
    const problems = problemsOf("defaults: { runtime: command }\nagents: [{ name: a }]");
    expect(problems.map(({ where }) => where)).toEqual(['agents[0] "a", runtime, command']);
  });
});

describe("a host", () => {
  it("may add keys to an agent", () => {
    const text = fleetWith("model: small");
    const { agents } = parseConfig(text, { file, agentKeys: ["model"] });
    expect(agents[0]).toEqual({ name: "writer", model: "small", schedules: {} });
    expect(problemOf(text).code).toBe("UNKNOWN_KEY");
  });
});

describe("a relative path in a configuration", () => {
  it("is resolved from the directory of its file, whatever the current directory is", () => {
    const { stateDir } = parseConfig("state_dir: ../state\nagents: []", { file: "conf/rota.yaml" });
    expect(stateDir).toBe(join(process.cwd(), "state"));
  });
});
