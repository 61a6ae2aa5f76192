/** Several adapters race for the same issues while requests and responses arrive out of order. */
import { describe, expect, it } from "vitest";
import { seededRandom } from "../../../src/random.js";
import type { GitHubSource } from "../../../src/work-sources/github/github-source.js";
import type { FakeGitHub } from "./fake-github.js";
import { startScene, SUCCESS } from "./scene.js";
import type { Trouble } from "./trouble.js";

/** Claims issue after issue until none is left, and returns their numbers. Its list of issues is often outdated. */
async function work(
  adapter: GitHubSource,
  random: () => number,
  held: Set<string>,
): Promise<readonly string[]> {
  const done: string[] = [];
  for (;;) {
    const items = [...(await adapter.fetchAvailableWork({ limit: 20 }))];
    if (items.length === 0) return done;
    while (items.length > 0) {
      const [item] = items.splice(Math.floor(random() * Math.min(3, items.length)), 1);
      const id = item?.id ?? "";
      const { isClaimed } = await adapter.claimWork(id);
      if (!isClaimed) continue;
      if (held.has(id)) throw new Error(`${id} is held twice.`);
      held.add(id);
      if (!(await adapter.completeWork(id, SUCCESS))) throw new Error(`${id} was lost.`);
      held.delete(id);
      done.push(id);
    }
  }
}

/** Thousands of requests; a slow machine must not fail it. */
const SLOWEST_MS = 240_000;
const KINDS: readonly Trouble[] = ["cut-before", "cut-after", { status: 502 }];

/** At most two failures for each address, so that the third attempt succeeds. */
function someTrouble(random: () => number, share: number): FakeGitHub["trouble"] {
  const troubles = new Map<string, number>();
  return ({ method, path }) => {
    const address = `${method} ${path}`;
    const before = troubles.get(address) ?? 0;
    if (before === 2 || random() >= share) return undefined;
    troubles.set(address, before + 1);
    return KINDS[Math.floor(random() * KINDS.length)];
  };
}

describe.each<[number, number, string, number, number]>([
  [2, 200, "without failures", 0, 1],
  [5, 200, "without failures", 0, 2],
  [5, 60, "with failing connections and servers", 0.1, 3],
])("%i adapters that race for %i issues %s", (adapters, issues, _, troubles, seed) => {
  it(
    `complete each exactly once (seed ${seed})`,
    async () => {
      const random = seededRandom(seed);
      const { github, source } = await startScene({ random });
      github.trouble = someTrouble(random, troubles);
      for (let count = 0; count < issues; count++) github.addIssue();
      const held = new Set<string>();
      const workers = Array.from({ length: adapters }, () =>
        work(source({ claim_expiry: "7d" }), random, held),
      );
      const done = (await Promise.all(workers)).flat();
      expect(done).toHaveLength(issues);
      expect(new Set(done)).toHaveProperty("size", issues);
      expect([...github.issues.values()].filter(({ state }) => state === "open")).toEqual([]);
      expect(github.comments.filter(({ body }) => body.includes("rota:claim"))).toEqual([]);
      expect(github.comments).toHaveLength(issues);
    },
    SLOWEST_MS,
  );
});
