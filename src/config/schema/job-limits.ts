/** `jobs` of a configuration: how much is kept of jobs. */
import { durationMs } from "../../duration.js";
import {
  fitting,
  map,
  optional,
  type Schema,
  wholeNumber,
} from "../../scheduler/definition/schema/fields.js";
import type { JobLimits } from "../../state/job-log/job-log.js";
import { entryOf, type LocatedValue, scalarOf } from "../yaml/located-value.js";

const DAY_MS = 86_400_000;
const UNIT_BYTES: Readonly<Record<string, number>> = { B: 1, kB: 1e3, KB: 1e3, MB: 1e6, GB: 1e9 };

export function jobLimitsSchema(): Schema {
  return map(
    {
      keep: optional(
        wholeNumber("How many of the last jobs of each schedule are kept.", 1, { default: 200 }),
      ),
      max_age: optional(
        fitting('text such as "30d"', (given) => ageDays(given) !== undefined, {
          type: "string",
          pattern: "^[0-9]+[smhd]$",
          default: "30d",
          description: "How long a job is kept.",
        }),
      ),
      max_output: optional(bytesSchema("How much of the output of a job is kept.", "1MB")),
      max_size: optional(
        bytesSchema("How large all records and outputs together may be. A database ignores it.", "1GB"),
      ),
    },
    'a map such as { keep: 200, max_age: "30d" }',
    { description: "How much is kept of jobs." },
  );
}

/** `undefined` where the configuration says nothing of jobs. */
export function jobLimitsOf(fleet: LocatedValue): JobLimits | undefined {
  const jobs = entryOf(fleet, "jobs");
  if (jobs?.kind !== "map") return undefined;
  const keep = scalarOf(jobs, "keep");
  return {
    keep: typeof keep === "number" ? keep : undefined,
    maxAgeDays: ageDays(scalarOf(jobs, "max_age")),
    maxOutputBytes: bytes(scalarOf(jobs, "max_output")),
    maxSizeBytes: bytes(scalarOf(jobs, "max_size")),
  };
}

function bytesSchema(description: string, byDefault: string): Schema {
  return fitting('bytes such as 500000 or "1MB"', (given) => bytes(given) !== undefined, {
    description,
    default: byDefault,
    anyOf: [
      { type: "integer", minimum: 0 },
      { type: "string", pattern: "^[0-9]+ ?([kKMG]?B)$" },
    ],
  });
}

function ageDays(given: unknown): number | undefined {
  const ms = typeof given === "string" ? durationMs(given) : undefined;
  return ms === undefined ? undefined : ms / DAY_MS;
}

function bytes(given: unknown): number | undefined {
  if (typeof given === "number") return Number.isSafeInteger(given) && given >= 0 ? given : undefined;
  if (typeof given !== "string") return undefined;
  const [, count, unit = ""] = /^(\d+) ?([kKMG]?B)$/.exec(given) ?? [];
  const unitBytes = UNIT_BYTES[unit];
  return unitBytes === undefined ? undefined : Number(count) * unitBytes;
}
