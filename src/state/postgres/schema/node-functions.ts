/**
 * Database functions of nodes: what a node may run, and the due slots that it saw and left because it had no room. While
 * the rights of the node stay the same, its polls stand for the slots; before a change each slot is marked as seen.
 */
import { IS_MINE, lockOutClaims, ONE_PLAN, readRights, RIGHTS_VARIABLES } from "./claim-functions.js";

/** So many of the latest nodes keep their names when they are gone. */
const NAMES_KEPT = 10_000;

export const createNodeFunctions = (schema: string): string => `
-- Marks the schedules whose slots a poll of the node saw, unless an earlier poll did.
create function ${schema}.note_seen(in_node bigint, in_ids bigint[]) returns void language plpgsql ${ONE_PLAN} as $$
declare ${RIGHTS_VARIABLES}
begin
  ${readRights(schema, "in_node")}
  update ${schema}.states q set seen_at = least(q.seen_at, p.at)
  from unnest(in_ids) as i(id) join ${schema}.states d on d.id = i.id, lateral (
    select p.at from ${schema}.polls p where p.node = in_node and p.at >= d.due_at order by p.at limit 1
  ) as p where q.id = i.id and ${IS_MINE};
end $$;

-- Replaces the polls of a node by marks on the slots that they saw.
create function ${schema}.settle_polls(in_node bigint) returns void language plpgsql ${ONE_PLAN} as $$
declare
  v_latest timestamptz := (select max(p.at) from ${schema}.polls p where p.node = in_node);
  v_ids bigint[];
begin
  if v_latest is null then return; end if;
  v_ids := array(select q.id from ${schema}.queue q where not q.is_waiting and q.due_at <= v_latest);
  perform ${schema}.lock_places(v_ids);
  perform ${schema}.note_seen(in_node, v_ids);
  delete from ${schema}.polls p where p.node = in_node;
end $$;

create function ${schema}.remove_node(in_node bigint) returns void language plpgsql ${ONE_PLAN} as $$
declare
  v_counts boolean := exists (select from ${schema}.nodes n where n.id = in_node and cardinality(n.counted_agents) > 0);
begin
  if v_counts then perform ${lockOutClaims(schema)}; end if;
  perform ${schema}.settle_polls(in_node);
  insert into ${schema}.node_names (id, name) select n.id, n.name from ${schema}.nodes n where n.id = in_node
    on conflict (id) do update set name = excluded.name;
  delete from ${schema}.node_names m where m.id <= in_node - ${NAMES_KEPT};
  delete from ${schema}.nodes n where n.id = in_node;
  if v_counts then perform ${schema}.count_agents(); end if;
end $$;

-- Sets what a node may run, schedules as one bit for each id, and which agents it wants counted.
create function ${schema}.set_rights(
  in_node bigint, in_schedules bytea, in_manual_schedules bytea, in_agents bigint[], in_counted_agents bigint[]
) returns void language plpgsql ${ONE_PLAN} as $$
declare
  v_counts boolean := exists (select from ${schema}.nodes n where n.id = in_node and n.counted_agents <> in_counted_agents);
begin
  -- First of all locks: a claim that shares it may wait for places in the queue.
  if v_counts then perform ${lockOutClaims(schema)}; end if;
  perform ${schema}.settle_polls(in_node);
  update ${schema}.nodes n set schedules = in_schedules, manual_schedules = in_manual_schedules, agents = in_agents,
    counted_agents = in_counted_agents where n.id = in_node;
  if v_counts then perform ${schema}.count_agents(); end if;
end $$;

-- An agent is counted while a registered node wants it. The caller locks out claims.
create function ${schema}.count_agents() returns void language plpgsql ${ONE_PLAN} as $$
declare
  v_names text[];
begin
  with wanted as (
    select a.id, exists (select from ${schema}.nodes n where a.id = any(n.counted_agents)) as is_counted from ${schema}.agents a
  ), changed as (
    update ${schema}.agents a set is_counted = w.is_counted from wanted w
    where a.id = w.id and a.is_counted <> w.is_counted returning a.name
  )
  select array_agg(c.name) into v_names from changed c;
  if v_names is not null then perform ${schema}.limit_agents(v_names); end if;
end $$;
`;
