/** A job's output in blocks of a fixed size, so that an addition or a cut rewrites at most one block. */
import type { OutputBytes } from "../../job-log/capped-output.js";
import type { Statements } from "../connection/database.js";

const BLOCK_BYTES = 8_192;
/** The most blocks in one statement. */
const BLOCKS_AT_ONCE = 32;

/** `false` when the output was opened before. */
export async function createOutput({ schema, query }: Statements, id: string): Promise<boolean> {
  const rows = await query({
    text: `insert into ${schema}.job_outputs (job_id) values ($1) on conflict do nothing returning job_id`,
    values: [id],
  });
  return rows.length > 0;
}

/** `undefined` for a job that never had an output. */
export async function readWhole(database: Statements, id: string): Promise<string | undefined> {
  return (await readBytes(database, id))?.toString("utf8");
}

/** As `readWhole`, in bytes: an output that is being written may end within a character. */
export async function readBytes({ schema, query }: Statements, id: string): Promise<Buffer | undefined> {
  const [row] = await query({
    text: `select encode(coalesce((select string_agg(b.bytes, '' order by b.block) from ${schema}.job_output_blocks b
      where b.job_id = o.job_id), ''), 'hex') as bytes from ${schema}.job_outputs o where o.job_id = $1`,
    values: [id],
  });
  return row === undefined ? undefined : bytesOf(row["bytes"]);
}

export class BlockOutputBytes implements OutputBytes {
  readonly #database: Statements;
  readonly #id: string;

  constructor(database: Statements, id: string) {
    this.#database = database;
    this.#id = id;
  }

  async read(bytes: Uint8Array, position: number): Promise<number> {
    const { schema, query } = this.#database;
    const end = position + bytes.length;
    const rows = await query({
      text: `select block, encode(bytes, 'hex') as bytes from ${schema}.job_output_blocks
        where job_id = $1 and block between $2 and $3 order by block`,
      values: [this.#id, blockAt(position), blockAt(end)],
    });
    let filled = 0;
    for (const row of rows) {
      const stored = bytesOf(row["bytes"]);
      const startsAt = Number(row["block"]) * BLOCK_BYTES;
      const wanted = stored.subarray(Math.max(0, position - startsAt), Math.max(0, end - startsAt));
      bytes.set(wanted, filled);
      filled += wanted.length;
    }
    return filled;
  }

  async write(bytes: Uint8Array, position: number): Promise<number> {
    const { schema, query } = this.#database;
    const pieces: Buffer[] = [];
    let written = 0;
    for (let piece = 0; piece < BLOCKS_AT_ONCE && written < bytes.length; piece++) {
      const room = BLOCK_BYTES - ((position + written) % BLOCK_BYTES);
      const part = bytes.subarray(written, written + room);
      pieces.push(Buffer.from(part));
      written += part.length;
    }
    await query({
      name: `${schema}.write_output`,
      text: `insert into ${schema}.job_output_blocks as b (job_id, block, bytes)
        select $1, $2 + place - 1, piece from unnest($4::bytea[]) with ordinality as p(piece, place)
        on conflict (job_id, block) do update set bytes = overlay(b.bytes placing excluded.bytes
          from case when excluded.block = $2 then $3 + 1 else 1 end for length(excluded.bytes))`,
      values: [this.#id, blockAt(position), position % BLOCK_BYTES, pieces],
    });
    return written;
  }

  async truncate(size: number): Promise<void> {
    const { schema, query } = this.#database;
    await query({
      text: `with gone as (delete from ${schema}.job_output_blocks where job_id = $1 and block > $2)
        update ${schema}.job_output_blocks set bytes = substring(bytes from 1 for $3) where job_id = $1 and block = $2`,
      values: [this.#id, blockAt(size), size % BLOCK_BYTES],
    });
  }

  async close(): Promise<void> {}
}

function bytesOf(hexadecimal: unknown): Buffer {
  return Buffer.from(String(hexadecimal), "hex");
}

function blockAt(position: number): number {
  return Math.floor(position / BLOCK_BYTES);
}
