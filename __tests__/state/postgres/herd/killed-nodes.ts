/** Three nodes under load, of which one is killed, stopped or restarted every so often. */
import { setTimeout } from "node:timers/promises";
import { seededRandom } from "../../../../src/random.js";
import { busyAgents, Herd } from "./herd.js";
import { type CutRuns, cutRuns, findBreaches } from "./oracle.js";

export interface KilledNodes extends CutRuns {
  readonly breaches: readonly string[];
  /** How long the claims of those that were killed outlived them. */
  readonly takeovers: readonly number[];
  /** A lease and two checks. */
  readonly allowedMs: number;
  readonly runs: number;
}

/** `stop`: SIGSTOP, for up to two leases; `restart`: the node leaves, and a new one comes at once. */
export type Trouble = "kill" | "stop" | "restart";

export async function runKilledNodes({
  kills,
  everyMs,
  agents,
  leaseMs = 2_000,
  seed = 1,
  troubles = ["kill"],
  jobMs = [100, 700],
}: {
  kills: number;
  everyMs: number;
  agents: number;
  leaseMs?: number;
  seed?: number;
  troubles?: readonly Trouble[];
  jobMs?: readonly [number, number];
}): Promise<KilledNodes> {
  const random = seededRandom(seed);
  await using herd = await Herd.make({ agents: busyAgents(agents), jobMs, leaseMs });
  await Promise.all([herd.add(), herd.add(), herd.add()]);
  for (let killed = 0; killed < kills; killed++) {
    await setTimeout(everyMs * (0.5 + random()));
    const victim = herd.nodes[Math.floor(random() * herd.nodes.length)];
    if (victim === undefined) break;
    const trouble = troubles[Math.floor(random() * troubles.length)] ?? "kill";
    if (trouble === "stop") {
      await herd.stopFor(victim, 2 * leaseMs * random());
      continue;
    }
    if (trouble === "restart") {
      await Promise.all([herd.leave([victim]), herd.add()]);
      continue;
    }
    // In the midst of its work.
    await herd.until(() => herd.isBusy(victim));
    await herd.kill(victim);
    await setTimeout((everyMs / 2) * random());
    await herd.add();
  }
  // Until the last has been taken over.
  const allowedMs = herd.leaseMs + 2 * herd.checkInterval;
  await setTimeout(allowedMs + herd.checkInterval);
  const untilMs = await herd.witness.now();
  await setTimeout(1_000);
  await herd.leave();
  const history = await herd.history(untilMs);
  const [breaches, takeovers] = [findBreaches(history), await herd.takeovers()];
  return { breaches, takeovers, allowedMs, runs: history.runs.length, ...cutRuns(history) };
}
