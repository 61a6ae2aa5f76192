/** What a job is asked to do: its schedule's prompt, then the work item that it is about. Pure. */
import type { WorkItem } from "../../work-sources/work-source.js";

const DEFAULT_PROMPT = "Execute scheduled task";

export function buildSchedulePrompt(
  schedule: { readonly prompt?: string | undefined },
  workItem?: WorkItem,
): string {
  const prompt = schedule.prompt ?? DEFAULT_PROMPT;
  return workItem === undefined ? prompt : `${prompt}\n\n${aboutItem(workItem)}`;
}

function aboutItem({ title, description, source, id, priority, labels, url }: WorkItem): string {
  const facts = [
    ["Source", source],
    ["Id", id],
    ["Priority", priority],
    ["Labels", labels.join(", ")],
    ["URL", url ?? ""],
  ];
  const lines = facts.filter(([, value]) => value !== "").map(([name, value]) => `${name}: ${value}`);
  return [`# ${title}`, description, lines.join("\n")].filter((part) => part !== "").join("\n\n");
}
