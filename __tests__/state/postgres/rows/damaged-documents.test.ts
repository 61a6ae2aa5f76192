/** Others may write to the tables too: a text that is no document costs its own schedule its state, and nobody else theirs. */
import { describe, expect, it } from "vitest";
import { endAll, key, names, planAll, scene, START } from "../scene.js";
import { sharedPool } from "../schema.js";

const DAMAGED = ['{"status": "idle"', "", "[]", "null", '"idle"', '{"a": 1}, {"b": 2}', "{}\n{}"];

describe.each(DAMAGED)("a state that was damaged into %j", (text) => {
  it("is reset, and harms no other", async () => {
    const { node, schema } = scene();
    const store = await node();
    await planAll([store], ["a/x", "b/x", "c/x"]);
    await store.update(key("c/x"), { last_error: "kept" });
    await sharedPool().query(
      `update "${schema}".states s set state = $1 from "${schema}".schedules n where n.id = s.id and n.agent = 'b'`,
      [text],
    );
    expect(await store.read(key("b/x"))).toMatchObject({ status: "idle", next_run_at: null });
    const { claims } = await store.claimDue(10);
    expect(names(claims)).toEqual(["a/x", "b/x", "c/x"]);
    expect(claims.at(2)).toMatchObject({ state: { last_error: "kept" } });
    const ends = claims.map((claim) => ({ claim, change: { next_run_at: START } }));
    expect(await endAll(store, ends)).toEqual([true, true, true]);
    expect(names((await store.claimDue(10)).claims)).toEqual(["a/x", "b/x", "c/x"]);
  });
});

it("is refused as a state what would be taken for two", async () => {
  const { node, schema } = scene();
  await planAll([await node()], ["a/x"]);
  const writing = sharedPool().query(`update "${schema}".states set state = '{}' || chr(30) || '{}'`);
  await expect(writing).rejects.toThrow("states_state_check");
});

describe("the record of a job that was damaged", () => {
  const start = { agent: "a", schedule: "x", trigger: "interval", prompt: "p", started_at: START } as const;

  it("says what is left of it, where that is a job still", async () => {
    const { node, schema } = scene();
    const store = await node();
    const { id } = await store.jobs.start(start);
    await sharedPool().query(`update "${schema}".jobs set start = '{"prompt'`);
    expect(await store.jobs.get(id)).toMatchObject({ id, agent: "a", trigger: "interval", prompt: null });
  });

  it("is left out when it cannot be parsed, and its neighbours are read", async () => {
    const { node, schema } = scene();
    const store = await node();
    const { id } = await store.jobs.start(start);
    const { id: other } = await store.jobs.start(start);
    await sharedPool().query(`update "${schema}".jobs set trigger = 'whim' where id = $1`, [id]);
    expect(await store.jobs.get(id)).toBeUndefined();
    expect((await store.jobs.list()).map((job) => job.id)).toEqual([other]);
  });
});
