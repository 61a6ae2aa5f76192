/** A pool on the real server in which a test decides what becomes of each statement. */
import type { PostgresPool, QueryAnswer } from "../../../src/state/postgres/index.js";
import { sharedPool } from "./schema.js";

export type Query = Parameters<PostgresPool["query"]>[0];
/** Carries the statement out. */
type CarryOut = () => Promise<QueryAnswer>;

export class SteeredPool implements PostgresPool {
  /** What becomes of a statement. */
  steer: (query: Query, carryOut: CarryOut) => Promise<QueryAnswer> = (_, carryOut) => carryOut();
  /** What statements were refused with. */
  readonly refusals: unknown[] = [];

  async query(query: Query): Promise<QueryAnswer> {
    try {
      return await this.steer(query, () => sharedPool().query(query));
    } catch (error) {
      this.refusals.push(error);
      throw error;
    }
  }

  connect(): ReturnType<PostgresPool["connect"]> {
    return sharedPool().connect();
  }

  on(): void {}

  async end(): Promise<void> {}
}

export const connectionLost = (): Error => new Error("Connection terminated unexpectedly");

export const isWrite = ({ text }: Query): boolean => text.includes("write_states");
export const isClaim = ({ text }: Query): boolean => text.includes("claim_due");

/** Loses the answer to the next write, which has its effect. Answers whether that has happened. */
export function loseNextAnswer(pool: SteeredPool): () => boolean {
  let isLost = false;
  pool.steer = async (query, carryOut) => {
    const answer = await carryOut();
    if (!isWrite(query) || isLost) return answer;
    isLost = true;
    throw connectionLost();
  };
  return () => isLost;
}
