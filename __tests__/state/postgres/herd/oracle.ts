/**
 * What is broken in what nodes have left behind? Asked of what their jobs have witnessed, of the states as they were seen
 * meanwhile, and of the job records. Pure, and never wrong about a slow machine: what was not seen accuses nobody.
 */
import type { JobRecord } from "../../../../src/index.js";
import type { SeenState } from "./state-watch.js";
import type { Beat, Run } from "./witness.js";

/** A node that was killed or stopped: what it ran then, nobody had to wait for. */
export interface Outage {
  readonly node: string;
  /** Before it, by the database's clock. */
  readonly beforeMs: number;
  /** When it could do nothing any more, by the database's clock. */
  readonly afterMs: number;
}

export interface History {
  readonly runs: readonly Run[];
  readonly seen: readonly SeenState[];
  /** When states were looked at. */
  readonly looks: readonly number[];
  readonly records: readonly JobRecord[];
  readonly outages: readonly Outage[];
  /** How many jobs an agent may have. */
  readonly capacities: Readonly<Record<string, number>>;
  /** Slots from here on need not have ended. */
  readonly untilMs: number;
}

/** What is broken, each in a sentence. Empty when all is well. */
export function findBreaches(history: History): string[] {
  return [
    ...slotsRunTwice(history),
    ...capacityExceeded(history),
    ...slotsLost(history),
    ...claimsTaken(history),
    ...recordsLeftRunning(history),
    ...resultsLost(history),
  ];
}

const nameOf = ({ agent, schedule }: { agent: string; schedule: string | null }): string =>
  `${agent}/${schedule}`;

/** A slot that was cut off runs again as its next attempt: no attempt at a slot is ever run twice. */
function slotsRunTwice({ runs }: History): string[] {
  const first = new Map<string, Run>();
  const breaches: string[] = [];
  for (const run of runs) {
    const slot = `attempt ${run.attempt} of ${nameOf(run)} at ${run.slot}`;
    const other = first.get(slot);
    if (other === undefined) first.set(slot, run);
    else breaches.push(`${slot} was run twice: ${other.jobId} on ${other.node}, ${run.jobId} on ${run.node}`);
  }
  return breaches;
}

/** Runs whose process was gone before their end: how many of their slots ran again as the next attempt, or wait for it. */
export function cutRuns({ runs, seen }: Pick<History, "runs" | "seen">): CutRuns {
  const attempts = new Set(runs.map((run) => `${nameOf(run)} ${run.slot} ${run.attempt}`));
  for (const [name, states] of grouped(seen, nameOf)) {
    const retry = states.at(-1)?.state.retry;
    if (retry != null) attempts.add(`${name} ${retry.slot} ${retry.attempt}`);
  }
  const cut = runs.filter(({ endedMs }) => endedMs === undefined);
  const continued = cut.filter((run) => attempts.has(`${nameOf(run)} ${run.slot} ${run.attempt + 1}`));
  return { cut: cut.length, continued: continued.length };
}

export interface CutRuns {
  readonly cut: number;
  readonly continued: number;
}

/** When a job surely ran under a claim of its own: what was told to end, or its node cut off, counts only until then. */
function surelyRan(run: Run, outages: readonly Outage[]): { from: number; to: number } | undefined {
  const own = outages.filter(({ node, afterMs }) => node === run.node && afterMs >= run.startedMs);
  const firstMs = Math.max(run.startedMs, Math.min(...own.map(({ beforeMs }) => beforeMs)));
  const cut = firstMs < (run.endedMs ?? Infinity) ? firstMs : undefined;
  if (run.wasTold && cut === undefined) return undefined;
  const to = cut ?? run.endedMs;
  return to === undefined ? undefined : { from: run.startedMs, to };
}

function capacityExceeded({ runs, outages, capacities }: History): string[] {
  const breaches: string[] = [];
  for (const [agent, capacity] of Object.entries(capacities)) {
    const intervals = runs
      .filter((run) => run.agent === agent)
      .flatMap((run) => {
        const interval = surelyRan(run, outages);
        return interval === undefined ? [] : [{ ...interval, run }];
      });
    for (const { from, run } of intervals) {
      const beside = intervals.filter((other) => other.from <= from && from < other.to);
      if (beside.length > capacity)
        breaches.push(
          `${agent} ran ${beside.length} jobs at ${new Date(from).toISOString()}: ${beside.map((other) => `${nameOf(other.run)} ${other.run.jobId} on ${other.run.node}`).join(", ")}`,
        );
      const same = beside.filter((other) => nameOf(other.run) === nameOf(run));
      if (same.length > 1)
        breaches.push(`${nameOf(run)} ran ${same.length} jobs at ${new Date(from).toISOString()}`);
    }
  }
  return breaches;
}

