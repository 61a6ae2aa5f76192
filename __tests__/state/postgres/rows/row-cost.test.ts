/** What a claim and its end cost the database: nothing that grows with how many schedules there are. */
import { describe, expect, it } from "vitest";
import type { PostgresStore } from "../../../../src/state/postgres/index.js";
import { key, planAll, scene } from "../scene.js";
import { sharedPool } from "../schema.js";

const COUNT = 400;
const NAMES = Array.from({ length: COUNT }, (_, i) => `agent-${i}/x`);

/** On which page of its table the state of each schedule is. */
async function pagesOf(schema: string): Promise<ReadonlyMap<unknown, unknown>> {
  const { rows } = await sharedPool().query(
    `select id, (ctid::text::point)[0] as page from "${schema}".states order by id`,
  );
  return new Map(rows.map(({ id, page }) => [id, page]));
}

describe("the row of a schedule", () => {
  it("stays on its page when it is planned and claimed, so that no index hears of it", async () => {
    const { node, schema } = scene();
    const store: PostgresStore = await node();
    await store.define({ schedules: NAMES.map((name) => key(name)) });
    const defined = await pagesOf(schema);
    await planAll([store], NAMES);
    expect(await pagesOf(schema)).toEqual(defined);
    // Every third, so that nothing has to be cleared away before: whether it can be is up to others on the server.
    await store.updateAll(
      NAMES.filter((_, i) => i % 3 > 0).map((name) => key(name)),
      () => ({ next_run_at: null }),
    );
    expect((await store.claimDue(COUNT)).claims).toHaveLength(Math.ceil(COUNT / 3));
    expect(await pagesOf(schema)).toEqual(defined);
  });

  it("is found on one way through the index, with all that are written together and in their order", async () => {
    const { node, schema } = scene();
    await planAll([await node()], NAMES);
    await sharedPool().query(`analyze "${schema}".states`);
    const client = await sharedPool().connect();
    const plans: string[] = [];
    const listen = ({ message = "" }: { message?: string | undefined }): number => plans.push(message);
    try {
      client.on("notice", listen);
      await client.query(`begin; load 'auto_explain'; set local auto_explain.log_min_duration = 0;
        set local auto_explain.log_nested_statements = on; set local client_min_messages = log`);
      await client.query(
        `select "${schema}".write_states('{1,2}', '{0,0}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', 'receipt')`,
      );
    } finally {
      await client.query("rollback");
      client.off("notice", listen);
      client.release(true);
    }
    const plan = plans.find((text) => text.includes("Update on states"));
    expect(plan).toMatch(
      /Index Scan using states_pkey on states s [^\n]*\n\s+Index Cond: \(id = ANY \(\$\d+\)\)/,
    );
    // And in their order: others who lock some of them would else wait for each other.
    expect(plan).toMatch(/Update on states[^\n]*\n\s+->  Merge Join/);
  });
});
