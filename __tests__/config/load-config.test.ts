/** A configuration in several files: how they are merged, and the problems of missing, wrong and circular files. */
import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { loadConfig } from "../../src/config/load-config.js";
import { parseConfig } from "../../src/config/parse-config.js";
import { directoryWith, loadRefusal } from "./config-directory.js";

const WRITER = `
name: writer
runtime: { type: command, command: [node, write.js], env: { A: a, B: b } }
schedules:
  often: { type: interval, interval: 5m, prompt: Write. }
  nightly: { type: cron, cron: "@daily" }
`;

describe("an agent in a separate file", () => {
  it("is the same as in the list", async () => {
    const directory = directoryWith({
      "rota.yaml": "agents:\n  - path: agents/writer.yaml\n  - name: reader\n",
      "agents/writer.yaml": WRITER,
    });
    const { agents, files } = await loadConfig(join(directory, "rota.yaml"));
    expect(agents.map(({ name }) => name)).toEqual(["writer", "reader"]);
    expect(files).toEqual([join(directory, "rota.yaml"), join(directory, "agents/writer.yaml")]);
  });

  it("is overridden by the keys beside its path, with maps merged key by key", async () => {
    const directory = directoryWith({
      "rota.yaml": `
agents:
  - path: agents/writer.yaml
    name: editor
    runtime: { env: { B: c } }
    schedules:
      often: { interval: 1h }
      nightly: { expression: 0 3 * * * }
`,
      "agents/writer.yaml": WRITER,
    });
    const { agents } = await loadConfig(join(directory, "rota.yaml"));
    expect(agents).toEqual([
      {
        name: "editor",
        runtime: {
          type: "command",
          command: ["node", "write.js"],
          cwd: join(directory, "agents"),
          env: { A: "a", B: "c" },
        },
        schedules: {
          often: { type: "interval", interval: "1h", prompt: "Write." },
          nightly: { type: "cron", expression: "0 3 * * *" },
        },
      },
    ]);
  });

  it("overrides the defaults, and is overridden by the list", async () => {
    const directory = directoryWith({
      "rota.yaml":
        "defaults: { timeout: 1m, description: d }\nagents: [{ path: a.yaml }, { path: a.yaml, name: b, timeout: 3m }]",
      "a.yaml": "name: a\ntimeout: 2m",
    });
    const { agents } = await loadConfig(join(directory, "rota.yaml"));
    expect(agents).toMatchObject([
      { name: "a", timeout: "2m", description: "d" },
      { name: "b", timeout: "3m", description: "d" },
    ]);
  });

  it("may name a base file", async () => {
    const directory = directoryWith({
      "rota.yaml": "agents: [{ path: a/one.yaml }]",
      "a/one.yaml": "path: ../b/two.yaml\nname: one",
      "b/two.yaml": "name: two\nruntime: command\ncommand: [work]\ncwd: here",
    });
    const { agents } = await loadConfig(join(directory, "rota.yaml"));
    expect(agents).toMatchObject([{ name: "one", runtime: { cwd: join(directory, "b/here") } }]);
  });

  it("is the same for parseConfig", async () => {
    const directory = directoryWith({
      "rota.yaml": "agents: [{ path: agents/writer.yaml }]",
      "agents/writer.yaml": WRITER,
    });
    const file = join(directory, "rota.yaml");
    expect(parseConfig(readFileSync(file, "utf8"), { file })).toEqual(await loadConfig(file));
  });

  it("that is wrong is reported with its own file and line", async () => {
    const directory = directoryWith({
      "rota.yaml": "agents: [{ path: agents/writer.yaml }]",
      "agents/writer.yaml": "name: writer\ntimeout: never",
    });
    const { problems } = await loadRefusal(join(directory, "rota.yaml"));
    expect(problems).toMatchObject([
      {
        file: join(directory, "agents/writer.yaml"),
        line: 2,
        column: 10,
        where: 'agents[0] "writer", timeout',
      },
    ]);
  });

  it("that is wrong is reported once, however many agents use it", async () => {
    const directory = directoryWith({
      "rota.yaml": "agents: [{ path: a.yaml, name: a }, { path: a.yaml, name: b }]",
      "a.yaml": "timeout: never",
    });
    expect((await loadRefusal(join(directory, "rota.yaml"))).problems).toHaveLength(1);
    const text = readFileSync(join(directory, "rota.yaml"), "utf8");
    expect(() => parseConfig(text, { file: join(directory, "rota.yaml") })).toThrow("has a problem");
  });

  it("with a wrong override is reported at the override", async () => {
    const directory = directoryWith({
      "rota.yaml": "agents:\n  - path: a.yaml\n    timeout: never",
      "a.yaml": "name: a",
    });
    const { problems } = await loadRefusal(join(directory, "rota.yaml"));
    expect(problems).toMatchObject([{ file: join(directory, "rota.yaml"), line: 3 }]);
  });

  it("is reported together with all other problems, file by file", async () => {
    const directory = directoryWith({
      "rota.yaml": "jiter: 1\nagents:\n  - path: a.yaml\n  - path: b.yaml\n  - name: c\n    timeout: never\n",
      "a.yaml": "name: [",
      "b.yaml": "name: b\ndescription: ${NONE}\nfoo: 1\n",
    });
    const { problems } = await loadRefusal(join(directory, "rota.yaml"));
    expect(problems.map(({ file = "", line }) => `${file.slice(directory.length + 1)}:${line}`)).toEqual([
      "rota.yaml:1",
      "rota.yaml:6",
      "a.yaml:1",
      "b.yaml:2",
      "b.yaml:3",
    ]);
  });
});