/** Slots that were planned and came due, and neither came to an end, nor were counted as missed or given up, nor still run. */
function slotsLost({ runs, seen, records, untilMs }: History): string[] {
  const breaches: string[] = [];
  for (const [name, states] of grouped(seen, nameOf)) {
    // One that did not come to its end has to be counted as cut off.
    const ran = new Set(
      runs.filter((run) => nameOf(run) === name && run.endedMs !== undefined).map(({ slot }) => slot),
    );
    for (const { agent, schedule, slot, status } of records)
      if (
        slot !== null &&
        nameOf({ agent, schedule }) === name &&
        status !== "running" &&
        status !== "interrupted"
      )
        ran.add(slot);
    const final = states.at(-1)?.state;
    const isPending = (slot: string): boolean => final?.retry?.slot === slot || final?.claim?.slot === slot;
    const lost = dueSlots(states, untilMs).filter((slot) => !ran.has(slot) && !isPending(slot));
    const counts = states.map(({ state }) => (state.missed_count ?? 0) + (state.abandoned_count ?? 0));
    const missed = Math.max(...counts) - Math.min(...counts);
    if (lost.length > missed)
      breaches.push(
        `${name} lost ${lost.length} slots, and counted ${missed} as missed: ${lost.join(", ")}; ${told(states, lost)}`,
      );
    const last = states.at(-1)?.state;
    if (last?.next_run_at == null && last?.claim == null && last?.status !== "disabled")
      breaches.push(`${name} has no next run, and nobody runs it`);
  }
  return breaches;
}

/** What was seen of a schedule around the first of its lost slots, for who has to find out why. */
function told(states: readonly SeenState[], [slot = ""]: readonly string[]): string {
  const slotMs = Date.parse(slot);
  const near = states.filter(({ firstMs, lastMs }) => lastMs > slotMs - 1_500 && firstMs < slotMs + 4_000);
  return near
    .map(({ state, firstMs, lastMs }) => {
      const { claim, next_run_at, next_run_source, retry, interrupted_count, missed_count, failure_count } =
        state;
      const facts = {
        job: claim?.job_id,
        slot: claim?.slot,
        next_run_at,
        next_run_source,
        retry,
        interrupted_count,
      };
      return `${new Date(firstMs).toISOString()} to ${new Date(lastMs).toISOString()} ${JSON.stringify({ ...facts, missed_count, failure_count, last: state.last_run_at })}`;
    })
    .join("; ");
}

/** In order, each once: what was planned when its time had come, or was claimed. */
function dueSlots(states: readonly SeenState[], untilMs: number): string[] {
  const slots = new Set<string>();
  for (const { state, lastMs } of states) {
    if (state.claim != null) slots.add(state.claim.slot);
    const dueMs = Date.parse(state.next_run_at ?? "");
    const slot = state.retry?.slot ?? state.next_run_at;
    // One that was seen only before its time may have been planned anew.
    if (slot != null && dueMs <= lastMs) slots.add(slot);
  }
  return [...slots]
    .filter((slot) => Date.parse(slot) < untilMs)
    .toSorted((a, b) => Date.parse(a) - Date.parse(b));
}

/** A claim that was not there while its job ran, on a node that nothing had happened to: another has ended it. */
function claimsTaken({ runs, seen, looks, outages }: History): string[] {
  const breaches: string[] = [];
  const states = grouped(seen, nameOf);
  for (const run of runs) {
    const interval = surelyRan(run, outages);
    if (interval === undefined || outages.some(({ node }) => node === run.node)) continue;
    // A look has ended when the next begins: these saw what was there while the job ran.
    const within = looks.filter(
      (at, index) => at > interval.from && (looks[index + 1] ?? Infinity) < interval.to,
    );
    const [first = Infinity, last = -Infinity] = [within[0], within.at(-1)];
    const other = (states.get(nameOf(run)) ?? []).find(
      ({ firstMs, lastMs, state }) =>
        state.claim?.job_id !== run.jobId &&
        firstMs <= last &&
        lastMs >= first &&
        within.some((at) => at >= firstMs && at <= lastMs),
    );
    if (other !== undefined)
      breaches.push(
        `${run.jobId} of ${nameOf(run)} ran on ${run.node} without its claim: ${JSON.stringify(other.state)}`,
      );
  }
  return breaches;
}

function recordsLeftRunning({ records, seen }: History): string[] {
  const held = new Set<string>();
  for (const [, states] of grouped(seen, nameOf)) held.add(states.at(-1)?.state.claim?.job_id ?? "");
  return records
    .filter(({ status, id }) => status === "running" && !held.has(id))
    .map((record) => `${record.id} of ${nameOf(record)} is recorded as running, and its claim is gone`);
}

