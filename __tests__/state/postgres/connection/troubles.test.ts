import { setTimeout } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { Pool } from "pg";
import { describe, expect, inject, it } from "vitest";
import type { PostgresPool, QueryAnswer } from "../../../../src/state/postgres/index.js";
import { Heartbeat } from "../../../../src/state/postgres/node/heartbeat.js";
import type { Claim } from "../../../../src/index.js";
import { Signal } from "../../../scheduler/gated-store.js";
import { Children, until } from "../../child.js";
import { completeClaim, key, names, only, planAll, scene } from "../scene.js";
import { sharedPool } from "../schema.js";

type Query = Parameters<PostgresPool["query"]>[0];

/** A pool whose connection ends after a statement was carried out, and before its answer came. */
interface LosingPool extends PostgresPool {
  isLosing: boolean;
  /** Whether it ends while the statement is still under way. */
  losesAtOnce: boolean;
  /** The statement whose answer was lost. */
  lost: Promise<unknown>;
  isAwayFor: (text: string) => boolean;
}

function losing(isLost: (text: string) => boolean): LosingPool {
  const pool: LosingPool = {
    isLosing: false,
    losesAtOnce: false,
    lost: Promise.resolve(),
    isAwayFor: () => false,
    connect: () => sharedPool().connect(),
    on: () => {},
    end: async () => {},
    async query(query: Query): Promise<QueryAnswer> {
      if (pool.isAwayFor(query.text)) throw new Error("connect ECONNREFUSED");
      const answering = sharedPool().query(query);
      if (!pool.isLosing || !isLost(query.text)) return answering;
      pool.isLosing = false;
      pool.lost = answering;
      if (!pool.losesAtOnce) await answering;
      throw new Error("Connection terminated unexpectedly");
    },
  };
  return pool;
}

/** How many statements wait for a lock in order to claim. */
async function waitingFor(schema: string): Promise<number> {
  const { rows } = await sharedPool().query(
    "select from pg_stat_activity where wait_event_type = 'Lock' and position($1 in query) > 0",
    [`"${schema}".claim_due`],
  );
  return rows.length;
}

