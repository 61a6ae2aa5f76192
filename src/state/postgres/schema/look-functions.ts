/**
 * What nodes have seen due and left for want of room, in the database. Looks are remembered as long as they stand for what
 * the node may run; when that changes, what it saw is written to each slot.
 */
import { learnMine, MINE, MINE_VARIABLES, ONE_PLAN } from "./claim-functions.js";

export const createLookFunctions = (schema: string): string => `
-- Marks those that the node has seen due and left, where nobody has seen them earlier.
create function ${schema}.note_seen(in_node bigint, in_ids bigint[]) returns void language plpgsql ${ONE_PLAN} as $$
declare ${MINE_VARIABLES}
begin
  ${learnMine(schema, "in_node")}
  update ${schema}.states q set seen_at = least(q.seen_at, k.at)
  from unnest(in_ids) as i(id) join ${schema}.states d on d.id = i.id, lateral (
    select k.at from ${schema}.looks k where k.node = in_node and k.at >= d.due_at order by k.at limit 1
  ) as k where q.id = i.id and ${MINE};
end $$;

-- What the node has seen stays known of each slot when it goes, or is to run others.
create function ${schema}.settle_looks(in_node bigint) returns void language plpgsql ${ONE_PLAN} as $$
declare
  v_latest timestamptz := (select max(k.at) from ${schema}.looks k where k.node = in_node);
  v_ids bigint[];
begin
  if v_latest is null then return; end if;
  v_ids := array(select q.id from ${schema}.queue q where not q.is_lined and q.due_at <= v_latest);
  perform ${schema}.hold_places(v_ids);
  perform ${schema}.note_seen(in_node, v_ids);
  delete from ${schema}.looks k where k.node = in_node;
end $$;

create function ${schema}.forget_node(in_node bigint) returns void language plpgsql ${ONE_PLAN} as $$
begin
  perform ${schema}.settle_looks(in_node);
  delete from ${schema}.nodes n where n.id = in_node;
end $$;

create function ${schema}.let_node_run(in_node bigint, in_schedules bytea, in_by_hand bytea) returns void language plpgsql ${ONE_PLAN} as $$
begin
  perform ${schema}.settle_looks(in_node);
  update ${schema}.nodes n set schedules = in_schedules, by_hand = in_by_hand where n.id = in_node;
end $$;
`;