/** A job that came to its end on a node that nothing had happened to is recorded as completed. */
function resultsLost({ runs, records, outages }: History): string[] {
  const byId = new Map(records.map((record) => [record.id, record]));
  const cut = new Set(outages.map(({ node }) => node));
  return runs
    .filter((run) => run.endedMs !== undefined && !run.wasTold && !cut.has(run.node))
    .filter(({ jobId }) => byId.get(jobId)?.status !== "completed")
    .map(
      (run) =>
        `${run.jobId} of ${nameOf(run)} did its work on ${run.node}, and is recorded as ${byId.get(run.jobId)?.status}`,
    );
}

/**
 * How long claims outlived the node that held them: from when it could do nothing any more to the last look that still
 * saw them. What the survivor stood still that stood still least is taken off: alone it would have been enough. Before
 * the lease has ended there is nothing to do, and nothing to be late with.
 */
export function takeoverMs(
  { seen, looks, runs }: Pick<History, "seen" | "looks" | "runs">,
  outage: Outage,
  beats: readonly Beat[],
  leaseMs: number,
): number[] {
  const others = new Set(runs.filter(({ node }) => node !== outage.node).map(({ jobId }) => jobId));
  const look = looks.find((at) => at >= outage.afterMs) ?? Infinity;
  const held = new Map<string, number>();
  for (const { state, firstMs, lastMs } of seen) {
    const jobId = state.claim?.job_id;
    if (jobId === undefined || others.has(jobId)) continue;
    if (held.has(jobId) || (firstMs <= look && lastMs >= look)) held.set(jobId, lastMs);
  }
  return [...held.values()].map(
    (lastMs) =>
      lastMs - outage.afterMs - leastStall(beats, { ...outage, afterMs: outage.afterMs + leaseMs }, lastMs),
  );
}

/** How long claims were seen under which no job ever ran: their slots had to wait for somebody to give them back. */
export function idleClaimsMs({ seen, runs }: Pick<History, "seen" | "runs">): number[] {
  const run = new Set(runs.map(({ jobId }) => jobId));
  const held = new Map<string, { firstMs: number; lastMs: number }>();
  for (const { state, firstMs, lastMs } of seen) {
    const jobId = state.claim?.job_id;
    if (jobId === undefined || run.has(jobId)) continue;
    held.set(jobId, { firstMs: held.get(jobId)?.firstMs ?? firstMs, lastMs });
  }
  return Array.from(held.values(), ({ firstMs, lastMs }) => lastMs - firstMs);
}

/** How long a node rests between two signs of life. */
const BEAT_MS = 50;

/** When nodes showed no sign of life for long enough to lose their claims: their machine stood still, or the database. */
export function standstills(beats: readonly Beat[], leaseMs: number): Outage[] {
  const outages: Outage[] = [];
  for (const [node, own] of grouped(beats, (beat) => beat.node))
    for (const [index, { atMs }] of own.entries()) {
      const beforeMs = own[index - 1]?.atMs ?? atMs;
      if (atMs - beforeMs > leaseMs / 4) outages.push({ node, beforeMs, afterMs: atMs });
    }
  return outages;
}

function leastStall(beats: readonly Beat[], outage: Outage, untilMs: number): number {
  const survivors = [...grouped(beats, ({ node }) => node)]
    .filter(([node]) => node !== outage.node)
    .map(([, own]) => own.map(({ atMs }) => atMs))
    .filter(
      (own) => (own[0] ?? Infinity) <= Math.min(outage.afterMs, untilMs) && (own.at(-1) ?? 0) >= untilMs,
    );
  if (survivors.length === 0) return Infinity;
  return Math.min(...survivors.map((own) => stallOf(own, outage.afterMs, untilMs)));
}

/** All that its pauses between two times were longer than they should have been. */
function stallOf(beats: readonly number[], fromMs: number, untilMs: number): number {
  let stall = 0;
  for (const [index, at] of beats.entries()) {
    const pause = Math.min(at, untilMs) - Math.max(beats[index - 1] ?? at, fromMs);
    if (pause > 2 * BEAT_MS) stall += pause - BEAT_MS;
  }
  return stall;
}

function grouped<Item>(items: readonly Item[], nameOfItem: (item: Item) => string): Map<string, Item[]> {
  const groups = new Map<string, Item[]>();
  for (const item of items) {
    const name = nameOfItem(item);
    const group = groups.get(name);
    if (group === undefined) groups.set(name, [item]);
    else group.push(item);
  }
  return groups;
}
