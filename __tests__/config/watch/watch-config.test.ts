/** A watched configuration: the calls of its listeners for changes, invalid files and no changes. */
import { mkdirSync, renameSync, rmSync, symlinkSync, unlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { watchDirectory } from "../../../src/config/watch/directory-watch.js";
import { ConfigError } from "../../../src/scheduler/definition/errors.js";
import { watchConfig } from "../../../src/config/watch/watch-config.js";
import { until } from "../../state/child.js";
import { directoryWith } from "../config-directory.js";
import { deaf, passLong, passUntil, watched } from "./watched.js";

const ONE = "agents:\n  - name: one\n";
const TWO = "agents:\n  - name: one\n  - name: two\n";
const BAD = "agents:\n  - nam: one\n";

/** Replaces a file by a rename, as careful editors do. */
function renameOver(file: string, text: string): void {
  writeFileSync(`${file}.tmp`, text);
  renameSync(`${file}.tmp`, file);
}

describe.each([
  ["that the system reports", watchDirectory, { pollMs: Infinity }],
  ["that polling finds", deaf, {}],
])("a change %s", (_, watch, options) => {
  it("is reported with the differences", async () => {
    const directory = directoryWith({ "rota.yaml": ONE });
    const { watch: config, clock, changes } = await watched(directory, watch, options);
    writeFileSync(join(directory, "rota.yaml"), TWO);
    await passUntil(clock, () => changes.length > 0);
    expect(changes).toMatchObject([{ agents: { added: ["two"], removed: [], changed: [] } }]);
    expect(config.config.agents.map(({ name }) => name)).toEqual(["one", "two"]);
  });

  it("by an editor that renames over the file is reported each time", async () => {
    const directory = directoryWith({ "rota.yaml": ONE });
    const { clock, changes } = await watched(directory, watch, options);
    renameOver(join(directory, "rota.yaml"), TWO);
    await passUntil(clock, () => changes.length > 0);
    renameOver(join(directory, "rota.yaml"), ONE);
    await passUntil(clock, () => changes.length > 1);
    expect(changes[1]).toMatchObject({ agents: { removed: ["two"] } });
  });

  it("of an agent's file is reported", async () => {
    const directory = directoryWith({
      "rota.yaml": "agents: [{ path: a/one.yaml }]",
      "a/one.yaml": "name: one",
    });
    const { clock, changes } = await watched(directory, watch, options);
    renameOver(join(directory, "a/one.yaml"), "name: one\ntimeout: 5m");
    await passUntil(clock, () => changes.length > 0);
    expect(changes).toMatchObject([{ agents: { changed: ["one"] } }]);
  });

  it("of a file that the last change added is reported", async () => {
    const directory = directoryWith({ "rota.yaml": ONE, "a/two.yaml": "name: two" });
    const { clock, changes } = await watched(directory, watch, options);
    writeFileSync(join(directory, "rota.yaml"), "agents: [{ path: a/two.yaml }]");
    await passUntil(clock, () => changes.length > 0);
    writeFileSync(join(directory, "a/two.yaml"), "name: three");
    await passUntil(clock, () => changes.length > 1);
    expect(changes[1]).toMatchObject({ agents: { added: ["three"], removed: ["two"] } });
  });

  it("that makes the file invalid is reported as a problem, and the last valid configuration stays", async () => {
    const directory = directoryWith({ "rota.yaml": ONE });
    const { watch: config, clock, changes, problems } = await watched(directory, watch, options);
    writeFileSync(join(directory, "rota.yaml"), BAD);
    await passUntil(clock, () => problems.length > 0);
    expect(problems[0]?.problems[0]).toMatchObject({ code: "UNKNOWN_KEY", suggestion: "name", line: 2 });
    expect(config.config.agents.map(({ name }) => name)).toEqual(["one"]);
    writeFileSync(join(directory, "rota.yaml"), TWO);
    await passUntil(clock, () => changes.length > 0);
    expect(changes).toMatchObject([{ agents: { added: ["two"], removed: [] } }]);
  });

  it("that repairs an invalid file of an agent is reported", async () => {
    const directory = directoryWith({ "rota.yaml": ONE });
    const { clock, changes, problems } = await watched(directory, watch, options);
    mkdirSync(join(directory, "a"));
    writeFileSync(join(directory, "a/two.yaml"), "nam: two");
    writeFileSync(join(directory, "rota.yaml"), "agents: [{ path: a/two.yaml }]");
    await passUntil(clock, () => problems.length > 0);
    writeFileSync(join(directory, "a/two.yaml"), "name: two");
    await passUntil(clock, () => changes.length > 0);
    expect(changes).toMatchObject([{ agents: { added: ["two"], removed: ["one"] } }]);
  });

  it("of a file that is missing for a moment is reported when it is back, without a problem", async () => {
    const directory = directoryWith({ "rota.yaml": ONE });
    const { clock, changes, problems } = await watched(directory, watch, options);
    unlinkSync(join(directory, "rota.yaml"));
    for (let step = 0; step < 20; step++) await clock.advance(20);
    writeFileSync(join(directory, "rota.yaml"), TWO);
    await passUntil(clock, () => changes.length > 0);
    expect(problems).toEqual([]);
  });

  it("that removes the file is reported as a problem, once", async () => {
    const directory = directoryWith({ "rota.yaml": ONE });
    const { clock, problems } = await watched(directory, watch, options);
    unlinkSync(join(directory, "rota.yaml"));
    await passUntil(clock, () => problems.length > 0);
    await passLong(clock);
    expect(problems.map(({ code }) => code)).toEqual(["UNREADABLE_CONFIG"]);
  });

  it("that makes no difference is not reported", async () => {
    const directory = directoryWith({ "rota.yaml": ONE });
    const { clock, changes, problems } = await watched(directory, watch, options);
    writeFileSync(join(directory, "rota.yaml"), `# A comment.\n${ONE}`);
    await passLong(clock);
    expect([changes, problems]).toEqual([[], []]);
  });
});

describe("a watched configuration", () => {
  it("is not read while its file is still being written", async () => {
    const directory = directoryWith({ "rota.yaml": ONE });
    const { clock, changes, problems } = await watched(directory, watchDirectory, { pollMs: 100 });
    for (let length = 1; length < TWO.length; length++) {
      writeFileSync(join(directory, "rota.yaml"), TWO.slice(0, length));
      await clock.advance(50);
    }
    writeFileSync(join(directory, "rota.yaml"), TWO);
    await passUntil(clock, () => changes.length > 0);
    await passLong(clock);
    expect([changes.length, problems.length]).toEqual([1, 0]);
  });

  it("is read again when its file is a link whose target changes", async () => {
    const directory = directoryWith({ "v1/rota.yaml": ONE, "v2/rota.yaml": TWO });
    symlinkSync("v1", join(directory, "current"));
    symlinkSync("current/rota.yaml", join(directory, "rota.yaml"));
    const { clock, changes } = await watched(directory, watchDirectory);
    symlinkSync("v2", join(directory, "next"));
    renameSync(join(directory, "next"), join(directory, "current"));
    await passUntil(clock, () => changes.length > 0);
    expect(changes).toMatchObject([{ agents: { added: ["two"] } }]);
  });

  it("is read again when its directory was replaced", async () => {
    const directory = directoryWith({
      "a/one.yaml": "name: one",
      "rota.yaml": "agents: [{ path: a/one.yaml }]",
    });
    const { clock, changes } = await watched(directory, watchDirectory);
    for (const name of ["two", "three"]) {
      rmSync(join(directory, "a"), { recursive: true });
      mkdirSync(join(directory, "a"));
      writeFileSync(join(directory, "a/one.yaml"), `name: ${name}`);
      const told = changes.length;
      await passUntil(clock, () => changes.length > told);
    }
    expect(changes.map(({ agents }) => agents.added)).toEqual([["two"], ["three"]]);
  });

  it("is read by reload without waiting", async () => {
    const directory = directoryWith({ "rota.yaml": ONE });
    const { watch, changes } = await watched(directory, deaf);
    writeFileSync(join(directory, "rota.yaml"), TWO);
    await watch.reload();
    expect(changes).toHaveLength(1);
  });

  it("may be reloaded by a listener", async () => {
    const directory = directoryWith({ "rota.yaml": ONE });
    let isReloaded = false;
    const { watch } = await watched(directory, deaf, {
      onChange: async () => {
        await watch.reload();
        isReloaded = true;
      },
    });
    writeFileSync(join(directory, "rota.yaml"), TWO);
    await watch.reload();
    await watch.reload();
    expect(isReloaded).toBe(true);
  });

  it("continues when a listener throws, and logs the error", async () => {
    const directory = directoryWith({ "rota.yaml": ONE });
    const errors: string[] = [];
    const logger = { info: () => {}, warn: () => {}, error: (line: string) => errors.push(line) };
    const { watch } = await watched(directory, deaf, {
      logger,
      onChange: () => {
        throw new Error("no");
      },
    });
    writeFileSync(join(directory, "rota.yaml"), TWO);
    await watch.reload();
    writeFileSync(join(directory, "rota.yaml"), ONE);
    await watch.reload();
    expect(errors).toEqual([
      expect.stringMatching(/^A listener for changes of .* failed: no$/),
      expect.stringMatching(/^A listener for changes of .* failed: no$/),
    ]);
  });

  it("without a listener for problems logs them as warnings", async () => {
    const directory = directoryWith({ "rota.yaml": ONE });
    const warnings: string[] = [];
    const logger = { info: () => {}, warn: (line: string) => warnings.push(line), error: () => {} };
    const { watch } = await watched(directory, deaf, { logger, onProblem: undefined });
    writeFileSync(join(directory, "rota.yaml"), BAD);
    await watch.reload();
    expect(warnings).toEqual([expect.stringContaining('did you mean "name"?')]);
  });

  it.each([
    ["its signal fires", (end: AbortController) => end.abort()],
    ["it is closed", (_: AbortController, close: () => void) => close()],
  ])("is not read again when %s", async (_, act) => {
    const directory = directoryWith({ "rota.yaml": ONE });
    const end = new AbortController();
    const { watch, clock, changes } = await watched(directory, watchDirectory, { signal: end.signal });
    writeFileSync(join(directory, "rota.yaml"), TWO);
    act(end, () => watch.close());
    await passLong(clock);
    expect([changes.length, clock.sleeping]).toEqual([0, 0]);
  });

  it("is not reported when it is closed while it is read", async () => {
    const directory = directoryWith({ "rota.yaml": ONE });
    let watches = 0;
    const counting = (): (() => void) => {
      watches++;
      return () => watches--;
    };
    const { watch, changes } = await watched(directory, counting);
    writeFileSync(join(directory, "rota.yaml"), TWO);
    const reading = watch.reload();
    watch.close();
    await reading;
    expect([watches, changes.length]).toEqual([0, 0]);
  });

  it("is read by reload while its file is being written", async () => {
    const directory = directoryWith({ "rota.yaml": ONE });
    const { watch, clock, changes } = await watched(directory, watchDirectory);
    writeFileSync(join(directory, "rota.yaml"), `${ONE}# more to come`);
    await until(() => clock.sleeping > 1);
    writeFileSync(join(directory, "rota.yaml"), TWO);
    await watch.reload();
    expect(changes).toHaveLength(1);
    await passLong(clock);
    expect(changes).toHaveLength(1);
  });

  it("is checked again after a read, for changes that were not reported meanwhile", async () => {
    const directory = directoryWith({ "rota.yaml": ONE });
    const added: string[] = [];
    const { watch, clock } = await watched(directory, deaf, {
      pollMs: Infinity,
      onChange: (_, { agents }) => {
        if (added.length === 0) writeFileSync(join(directory, "rota.yaml"), `${TWO}  - name: three\n`);
        added.push(...agents.added);
      },
    });
    writeFileSync(join(directory, "rota.yaml"), TWO);
    await watch.reload();
    await passUntil(clock, () => added.length > 1);
    expect(added).toEqual(["two", "three"]);
  });

  it("is checked again for an event during a check", async () => {
    const directory = directoryWith({ "rota.yaml": ONE });
    const added: string[] = [];
    let tell = (): void => {};
    const telling = (_: string, onEvent: () => void): (() => void) => {
      tell = onEvent;
      return () => {};
    };
    const { clock } = await watched(directory, telling, {
      pollMs: Infinity,
      onChange: (_, { agents }) => {
        if (added.length === 0) writeFileSync(join(directory, "rota.yaml"), `${TWO}  - name: three\n`);
        added.push(...agents.added);
        tell();
      },
    });
    writeFileSync(join(directory, "rota.yaml"), TWO);
    tell();
    await passUntil(clock, () => added.length > 1);
    expect(added).toEqual(["two", "three"]);
  });

  it("that is invalid at first is rejected", async () => {
    const directory = directoryWith({ "rota.yaml": BAD });
    await expect(watchConfig(join(directory, "rota.yaml"), { onChange: () => {} })).rejects.toThrow(
      ConfigError,
    );
  });

  it("is not read when its signal has fired already", async () => {
    const options = { onChange: () => {}, signal: AbortSignal.abort(new Error("over")) };
    await expect(watchConfig("none.yaml", options)).rejects.toThrow("over");
  });
});
