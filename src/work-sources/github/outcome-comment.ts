/** The comments that report the outcome of an issue to people. Pure. */
import type { WorkOutcome } from "../work-source.js";

/** GitHub allows 65536 characters. */
const LONGEST_COMMENT = 60_000;

/** The text that the report of a claim starts with. */
export function reportMark(token: string): string {
  return `<!-- rota:report token=${token} -->`;
}

export function outcomeText(
  token: string,
  { outcome, summary, details, artifacts, error }: WorkOutcome,
): string {
  const parts = [outcome === "success" ? "**Done.**" : "**Failed.**", summary];
  if (error !== undefined && error !== "") parts.push(fenced(error));
  if (details !== undefined && details !== "") parts.push(details);
  if (artifacts !== undefined && artifacts.length > 0)
    parts.push(["Artifacts:", ...artifacts.map((artifact) => `- ${artifact}`)].join("\n"));
  return marked(token, parts);
}

export function releaseText(token: string, reason: string): string {
  return marked(token, ["**Released.**", reason]);
}

function marked(token: string, parts: readonly string[]): string {
  const text = parts.filter((part) => part !== "").join("\n\n");
  const shown = text.length > LONGEST_COMMENT ? `${text.slice(0, LONGEST_COMMENT)}…` : text;
  return `${reportMark(token)}\n${shown}`;
}

/** A code block, with a fence that is longer than any in the text. */
function fenced(text: string): string {
  const shown = text.length > LONGEST_COMMENT / 2 ? `${text.slice(0, LONGEST_COMMENT / 2)}…` : text;
  const longest = Math.max(2, ...(shown.match(/`+/g) ?? []).map(({ length }) => length));
  const fence = "`".repeat(longest + 1);
  return `${fence}text\n${shown}\n${fence}`;
}
