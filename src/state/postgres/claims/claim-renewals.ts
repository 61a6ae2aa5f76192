/**
 * Renews claims; renewals that are requested together share a statement. A renewal
 * waits for no claim and no write, so that a hanging connection costs no job its claim.
 */
import { GroupCommit } from "../../../group-commit.js";
import type { ClaimToken } from "../../store.js";
import { textOfColumn } from "../rows/column-text.js";
import type { Statements } from "../connection/database.js";
import { keyColumns } from "../rows/state-row.js";
import type { StateWriter } from "../writes/state-writer.js";
import type { DatabaseClock } from "../connection/database-clock.js";

export interface ClaimRenewalsOptions {
  readonly database: Statements;
  readonly writer: Pick<StateWriter, "noteVersion">;
  readonly time: DatabaseClock;
  readonly leaseMs: number;
}

interface Renewal {
  readonly claim: ClaimToken;
  isHeld: boolean;
}

/** How many renewals whose replies are lost fit into a lease. */
const RENEWALS_IN_TIME = 4;
/** A busy machine may take this long for any statement. */
const SHORTEST_TIMEOUT_MS = 1_000;

export class ClaimRenewals {
  readonly #options: ClaimRenewalsOptions;
  readonly #waiting: GroupCommit<Renewal>;

  constructor(options: ClaimRenewalsOptions) {
    this.#options = options;
    this.#waiting = new GroupCommit((batch) => this.#renewAll(batch));
  }

  /** `false` when the claim is no longer held. */
  async renew(claim: ClaimToken): Promise<boolean> {
    const renewal: Renewal = { claim, isHeld: false };
    await this.#waiting.add(renewal);
    return renewal.isHeld;
  }

  async #renewAll(batch: readonly Renewal[]): Promise<void> {
    const { database, time, writer, leaseMs } = this.#options;
    const { schema } = database;
    const claims = batch.map(({ claim }) => claim);
    const tokens = claims.map(({ token }) => token);
    const rows = await database.query({
      name: `${schema}.renew`,
      text: `with renewed as (
          update ${schema}.states s
          set lease_until = coalesce($4, clock_timestamp()) + $5::interval, version = s.version + 1
          from (
            select h.id, n.agent, n.schedule from unnest($1::text[], $2::text[], $3::text[]) as c(agent, schedule, token)
              join ${schema}.schedules n on n.agent = c.agent and n.schedule = c.schedule
              join ${schema}.states h on h.id = n.id and h.token::text = c.token
            -- Every statement locks states in the order of their ids, which rules out deadlocks.
            order by h.id for update of h
          ) as held where s.id = held.id
          returning held.agent, held.schedule, s.id, s.token::text, s.version, s.owner, s.lease_until
        ), kept as (
          insert into ${schema}.leases (until, owner, schedules)
          select max(r.lease_until), r.owner, array_agg(r.id) from renewed r group by r.owner
        )
        select agent, schedule, token, version from renewed`,
      values: [...keyColumns(claims), tokens, time.parameters.leaseNow, `${leaseMs} milliseconds`],
      timeoutMs: Math.max(leaseMs / RENEWALS_IN_TIME, SHORTEST_TIMEOUT_MS),
    });
    const held = new Set<unknown>();
    for (const { agent, schedule, token, version } of rows) {
      held.add(token);
      const key = { agent: textOfColumn(String(agent)), schedule: textOfColumn(String(schedule)) };
      writer.noteVersion(key, Number(version));
    }
    for (const renewal of batch) renewal.isHeld = held.has(renewal.claim.token);
  }
}