describe("the path of an agent", () => {
  it.each([
    ["to a missing file", "none.yaml", "UNREADABLE_FILE", "was not found"],
    ["to a directory", "folder", "UNREADABLE_FILE", "is a directory"],
    ["to a file that is not UTF-8", "bytes.yaml", "UNREADABLE_FILE", "is not text in UTF-8"],
    ["to a file that is too large", "large.yaml", "UNREADABLE_FILE", "bytes, expected at most"],
    ["to the file itself", "rota.yaml", "FILE_CYCLE", "refers back to itself"],
    ["back to the file through a second file", "circle.yaml", "FILE_CYCLE", "refers back to itself"],
    ["that is empty", '""', "INVALID_VALUE", "expected the path of a file"],
    ["that is a list", "[a]", "INVALID_VALUE", "expected the path of a file"],
  ])("%s is a problem of the line that names it", async (_, path, code, words) => {
    const directory = directoryWith({
      "rota.yaml": `agents:\n  - name: a\n    path: ${path}\n`,
      "circle.yaml": "path: circle.yaml\n",
    });
    mkdirSync(join(directory, "folder"));
    writeFileSync(join(directory, "bytes.yaml"), Buffer.from([0x6e, 0xff, 0xfe]));
    writeFileSync(join(directory, "large.yaml"), "");
    truncateSync(join(directory, "large.yaml"), 7_000_000);
    const { problems } = await loadRefusal(join(directory, "rota.yaml"));
    expect(problems).toMatchObject([
      { code, message: expect.stringContaining(words) as string, where: 'agents[0] "a", path' },
    ]);
  });

  it("to a pipe is a problem, without waiting for the pipe", async () => {
    const directory = directoryWith({ "rota.yaml": "agents: [{ path: pipe.yaml }]" });
    execFileSync("mkfifo", [join(directory, "pipe.yaml")]);
    const { problems } = await loadRefusal(join(directory, "rota.yaml"));
    expect(problems[0]?.message).toContain("is not a regular file");
  });

  it("may contain variables", async () => {
    const directory = directoryWith({
      "rota.yaml": "agents: [{ path: '${WHO}.yaml' }]",
      "a.yaml": "name: a",
    });
    const { agents } = await loadConfig(join(directory, "rota.yaml"), { env: { WHO: "a" } });
    expect(agents).toMatchObject([{ name: "a" }]);
  });
});

