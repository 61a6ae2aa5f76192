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
  "src/state": [[["file"], ["memory"], ["postgres"]], [["owner"]], [[".", "job-log"]]],
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

/** What still breaks the rules. Remove an entry with its violation: an entry without one is an error too. */
export const KNOWN = {
  imports: [
    "src/scheduler/planning/planner.ts -> src/scheduler/control/schedule-check.ts",
    "src/state/claim-rules.ts -> src/state/file/yaml/state-text.ts",
    "src/state/fleet-state.ts -> src/state/file/yaml/check-value.ts",
    "src/state/fleet-state.ts -> src/state/file/yaml/state-document.ts",
    "src/state/fleet-state.ts -> src/state/file/state-file.ts",
    "src/state/job-log/job-recovery.ts -> src/state/file/lock/process-identity.ts",
    "src/state/new-claims.ts -> src/state/owner/book-entry.ts",
    "src/state/new-claims.ts -> src/state/owner/leases.ts",
    "src/state/owner/operations.ts -> src/state/file/yaml/state-text.ts",
    "src/state/state-functions.ts -> src/state/file/file-store.ts",
    "src/state/validate-state.ts -> src/state/file/yaml/check-value.ts",
    "src/state/whole-state.ts -> src/state/file/yaml/state-text.ts",
  ],
  folders: ["src/cli", "src/config"],
  types: [
    "Agent",
    "ClaimAnswer",
    "ClaimQuestion",
    "EndedJob",
    "HttpRequest",
    "Issue",
    "JobFiles",
    "Located",
    "News",
    "Place",
    "RunningJob",
    "ScheduleStatus",
    "SourceOptions",
  ],
};
