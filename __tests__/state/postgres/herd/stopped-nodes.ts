/**
 * A node that stops at an exact step, another that takes its place while it stands still, and what becomes of both when
 * it goes on.
 */
import type { ScheduleState } from "../../../../src/index.js";
import { Herd, type StopAt } from "./herd.js";
import type { Run } from "./witness.js";

export interface Step extends StopAt {
  /** Whether its job goes on until it is told to end. */
  readonly isLong: boolean;
  /** Whether it stops only when it leaves. */
  readonly isLast?: boolean;
}

export interface StoppedNode {
  /** The state while the other runs its job: before the one that stood still goes on, and when it has gone on for long. */
  readonly before: ScheduleState;
  readonly after: ScheduleState;
  /** Jobs of the one that stood still that it had begun before, or began while the other's ran. */
  readonly ownRuns: readonly Run[];
  /** Those of them that were never told to end. */
  readonly untold: readonly Run[];
  /** How those are recorded. */
  readonly records: readonly (string | undefined)[];
  readonly breaches: readonly string[];
}

// Longer than a machine stands still that has much to do.
const LEASE_MS = 4_000;
const CHECK_MS = 200;
const AGENT = { name: "a", schedules: { x: { type: "interval", interval: "1s" } } } as const;

const both = (step: string, isLong: boolean, more: { isLast?: boolean; nth?: number } = {}): Step[] => [
  { step, when: "before", isLong, ...more },
  { step, when: "after", isLong, ...more },
];

export const STEPS: readonly Step[] = [
  ...both("open", true),
  ...both("define", true),
  ...both("updateAll", true),
  ...both("claimDue", true),
  ...both("startJobs", true),
  { step: "job", when: "before", isLong: true },
  ...both("renew", true),
  ...both("heartbeat", true),
  ...both("heartbeat", true, { nth: 2 }),
  ...both("finishJobs", false),
  ...both("close", false, { isLast: true }),
];

export async function runStoppedNode({ isLong, isLast = false, ...stopAt }: Step): Promise<StoppedNode> {
  await using herd = await Herd.make({ agents: [AGENT], leaseMs: LEASE_MS, checkInterval: CHECK_MS });
  const stopped = herd.start({ stopAt, jobMs: isLong ? "long" : [50, 50] });
  if (isLast) {
    await herd.untilRuns(1);
    stopped.child.say("leave");
  }
  const { afterMs } = await herd.stopped(stopped);
  const other = await herd.add({ jobMs: "long" });
  await herd.untilRuns(1, 0, (node) => node === other.name);
  await herd.until(async () => (await herd.witness.now()) > afterMs + LEASE_MS + 2 * CHECK_MS);
  await using store = herd.store();
  const before = await store.read({ agent: "a", schedule: "x" });
  stopped.child.signal("SIGCONT");
  const beganMs = await herd.witness.now();
  // As long as ten of its checks take, however slow they are: it says so itself, or it has ended.
  await herd.until(async () => isLast || (await herd.livedMs(stopped, beganMs)) > 10 * CHECK_MS);
  if (isLast) await stopped.child.end();
  const after = await store.read({ agent: "a", schedule: "x" });
  const isOwn = ({ node }: Run): boolean => node === stopped.name;
  const ownRuns = (await herd.witness.runs()).filter(isOwn);
  for (const { child } of [stopped, other]) child.say("finish");
  const finishedMs = await herd.witness.now();
  await herd.untilRuns(2, finishedMs);
  const untilMs = await herd.witness.now();
  await herd.leave(isLast ? [other] : undefined);
  const records = await Promise.all(ownRuns.map(async ({ jobId }) => (await store.jobs.get(jobId))?.status));
  // As it is when all has been written.
  const whole = new Map((await herd.witness.runs()).map((run) => [run.jobId, run]));
  const ended = ownRuns.map((run) => whole.get(run.jobId) ?? run);
  return {
    before,
    after,
    ownRuns: ended,
    untold: ended.filter(({ wasTold }) => isLong && !wasTold),
    records,
    breaches: await herd.breaches(untilMs),
  };
}

/** A node that is killed at an exact step, and another that takes its place: what is broken then. */
export async function runNodeKilledAt({
  isLong,
  isLast = false,
  ...stopAt
}: Step): Promise<readonly string[]> {
  await using herd = await Herd.make({ agents: [AGENT], leaseMs: LEASE_MS, checkInterval: CHECK_MS });
  const killed = herd.start({ stopAt: { ...stopAt, signal: "SIGKILL" }, jobMs: isLong ? "long" : [50, 50] });
  if (isLast) {
    await herd.untilRuns(1);
    killed.child.say("leave");
  }
  const { afterMs } = await herd.stopped(killed);
  const other = await herd.add({ jobMs: [50, 50] });
  await herd.untilRuns(2, afterMs + LEASE_MS + 2 * CHECK_MS, (node) => node === other.name);
  const untilMs = await herd.witness.now();
  await herd.leave();
  return herd.breaches(untilMs);
}