describe("a file that cannot be read", () => {
  it("is rejected with UNREADABLE_CONFIG and its path", async () => {
    const file = join(directoryWith({}), "rota.yaml");
    const { code, message, files, problems } = await loadRefusal(file);
    expect(code).toBe("UNREADABLE_CONFIG");
    expect(message).toContain(`The file ${file} was not found`);
    expect(files).toEqual([file]);
    expect(problems).toMatchObject([{ code: "UNREADABLE_FILE", line: undefined }]);
  });
});

describe("a fleet of many files", () => {
  it("is read without exceeding the limit of open files", async () => {
    const names = Array.from({ length: 300 }, (_, index) => `a${index}`);
    const directory = directoryWith({
      "rota.yaml": `agents:\n${names.map((name) => `  - path: ${name}.yaml`).join("\n")}`,
      ...Object.fromEntries(names.map((name) => [`${name}.yaml`, `name: ${name}`])),
    });
    const { agents, files } = await loadConfig(join(directory, "rota.yaml"));
    expect(agents.map(({ name }) => name)).toEqual(names);
    expect(files).toHaveLength(301);
  });
});

describe("a path to a file that does not describe an agent", () => {
  const SHADOW = "root:$6$hunter2$abcdef:19000:0:99999:7:::\ndaemon:*:19000:0:99999:7:::\n";

  it.each([
    ["a file of passwords", SHADOW],
    ["a file of users", "root:x:0:0:hunter2:/root:/bin/bash\ndaemon:x:1:1::/:/bin/sh\n"],
    ["a file of variables", "PASSWORD=hunter2\nTOKEN=hunter2\n"],
    ["an INI file", "[default]\nkey = hunter2\n"],
    ["a private key", "-----BEGIN OPENSSH PRIVATE KEY-----\nhunter2\n-----END OPENSSH PRIVATE KEY-----\n"],
    ["a certificate and a colon", "key: - hunter2: [\n"],
    ["JSON with different keys", '{ "auths": { "registry.test": { "auth": "hunter2" } } }'],
    ["a list", "- hunter2\n- hunter2\n"],
    ["YAML with different keys", "users:\n  - password: hunter2\nclusters: hunter2\n"],
    ["YAML with variables", "users:\n  - ${hunter2}\n"],
    ["a key that is not text", "? [hunter2]\n: hunter2\n"],
    ["duplicate keys", "hunter2: 1\nhunter2: 2\n"],
    ["characters that YAML does not allow", "hunter2\u0007\n"],
  ])("shows nothing of it: %s", async (_, text) => {
    const directory = directoryWith({ "rota.yaml": "agents:\n  - path: other/file\n", "other/file": text });
    const { message, problems } = await loadRefusal(join(directory, "rota.yaml"));
    expect(`${message}${JSON.stringify(problems)}`).not.toContain("hunter2");
    expect(problems).toMatchObject([
      {
        code: "UNREADABLE_FILE",
        file: join(directory, "rota.yaml"),
        line: 2,
        message: expect.stringMatching(/^The file "other\/file" does not describe an agent: /) as string,
      },
    ]);
  });

  it("shows the line of an agent's file with a mistake", async () => {
    const directory = directoryWith({
      "rota.yaml": "agents: [{ path: a.yaml }, { path: b.yaml }, { path: c.yaml }]",
      "a.yaml": "name: a\nschedules: [}\n",
      "b.yaml": "name: b\nschedulse: {}\n",
      "c.yaml": "schedulse: {}\n",
    });
    const { message } = await loadRefusal(join(directory, "rota.yaml"));
    expect(message).toContain("schedules: [}");
    expect(message).toContain('did you mean "schedules"?');
    expect(message).not.toContain("does not describe an agent");
  });
});
