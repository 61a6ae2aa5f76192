/** `rota describe <job>`: when, why and where a job ran, with what, how it ended, and the end of its output. */
import { isFields } from "../../fields.js";
import { isoTimeMs } from "../../iso-time.js";
import type { JobRecord } from "../../state/job-log/job-log.js";
import type { Call } from "../command.js";
import { formatFields } from "../format/definition.js";
import { JOB_STYLES, tookText, whyRan } from "../format/job.js";
import { formatTime } from "../format/plan.js";
import { oneLine } from "../format/text-width.js";
import type { StateConnection } from "../location/state-location.js";

const LABEL_WIDTH = 14;
const LINES_SHOWN = 10;
/** A longer prompt or body is shortened; --json has all of it. */
const MOST_CHARACTERS = 2_000;

export async function describeJob(call: Call, connection: StateConnection, job: JobRecord): Promise<void> {
  const { isJson, output } = call;
  const node = (await connection.nodesOf([job.id])).get(job.id);
  const bytes = await connection.output(job.id);
  const lines = (bytes?.toString("utf8") ?? "").replace(/\n+$/, "").split("\n");
  const last = bytes === undefined || bytes.length === 0 ? [] : lines.slice(-LINES_SHOWN);
  if (isJson) {
    output.json({ job, why: whyRan(job), node: node ?? null, last_lines: last });
    return;
  }
  const now = connection.clock.now();
  const label = (name: string): string => `  ${output.paint("dim", name.padEnd(LABEL_WIDTH))}`;
  output.line(output.paint("bold", job.id));
  const took = tookText(job, now).replace("…", "");
  const how = output.paint(JOB_STYLES[job.status], job.status);
  output.line(
    `${label("Status")}${how}${took === "-" ? "" : `${job.status === "running" ? " for" : " after"} ${took}`}`,
  );
  for (const [name, text] of fieldsOf(job, node, now))
    if (text !== undefined) output.line(`${label(name)}${oneLine(shortened(text))}`);
  if (last.length === 0) return;
  output.line(
    `  ${output.paint("dim", lines.length > last.length ? `Last ${last.length} lines of ${lines.length}` : "Output")}`,
  );
  for (const line of last) output.line(`    ${oneLine(line)}`);
  if (lines.length > last.length) output.message(`\`rota logs ${job.id}\` prints the whole output.`);
}

function fieldsOf(
  job: JobRecord,
  node: string | undefined,
  now: Date,
): readonly (readonly [string, string | undefined])[] {
  const { agent, schedule, trigger, slot, source, attempt, prompt, exit_code, error, summary } = job;
  const given = source === null ? "" : ` (${source})`;
  return [
    [schedule === null ? "Agent" : "Schedule", schedule === null ? agent : `${agent}/${schedule}`],
    ["Why", `${whyRan(job)}${given}`],
    ["Trigger", trigger],
    ["Cause", job.cause],
    ["Slot", shownTime(slot, now)],
    ["Attempt", String(attempt)],
    ["Started", shownTime(job.started_at, now)],
    ["Ended", shownTime(job.finished_at, now)],
    ["Node", node],
    ["Prompt", prompt ?? undefined],
    ["Data", shownValue(job.data)],
    ["Work item", shownValue(job.work_item)],
    ["Exit code", exit_code === null ? undefined : String(exit_code)],
    ["Error", error ?? undefined],
    ["Summary", summary ?? undefined],
    ["Result", shownValue(job.response_body)],
  ];
}

function shownTime(text: string | null, now: Date): string | undefined {
  const ms = isoTimeMs(text);
  return ms === undefined ? undefined : formatTime(new Date(ms), now);
}

function shownValue(value: unknown): string | undefined {
  if (value == null) return undefined;
  if (isFields(value)) return formatFields(value);
  return typeof value === "string" ? value : JSON.stringify(value);
}

function shortened(text: string): string {
  return text.length <= MOST_CHARACTERS ? text : `${text.slice(0, MOST_CHARACTERS)}…`;
}
