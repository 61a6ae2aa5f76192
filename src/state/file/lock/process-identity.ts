/**
 * Which process wrote this, and is it still there? A pid alone does not identify a process: pids are reused, and mean
 * nothing outside their machine or container.
 */
import { createHash } from "node:crypto";
import { readFileSync, readlinkSync } from "node:fs";
import { hostname } from "node:os";
import { errorCode } from "../disk.js";

export interface ProcessIdentity {
  readonly pid: number;
  /** When it started, in a unit only this machine knows; "0" where the system does not tell. */
  readonly started: string;
  /** The machine since its last boot, and the pid namespace: where `pid` has a meaning. */
  readonly machine: string;
}

let own: ProcessIdentity | undefined;

/** The process that runs this code. */
export function thisProcess(): ProcessIdentity {
  own ??= { pid: process.pid, started: statOf(process.pid)?.started ?? "0", machine: machineId() };
  return own;
}

/** "unknown" for a process of a different machine: only its silence can tell. */
export function lifeOf({ pid, started, machine }: ProcessIdentity): "alive" | "dead" | "unknown" {
  if (machine !== thisProcess().machine) return "unknown";
  try {
    process.kill(pid, 0);
  } catch (error) {
    if (errorCode(error) === "ESRCH") return "dead";
  }
  const now = statOf(pid);
  if (now === undefined || now.started === undefined) return "alive";
  // A killed process stays in the table as a zombie until its parent asks for it.
  if (now.state === "Z" || now.state === "X") return "dead";
  return started === "0" || now.started === started ? "alive" : "dead";
}

/**
 * Whether it is certain that this very process runs here. `false` for a stopped process, and where the system does not
 * tell when a process started: the pid may belong to a newer process.
 */
export function isSurelyRunning(identity: ProcessIdentity): boolean {
  if (lifeOf(identity) !== "alive" || identity.started === "0") return false;
  const now = statOf(identity.pid);
  return now?.started === identity.started && now.state?.toUpperCase() !== "T";
}

const NAME = /^(\d+)-(\d+)-([0-9a-f]{12})-[0-9a-f]{24}$/;

/** How the names of this process's files begin. */
export function processSignature(): string {
  const { pid, started, machine } = thisProcess();
  return `${pid}-${started}-${machine}`;
}

/** A unique file name that says which process owns the file. */
export function signedName(token: string): string {
  return `${processSignature()}-${token}`;
}

/** Whose a file is, by its name; `undefined` for a name that is not signed. */
export function signerOf(name: string): ProcessIdentity | undefined {
  const [, pid, started, machine] = NAME.exec(name) ?? [];
  if (pid === undefined || started === undefined || machine === undefined) return undefined;
  return { pid: Number(pid), started, machine };
}

interface ProcessStat {
  readonly state: string | undefined;
  /** Clock ticks between boot and the start of the process. */
  readonly started: string | undefined;
}

/** `undefined` where the process or /proc does not exist. */
function statOf(pid: number): ProcessStat | undefined {
  const stat = readText(`/proc/${pid}/stat`);
  if (stat === undefined) return undefined;
  // The command's name is in parentheses and may hold anything; the state comes next, the start 19 fields later.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return { state: fields[0], started: fields[19] };
}

function machineId(): string {
  const boot = readText("/proc/sys/kernel/random/boot_id") ?? "";
  return createHash("sha256").update(`${hostname()}\n${boot}\n${pidNamespace()}`).digest("hex").slice(0, 12);
}

function pidNamespace(): string {
  try {
    return readlinkSync("/proc/self/ns/pid");
  } catch {
    return "";
  }
}

function readText(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return undefined;
  }
}
