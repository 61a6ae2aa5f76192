/** Bugs of the PostgreSQL store to be caught, and in which lives they show: those of one scheduler, or of several. */
import type { PlantedBug } from "./planted-bugs.js";

type Edit = PlantedBug["edits"][number];

export interface PlantedPostgresBug extends PlantedBug {
  readonly seed: number;
  readonly nodes: "one" | "several";
}

export const PLANTED_POSTGRES_BUGS: readonly PlantedPostgresBug[] = [
  {
    name: "the claims of an agent are counted wrongly",
    nodes: "several",
    seed: 1,
    edits: [["state/postgres/schema/claim-functions.ts", "else a.capacity - (", "else a.capacity + 9 - ("]],
    breaks: ["capacity of an agent"],
  },
  {
    name: "the end of a lease is ignored",
    nodes: "several",
    seed: 1,
    edits: [
      [
        "state/postgres/schema/claim-functions.ts",
        "has_expired := exists (select from ${schema}.leases l where l.until",
        "has_expired := false and exists (select from ${schema}.leases l where l.until",
      ],
    ],
    // The record of a dead node's job is closed with its claim.
    breaks: ["a dead node's slot is free in time", "nothing stays blocked", "one final status per job"],
  },
  {
    name: "a lease is taken to have ended too early",
    nodes: "several",
    seed: 1,
    edits: [
      ...[
        "in_past_expired and exists (select from ${schema}.leases l where l.until <= v_lease_now",
        "where d.until <= v_lease_now",
        "has_expired := exists (select from ${schema}.leases l where l.until <= v_lease_now",
        "where s.lease_until <= v_lease_now",
      ].map((text): Edit => [
        "state/postgres/schema/claim-functions.ts",
        text,
        `${text} + interval '25 seconds'`,
      ]),
      ...[
        "where l.until <= coalesce($1, clock_timestamp())",
        "and s.lease_until <= coalesce($1, clock_timestamp())",
      ].map((text): Edit => ["state/postgres/claims/claimer.ts", text, `${text} + interval '25 seconds'`]),
    ],
    breaks: ["one live claim"],
  },
  {
    name: "a renewal does not last",
    nodes: "several",
    seed: 1,
    edits: [
      [
        "state/postgres/claims/claim-renewals.ts",
        "set lease_until = coalesce($4, clock_timestamp()) + $5::interval, version",
        "set lease_until = s.lease_until + 0 * (coalesce($4, clock_timestamp()) + $5::interval - now()), version",
      ],
    ],
    breaks: ["one live claim"],
  },
  {
    name: "the version of a row is not checked",
    nodes: "several",
    seed: 1,
    edits: [
      [
        "state/postgres/schema/write-functions.ts",
        "and s.id = w.id and s.version = w.version\n",
        "and s.id = w.id and w.version is not null\n",
      ],
    ],
    breaks: ["one live claim", "no acknowledged update is lost", "every slot is accounted for"],
  },
  {
    name: "the expired claim of a different node is given back like one of this node",
    nodes: "several",
    seed: 1,
    edits: [
      [
        "state/postgres/claims/claimer.ts",
        "row.owner === node ? givenBack(state) : interruption(state, time.now())",
        "row.owner === node || time.now() ? givenBack(state) : interruption(state, time.now())",
      ],
    ],
    breaks: ["a job that died with its node counts as interrupted"],
  },
  {
    name: "a renewed lease is never checked again",
    nodes: "several",
    seed: 1,
    edits: [
      [
        "state/postgres/claims/claim-renewals.ts",
        "select max(r.lease_until), r.owner, array_agg(r.id) from renewed r group by r.owner",
        "select max(r.lease_until), r.owner, array_agg(r.id) from renewed r where false group by r.owner",
      ],
    ],
    breaks: ["a dead node's slot is free in time", "nothing stays blocked", "one final status per job"],
  },
  {
    name: "the job of a dead node is left open",
    nodes: "several",
    seed: 1,
    edits: [
      ["state/postgres/claims/claimer.ts", "await jobs.presumeInterrupted(ids, reason);", ""],
      ["state/postgres/jobs/job-rows.ts", "and j.node is not null", "and false"],
    ],
    breaks: ["one final status per job"],
  },
  {
    name: "a scheduler uses the clock of its machine",
    nodes: "several",
    seed: 1,
    edits: [["scheduler/scheduler.ts", "clock: store.clock ?? clock,", "clock,"]],
    breaks: ["nothing starts early", "the simulation runs to its end", "what may run runs within a check"],
  },
];
