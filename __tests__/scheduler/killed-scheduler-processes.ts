/** Schedulers on files with many short jobs, of which one after the other is killed; and what their jobs noted of themselves. */
import { appendFileSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import type { Random } from "../../src/index.js";
import { FileStore } from "../../src/state/file/file-store.js";
import type { JobRecord } from "../../src/state/job-log/job-log.js";
import type { ScheduleState } from "../../src/state/schedule-state.js";
import { Children } from "../state/child.js";
import { stateDirectory } from "../state/temporary-directory.js";

export interface KilledSchedulersOptions {
  readonly kills: number;
  /** The mean time that a scheduler runs until it is killed. */
  readonly everyMs: number;
  readonly agents: number;
  readonly schedules: number;
  readonly capacity: number;
  readonly random: Random;
}

export interface KilledSchedulers {
  readonly starts: number;
  /** Runs that a kill ended. */
  readonly interrupted: number;
  /** Runs that went on with the slot of an interrupted run. */
  readonly retried: number;
  readonly breaches: readonly string[];
}

interface Line {
  readonly pid: number;
  readonly start?: string;
  readonly end?: string;
  readonly killed?: true;
  readonly stop?: true;
  readonly error?: string;
  readonly agent: string;
  readonly schedule: string;
  readonly slot: string | null;
  readonly attempt: number;
  readonly trigger: string;
}

type Start = Line & { readonly start: string };

const MOST_ATTEMPTS = 5;

export async function runKilledSchedulers(options: KilledSchedulersOptions): Promise<KilledSchedulers> {
  const { kills, everyMs, random, ...how } = options;
  const directory = stateDirectory();
  const stateDir = join(directory, "state");
  const witness = join(directory, "witness.jsonl");
  await using children = new Children();
  for (let kill = 0; kill <= kills; kill++) {
    const child = children.start("../../scheduler/processes/many-jobs.js", [
      stateDir,
      witness,
      JSON.stringify(how),
    ]);
    // Some are killed while they open the store.
    if (kill % 10 === 9) await setTimeout(random() * 400);
    else {
      await child.linesOf("running", 1);
      await setTimeout(everyMs * (0.5 + random()));
    }
    if (kill === kills) {
      child.say("stop");
      await child.linesOf("stopped", 1);
    }
    await child.kill();
    appendFileSync(witness, `${JSON.stringify({ pid: child.pid, killed: true })}\n`);
  }
  const lines = readFileSync(witness, "utf8")
    .split("\n")
    .filter(Boolean)
    .map((line) => JSON.parse(line) as Line);
  await using store = new FileStore({ stateDir, logger: { info() {}, warn() {}, error() {} } });
  const states = new Map<string, ScheduleState>();
  for (let agent = 0; agent < how.agents; agent++)
    for (const [name, state] of await store.list(`agent-${agent}`))
      states.set(`agent-${agent}/${name}`, state);
  const records = await store.jobs.list({ limit: Infinity });
  return judge(lines, records, states, how.capacity);
}

function judge(
  lines: readonly Line[],
  records: readonly JobRecord[],
  states: ReadonlyMap<string, ScheduleState>,
  capacity: number,
): KilledSchedulers {
  const breaches: string[] = [];
  const starts: Start[] = [];
  /** The runs of each agent, by job. */
  const running = new Map<string, Map<string, Start>>();
  /** The last run of each slot, and whether it ended. */
  const slots = new Map<string, { readonly start: Start; isEnded: boolean; isKilled: boolean }>();
  /** The slot whose run was killed last, by schedule. */
  const interrupted = new Map<string, Start>();
  const stopped = new Set<number>();
  let killedRuns = 0;
  let retried = 0;
  const remember = (start: Start): { readonly start: Start; isEnded: boolean; isKilled: boolean } => {
    const one = { start, isEnded: false, isKilled: false };
    slots.set(`${nameOf(start)}@${start.slot}`, one);
    return one;
  };
  for (const line of lines) {
    if (line.error !== undefined) breaches.push(`logged an error: ${line.error}`);
    if (line.stop) stopped.add(line.pid);
    if (line.killed) {
      for (const [agent, runs] of running)
        for (const [id, start] of runs) {
          if (start.pid !== line.pid) continue;
          killedRuns++;
          const slot = slots.get(`${nameOf(start)}@${start.slot}`);
          if (slot !== undefined) slot.isKilled = true;
          if (start.trigger !== "manual") interrupted.set(nameOf(start), start);
          running.get(agent)?.delete(id);
        }
      // Ends that were noted, and not yet written.
      for (const slot of slots.values()) if (slot.start.pid === line.pid) slot.isKilled = true;
    }
    if (line.end !== undefined)
      for (const runs of running.values()) {
        const start = runs.get(line.end);
        const slot = start && slots.get(`${nameOf(start)}@${start.slot}`);
        if (slot !== undefined) slot.isEnded = true;
        runs.delete(line.end);
      }
    if (!isStart(line)) continue;
    starts.push(line);
    const name = nameOf(line);
    if (stopped.has(line.pid)) breaches.push(`${line.start} started after stop`);
    const runs = running.get(line.agent) ?? new Map<string, Start>();
    running.set(line.agent, runs);
    for (const other of runs.values())
      if (nameOf(other) === name) breaches.push(`${line.start} overlaps ${other.start} of ${name}`);
    runs.set(line.start, line);
    if (runs.size > capacity) breaches.push(`${line.agent} runs ${runs.size} jobs, more than ${capacity}`);
    const before = slots.get(`${name}@${line.slot}`);
    if (before !== undefined) {
      if (!before.isKilled) breaches.push(`${name} ran ${line.slot} twice, without a kill`);
      if (line.trigger !== "manual" && !(line.attempt > before.start.attempt))
        breaches.push(`${name} ran ${line.slot} again as attempt ${line.attempt}`);
      retried++;
    }
    remember(line);
    const due = interrupted.get(name);
    if (due !== undefined && line.trigger !== "manual") {
      interrupted.delete(name);
      if (due.slot !== line.slot && due.attempt < MOST_ATTEMPTS - 1)
        breaches.push(`${name} lost ${due.slot} (attempt ${due.attempt}): ${line.slot} ran next`);
    }
  }
  for (const [name, due] of interrupted) {
    const slot = states.get(name)?.retry?.slot;
    if (slot !== due.slot && due.attempt < MOST_ATTEMPTS - 1)
      breaches.push(`${name} lost ${due.slot}: ${slot ?? "nothing"} waits`);
  }
  const recorded = new Map(records.map((record) => [record.id, record]));
  for (const { start, slot, attempt } of starts) {
    const record = recorded.get(start);
    if (record === undefined) breaches.push(`${start} has no record`);
    else if (record.slot !== slot || record.attempt !== attempt)
      breaches.push(`the record of ${start} is of ${record.slot}, attempt ${record.attempt}`);
  }
  for (const { id, status } of records) if (status === "running") breaches.push(`${id} is still open`);
  breaches.push(...lostCronSlots(starts, states));
  return { starts: starts.length, interrupted: killedRuns, retried, breaches };
}

/** Every second from the first slot of a cron schedule is a run, or counted as missed or given up, or still to come. */
function lostCronSlots(starts: readonly Start[], states: ReadonlyMap<string, ScheduleState>): string[] {
  const ran = new Map<string, Set<string>>();
  for (const start of starts) {
    if (start.trigger === "manual" || start.slot === null) continue;
    const slots = ran.get(nameOf(start)) ?? new Set();
    ran.set(nameOf(start), slots.add(start.slot));
  }
  return Array.from(ran).flatMap(([name, slots]) => {
    const state = states.get(name);
    if (Number(name.split("-").at(-1)) % 3 !== 0 || state?.next_run_at == null) return [];
    const first = Math.min(...Array.from(slots, (slot) => Date.parse(slot)));
    const until = Date.parse(state.retry == null ? state.next_run_at : state.retry.slot);
    const expected = (until - first) / 1_000;
    const counted = slots.size + (state.missed_count ?? 0) + (state.abandoned_count ?? 0);
    // A slot may have been claimed and given up without having begun.
    return counted < expected ? [`${name}: ${counted} of ${expected} slots are accounted for`] : [];
  });
}

function isStart(line: Line): line is Start {
  return line.start !== undefined;
}

function nameOf({ agent, schedule }: Line): string {
  return `${agent}/${schedule}`;
}