describe("a reply that is lost after its statement was carried out", () => {
  it("does not make the end of a claim untrue", async () => {
    const { node } = scene();
    const pool = losing((text) => text.includes("write_states"));
    const one = await node({ pool });
    await planAll([one], ["a/x"]);
    const claim = only((await one.claimDue(10)).claims);
    pool.isLosing = true;
    expect(
      await completeClaim(one, claim, ({ failure_count }) => ({ failure_count: (failure_count ?? 0) + 1 })),
    ).toBe(true);
    expect(await one.read(key("a/x"))).toMatchObject({ status: "idle", failure_count: 1 });
  });

  it("does not make a change twice", async () => {
    const { node } = scene();
    const pool = losing((text) => text.includes("write_states"));
    const one = await node({ pool });
    await one.update(key("a/x"), { failure_count: 1 });
    pool.isLosing = true;
    await one.update(key("a/x"), ({ failure_count }) => ({ failure_count: (failure_count ?? 0) + 1 }));
    expect(await one.read(key("a/x"))).toMatchObject({ failure_count: 2 });
  });

  it("does not make a first state twice", async () => {
    const { node } = scene();
    const pool = losing((text) => text.includes("write_states"));
    const one = await node({ pool });
    pool.isLosing = true;
    await one.update(key("a/x"), ({ failure_count }) => ({ failure_count: (failure_count ?? 0) + 1 }));
    expect(await one.read(key("a/x"))).toMatchObject({ failure_count: 1 });
  });

  it("does not make the end of a claim untrue either when what became of it can only be seen later", async () => {
    const { node } = scene();
    const pool = losing((text) => text.includes("write_states"));
    const one = await node({ pool });
    await planAll([one], ["a/x"]);
    const claim = only((await one.claimDue(10)).claims);
    const change = { last_error: "once" };
    pool.isLosing = true;
    pool.isAwayFor = (text) => text.includes("receipts");
    await expect(completeClaim(one, claim, change)).rejects.toMatchObject({ code: "STATE_DATABASE" });
    pool.isAwayFor = () => false;
    expect(await completeClaim(one, claim, change)).toBe(true);
    expect(await completeClaim(one, { ...claim, token: "1" }, change)).toBe(false);
  });

  it("loses no claim: its slot is due again at the next poll", async () => {
    const { node } = scene();
    const pool = losing((text) => text.includes("claim_due"));
    const one = await node({ pool });
    await planAll([one], ["a/x"]);
    const before = await one.read(key("a/x"));
    pool.isLosing = true;
    await expect(one.claimDue(10)).rejects.toMatchObject({ code: "STATE_DATABASE" });
    const { claims } = await one.claimDue(10);
    expect(names(claims)).toEqual(["a/x"]);
    expect(claims[0]?.slot.toISOString()).toBe(before.next_run_at);
  });

  it("loses no claim on request either", async () => {
    const { node } = scene();
    const pool = losing((text) => text.includes("claim_one"));
    const one = await node({ pool });
    await one.define({ schedules: [key("a/x")] });
    pool.isLosing = true;
    await expect(one.claim(key("a/x"))).rejects.toMatchObject({ code: "STATE_DATABASE" });
    await one.claimDue(10);
    expect(await one.claim(key("a/x"))).toMatchObject({ agent: "a", source: "manual" });
  });

  it("does not cost a claim that was heard of anything", async () => {
    const { node } = scene();
    const pool = losing((text) => text.includes("claim_due"));
    const [one, two] = [await node({ pool }), await node()];
    await planAll([one, two], ["a/x", "b/x"]);
    const [held] = (await one.claimDue(1)).claims;
    const [others] = (await two.claimDue(1)).claims;
    pool.isLosing = true;
    await expect(one.claimDue(10)).rejects.toMatchObject({ code: "STATE_DATABASE" });
    expect((await one.claimDue(10)).claims).toEqual([]);
    expect(await Promise.all([held && one.renew(held), others && two.renew(others)])).toEqual([true, true]);
  });

  it("is searched for during a whole lease, because the statement may still be under way", async () => {
    const { node, schema } = scene();
    const pool = losing((text) => text.includes("claim_due"));
    const one = await node({ pool });
    await planAll([one], ["a/x"]);
    const holder = await sharedPool().connect();
    await holder.query(`begin; select pg_advisory_xact_lock(hashtext('"${schema}"'), 3)`);
    pool.isLosing = true;
    pool.losesAtOnce = true;
    await expect(one.claimDue(10)).rejects.toMatchObject({ code: "STATE_DATABASE" });
    // Looks before it waits for the same lock, and is too early.
    const early = one.claimDue(0);
    await until(async () => (await waitingFor(schema)) === 2);
    await holder.query("commit");
    holder.release();
    await Promise.all([pool.lost, early]);
    expect(names((await one.claimDue(10)).claims)).toEqual(["a/x"]);
  });
});

describe("a statement that the database aborted because of a deadlock", () => {
  it("is sent again: it has had no effect", async () => {
    const { node } = scene();
    let isRefused = false;
    const pool: PostgresPool = {
      connect: () => sharedPool().connect(),
      on: () => {},
      end: async () => {},
      async query(query: Query): Promise<QueryAnswer> {
        if (!isRefused || !query.text.includes("claim_due")) return sharedPool().query(query);
        isRefused = false;
        throw Object.assign(new Error("deadlock detected"), { code: "40P01" });
      },
    };
    const one = await node({ pool });
    await planAll([one], ["a/x"]);
    isRefused = true;
    expect(names((await one.claimDue(10)).claims)).toEqual(["a/x"]);
  });
});

describe("a node's own clock", () => {
  it.each(["600000", "-600000", "31536000000", "-31536000000"])(
    "has no effect when it is wrong by %s ms",
    async (skewMs) => {
      const { schema } = scene();
      await using children = new Children();
      const program = fileURLToPath(new URL("../processes/skewed-node.js", import.meta.url));
      const child = children.start(program, [skewMs, inject("databaseUrl"), schema]);
      expect(await child.line((line) => line.endsWith("times"))).toBe("due, right times");
      await child.end();
    },
  );
});

