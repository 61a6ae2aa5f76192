/** Database functions for requests: adding one, and claiming a schedule for one together with its answer. */
import { ANSWERED, REQUEST_KEY } from "../connection/change-feed.js";
import { ONE_PLAN } from "./claim-functions.js";

export const createRequestFunctions = (schema: string): string => `
create function ${schema}.post_request(
  in_id text, in_agent text, in_schedule text, in_action text, in_job_id text, in_key text, in_content text,
  in_now timestamptz, in_ttl interval, in_is_taken boolean,
  out created_ms bigint, out expires_ms bigint
) language plpgsql ${ONE_PLAN} as $$
declare
  v_now timestamptz := coalesce(in_now, date_trunc('milliseconds', clock_timestamp()));
begin
  -- Answers and keys are kept for a day, prompts and data for a week: their jobs may have to run again.
  delete from ${schema}.requests r where r.created_at < v_now - interval '1 day' and (r.content = '{}' or r.token is null);
  delete from ${schema}.requests r where r.created_at < v_now - interval '7 days';
  insert into ${schema}.requests (id, agent, schedule, action, job_id, key, content, created_at, expires_at, is_taken)
  values (in_id, in_agent, in_schedule, in_action, in_job_id, in_key, in_content, v_now, v_now + in_ttl, in_is_taken);
  created_ms := (date_part('epoch', v_now) * 1000)::bigint;
  expires_ms := (date_part('epoch', v_now + in_ttl) * 1000)::bigint;
  if in_is_taken then return; end if;
  perform ${schema}.list_changes(array[in_agent], array[in_schedule], '[["${REQUEST_KEY}"]]');
  perform pg_notify(${channelOf(schema)}, '');
end $$;

-- Claims a schedule for a request. Returns why it cannot be claimed, null when it was claimed, and 'answered' when the
-- request is gone, has an answer, or has the key of an earlier one.
create function ${schema}.claim_request(
  in_node bigint, in_agent text, in_schedule text, in_now timestamptz, in_lease_now timestamptz, in_lease interval, in_request text
) returns text language plpgsql ${ONE_PLAN} as $$
declare
  v_now timestamptz := coalesce(in_now, clock_timestamp());
  v_key text;
  v_refusal text;
begin
  select r.key into v_key from ${schema}.requests r
    where r.id = in_request and r.answered_at is null and (r.is_taken or r.expires_at > v_now) for update skip locked;
  if not found then return 'answered'; end if;
  if v_key is not null then
    -- Two requests with one key wait for each other.
    perform pg_advisory_xact_lock(hashtext('${schema}'), hashtext(in_agent || '/' || in_schedule || '/' || v_key));
    if exists (select from ${schema}.requests r where r.agent = in_agent and r.schedule = in_schedule and r.key = v_key
        and r.token is not null and r.created_at > v_now - interval '1 day') then return 'answered'; end if;
  end if;
  v_refusal := ${schema}.claim_one(in_node, in_agent, in_schedule, in_now, in_lease_now, in_lease);
  if v_refusal is not null then return v_refusal; end if;
  update ${schema}.requests r set answered_at = v_now, refusal = null, token = s.token, claimed_at = s.claimed_at
    from ${schema}.schedules n join ${schema}.states s on s.id = n.id
    where r.id = in_request and n.agent = in_agent and n.schedule = in_schedule;
  perform pg_notify(${channelOf(schema)}, '${ANSWERED}');
  return null;
end $$;
`;

/** The name without its quotes, as `pg_notify` takes it. */
export function channelOf(schema: string): string {
  return `'${schema.replaceAll('"', "")}'`;
}
