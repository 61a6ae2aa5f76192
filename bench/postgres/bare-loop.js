/** The plain statement that claims are measured by: all that a claim must record, and nothing else. */
import { Client } from "pg";

const CLAIM = `update bare set slot = due_at, token = gen_random_uuid(), owner = 'me',
    lease_until = clock_timestamp() + interval '30 s'
  where ctid = any(array(select ctid from bare where token is null and due_at <= clock_timestamp()
    order by due_at, id limit $1 for update skip locked))
  returning id, slot, token`;

export async function claims({ url, count, warmUpCount, batch }, stopwatch) {
  const client = new Client({ connectionString: url });
  await client.connect();
  const drain = async (many) => {
    await client.query(`drop table if exists bare;
      create table bare (id bigint primary key, due_at timestamptz not null,
        slot timestamptz, token uuid, owner text, lease_until timestamptz);
      insert into bare select i, now() - interval '1 day' from generate_series(1, ${many}) i;
      create index on bare (due_at, id) where token is null`);
    await client.query("vacuum analyze bare");
    const claimed = [];
    stopwatch.start();
    for (;;) {
      const { rows } = await client.query({ name: "claim", text: CLAIM, values: [batch] });
      if (rows.length === 0) break;
      claimed.push(rows);
    }
    const ids = claimed.flat().map(({ id }) => id);
    return { ...stopwatch.stop(ids.length), missing: many - new Set(ids).size };
  };
  await drain(warmUpCount);
  const figures = await drain(count);
  await client.end();
  return figures;
}