describe("the heartbeat of a node", () => {
  it("renews no claims: their holders do", async () => {
    const { node } = scene();
    const leaseMs = 600;
    const [one, two] = [await node({ clock: undefined, leaseMs }), await node({ clock: undefined, leaseMs })];
    await planAll([one, two], ["a/x", "b/x"]);
    const { claims } = await one.claimDue(10);
    const kept = claims.find(({ agent }) => agent === "a");
    let isHeld = kept !== undefined;
    let taken: readonly Claim[] = [];
    while (isHeld && taken.length === 0) {
      isHeld = kept !== undefined && (await one.renew(kept));
      taken = (await two.claimDue(10)).claims;
      await setTimeout(10);
    }
    expect(names(taken)).toEqual(["b/x"]);
  });

  it("says once that the database is away, and again when it is away again", async () => {
    let isAway = true;
    const lines: string[] = [];
    const logger = { info() {}, warn: (line: string) => void lines.push(line), error() {} };
    let beats = 0;
    const beat = async (): Promise<void> => {
      beats++;
      if (isAway) throw new Error("gone");
    };
    const heartbeat = new Heartbeat(3, beat, logger);
    await until(() => beats > 5);
    expect(lines).toEqual(["Could not show a sign of life: gone"]);
    isAway = false;
    const worked = beats + 2;
    await until(() => beats > worked);
    isAway = true;
    const failed = beats + 2;
    await until(() => beats > failed);
    await heartbeat.stop();
    expect(lines).toHaveLength(2);
  });

  it("brings a node back that was forgotten, with all it may run", async () => {
    const { node, schema } = scene();
    const one = await node({ clock: undefined, leaseMs: 300 });
    await planAll([one], ["a/x"]);
    await sharedPool().query(`delete from "${schema}".nodes`);
    expect((await one.claimDue(10)).claims).toEqual([]);
    let claims: readonly unknown[] = [];
    while (claims.length === 0) {
      await setTimeout(50);
      claims = (await one.claimDue(10)).claims;
    }
    expect(claims).toHaveLength(1);
  });
});

describe("the nodes of a schema", () => {
  it("are listed with their names while they are open", async () => {
    const { node, schema } = scene();
    const one = await node({ nodeName: "north" });
    await node({ nodeName: "south" });
    const listed = async (): Promise<unknown[]> =>
      (await sharedPool().query(`select name from "${schema}".nodes order by id`)).rows;
    expect(await listed()).toEqual([{ name: "north" }, { name: "south" }]);
    await one.close();
    expect(await listed()).toEqual([{ name: "south" }]);
  });
});

describe("the connection that hears of changes", () => {
  it("is made again when it was ended, and hears what came meanwhile", async () => {
    const { node, outsider, schema } = scene();
    const one = await node();
    const heard: string[] = [];
    one.onChange((changes) => void heard.push(...names(changes)));
    const { rowCount } = await sharedPool().query(
      "select pg_terminate_backend(pid) from pg_stat_activity where query = $1",
      [`listen "${schema}"`],
    );
    expect(rowCount).toBe(1);
    await outsider().update(key("a/x"), { failure_count: 1 });
    while (heard.length === 0) await setTimeout(10);
    await outsider().update(key("a/y"), { failure_count: 1 });
    while (heard.length === 1) await setTimeout(10);
    expect(heard).toEqual(["a/x", "a/y"]);
  });

  it("is given back when it was made while the store closed, also where it cannot listen any more", async () => {
    const { node, schema } = scene();
    const real = new Pool({ connectionString: inject("databaseUrl") });
    const [made, gate] = [new Signal(), new Signal()];
    let isHeld = false;
    const pool: PostgresPool = {
      on: () => real.on("error", () => {}),
      query: (query) => real.query(query),
      end: () => real.end(),
      async connect() {
        const client = await real.connect();
        if (!isHeld) return client;
        made.give();
        await gate.promise;
        client.query = () => Promise.reject(new Error("Connection terminated unexpectedly"));
        return client;
      },
    };
    const one = await node({ pool });
    isHeld = true;
    await sharedPool().query("select pg_terminate_backend(pid) from pg_stat_activity where query = $1", [
      `listen "${schema}"`,
    ]);
    await made.promise;
    await one.close();
    gate.give();
    await until(() => real.totalCount === real.idleCount);
    await real.end();
    expect(real.totalCount).toBe(0);
  });
});
