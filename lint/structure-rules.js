/** How src/ is laid out, for lint/structure.js: who may import whom, how large a folder may be. CONTRIBUTING.md draws it. */

/**
 * The folders below each folder, from top to bottom. A file may import its own group and the groups of later lines,
 * never an earlier line, and never its neighbours on the same line. "." stands for the files directly in the folder.
 */
export const LAYERS = {
  src: [
    [["cli"]],
    [["client"], ["page"]],
    [["server"]],
    [["fleet"]],
    [["config"]],
    [["scheduler"]],
    [["events"], ["workflows"]],
    [["runner"], ["work-sources"]],
    [["state"]],
    [["."]],
  ],
  // Files directly in scheduler/ (its class, context, roster, errors) serve all of its folders.
  "src/scheduler": [[["control"], ["loop"]], [["jobs"]], [["claims"], ["planning"]], [["timing"]]],
  // The contract and its rules know no store; stores with one owner share owner/.
  "src/state": [[["file"], ["memory"], ["postgres"]], [["owner"]], [[".", "events", "job-log"]]],
};

/** They run elsewhere than the server, so they import its types and, beside their own files, nothing else. */
export const TYPES_ONLY = { client: "server", page: "server" };

/** Public entry points: they may import everything, and no file of src/ may import them. */
export const ENTRY_POINTS = ["src/index.ts"];

/** Code that only decides: of the files directly in src/scheduler/ it imports the errors, and nothing that waits or stores. */
export const PURE = {
  of: "src/scheduler",
  folders: ["src/scheduler/timing", "src/scheduler/planning"],
  mayImport: ["src/scheduler/errors.ts"],
  // They keep plans in the store.
  except: ["planner.ts", "plan-writes.ts", "removed-schedules.ts"].map(
    (name) => `src/scheduler/planning/${name}`,
  ),
};

export const MOST_FILES = 18;
/** One file per command. */
export const LARGE_FOLDERS = ["src/cli/commands"];
