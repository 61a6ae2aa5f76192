/**
 * Database functions that pause agents. The schedules of a paused agent keep their plans and have no places in the queue; at
 * the end of the pause they get them back.
 */
import { lockOutClaims, ONE_PLAN } from "./claim-functions.js";
import { channelOf } from "./request-functions.js";

export const createPauseFunctions = (schema: string): string => `
-- Pauses an agent, or ends its pause, unless the pause is no longer the one that was read. Returns whether it was written.
create function ${schema}.set_pause(
  in_agent text, in_before text, in_pause text, in_until timestamptz, in_now timestamptz
) returns boolean language plpgsql ${ONE_PLAN} as $$
declare
  v_now timestamptz := coalesce(in_now, clock_timestamp());
begin
  perform ${lockOutClaims(schema)};
  insert into ${schema}.agents (name) select in_agent
    where not exists (select from ${schema}.agents a where a.name = in_agent);
  update ${schema}.agents a set pause = in_pause, held_until = in_until,
    -- One that has ended by itself ended then.
    resumed_at = case when in_pause is null then least(a.held_until, v_now) else a.resumed_at end
    where a.name = in_agent and a.pause is not distinct from in_before;
  if not found then return false; end if;
  perform ${schema}.hold_agents(array[in_agent]);
  perform pg_notify(${channelOf(schema)}, 'pause');
  return true;
end $$;

-- Ends the pauses whose time has come.
create function ${schema}.end_pauses(in_now timestamptz) returns void language plpgsql ${ONE_PLAN} as $$
declare
  v_names text[];
begin
  if not exists (select from ${schema}.agents a where a.held_until <= in_now) then return; end if;
  perform ${lockOutClaims(schema)};
  with ended as (
    update ${schema}.agents a set pause = null, resumed_at = a.held_until, held_until = null
    where a.held_until <= in_now returning a.name
  )
  select array_agg(e.name) into v_names from ended e;
  if v_names is not null then perform ${schema}.hold_agents(v_names); end if;
end $$;

-- Takes the schedules of paused agents out of the queue, and puts back the schedules of the rest. The caller locks out claims.
create function ${schema}.hold_agents(in_names text[]) returns void language plpgsql ${ONE_PLAN} as $$
declare
  v_ids bigint[] := array(select s.id from ${schema}.agents a join ${schema}.schedules n on n.agent = a.name
    join ${schema}.states s on s.id = n.id
    where a.name = any(in_names) and s.is_held <> (a.held_until is not null) order by s.id);
begin
  if cardinality(v_ids) = 0 then return; end if;
  perform ${schema}.lock_places(v_ids);
  -- What was seen due waits for the end of the pause now, and is late then.
  update ${schema}.states s set is_held = not s.is_held, seen_at = null from unnest(v_ids) as c(id) where s.id = c.id;
  delete from ${schema}.queue q using unnest(v_ids) as c(id) join ${schema}.states s on s.id = c.id
    where s.is_held and q.due_at = s.due_at and q.id = s.id;
  insert into ${schema}.queue (due_at, id, agent_id)
    select s.due_at, s.id, case when s.is_limited then s.agent_id end
    from unnest(v_ids) as c(id) join ${schema}.states s on s.id = c.id
    where not s.is_held and s.token is null and s.due_at is not null;
end $$;
`;
