/** Checks that the programs of commands exist and may be executed, as a scheduler of this user would find them. */
import { access, constants, stat } from "node:fs/promises";
import { delimiter, isAbsolute, join, resolve } from "node:path";
import { quote } from "../../errors.js";
import { isFields } from "../../fields.js";
import type { Agent } from "../../scheduler/agent.js";
import { counted } from "../format/counted.js";
import { failure, fine, type Finding } from "./finding.js";

const ABOUT = "programs";

interface Program {
  readonly agent: string;
  readonly name: string;
  readonly cwd: string;
  /** Its PATH. */
  readonly path: string;
}

/** One finding for each program that is missing, or one for all. `env`, `cwd`: of the scheduler. */
export async function checkPrograms(
  agents: readonly Agent[],
  { env, cwd }: { readonly env: Readonly<Record<string, string | undefined>>; readonly cwd: string },
): Promise<readonly Finding[]> {
  const programs = agents.flatMap(
    (agent) => programOf(agent, env["PATH"] ?? process.env["PATH"] ?? "", cwd) ?? [],
  );
  if (programs.length === 0) return [];
  const problems: Finding[] = [];
  for (const program of programs) {
    const problem = await problemOf(program);
    if (problem !== undefined) problems.push(failure(ABOUT, `agent ${program.agent}: ${problem}`));
  }
  return problems.length > 0 ? problems : [fine(ABOUT, `${counted(programs.length, "command")} found`)];
}

/** `undefined` for an agent without a command, and for a program whose name is filled in when it runs. */
function programOf(agent: Agent, path: string, cwd: string): Program | undefined {
  const fields: unknown = isFields(agent.runtime) ? agent.runtime : agent;
  if (!isFields(fields)) return undefined;
  const { command, env } = fields;
  const [name]: readonly unknown[] = Array.isArray(command) ? command : [];
  if (typeof name !== "string" || name.includes("{")) return undefined;
  const own = isFields(env) ? env["PATH"] : undefined;
  const given = fields["cwd"];
  return {
    agent: agent.name,
    name,
    cwd: typeof given === "string" ? resolve(cwd, given) : cwd,
    path: typeof own === "string" ? own : path,
  };
}

async function problemOf({ name, cwd, path }: Program): Promise<string | undefined> {
  const isPath = isAbsolute(name) || name.includes("/");
  const places = isPath
    ? [resolve(cwd, name)]
    : path.split(delimiter).map((directory) => join(resolve(cwd, directory), name));
  let unusable: string | undefined;
  for (const place of places) {
    const found = await kindOf(place);
    if (found === "program") return undefined;
    if (found === "other") unusable ??= place;
  }
  if (unusable !== undefined)
    return `${quote(unusable)} may not be executed: \`chmod +x ${unusable}\` allows it`;
  const where = isPath ? `there is no ${quote(places[0] ?? name)}` : "it is in no directory of PATH";
  return `the program ${quote(name)} was not found: ${where}`;
}

async function kindOf(place: string): Promise<"other" | "program" | undefined> {
  try {
    if (!(await stat(place)).isFile()) return undefined;
    await access(place, constants.X_OK);
    return "program";
  } catch {
    return (await isFile(place)) ? "other" : undefined;
  }
}

async function isFile(place: string): Promise<boolean> {
  try {
    return (await stat(place)).isFile();
  } catch {
    return false;
  }
}
