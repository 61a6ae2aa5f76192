/** The messages for errors while connecting to a database. */
import { describe, expect, it } from "vitest";
import { unreachable } from "../../../src/cli/location/command-pool.js";
import { invalidState, StateError } from "../../../src/state/errors.js";
import { DatabaseError } from "../../../src/state/postgres/index.js";

const messageFor = (error: unknown): string => unreachable("postgres://db/app", error).message;

/** A connection error as Node reports it. */
const systemError = (code: string, syscall: string): Error =>
  Object.assign(new Error(`${syscall} ${code}`), { code, syscall });

describe("an error of the database", () => {
  it("is a refusal when PostgreSQL sent an error code", () => {
    const error = new DatabaseError(Object.assign(new Error("no such table"), { code: "42P01" }));
    expect([error.message, error.sqlState]).toEqual(["The database refused: no such table", "42P01"]);
  });

  it.each([
    systemError("ECONNREFUSED", "connect"),
    systemError("EPIPE", "write"),
    new Error("timeout expired"),
  ])("is not a refusal when no server replied: %s", (cause) => {
    const error = new DatabaseError(cause);
    expect([error.message, error.sqlState]).toEqual([
      `Could not reach the database: ${cause.message}`,
      undefined,
    ]);
  });

  it("names every address that was tried", () => {
    const cause = new AggregateError([systemError("ECONNREFUSED", "connect"), new Error("no")]);
    expect(new DatabaseError(cause).message).toBe("Could not reach the database: connect ECONNREFUSED, no");
  });
});

describe("an error while connecting to a database", () => {
  it("names every address of an AggregateError, which has no message", () => {
    const tried = ["connect ECONNREFUSED ::1:5432", "connect ECONNREFUSED 127.0.0.1:5432"];
    const cause = new AggregateError(tried.map((message) => new Error(message)));
    expect(messageFor(new DatabaseError(cause))).toBe(`Could not use postgres://db/app: ${tried.join(", ")}`);
  });

  it("names the database for any error", () => {
    expect(messageFor(new TypeError("no"))).toBe("Could not use postgres://db/app: no");
  });

  it("keeps a StateError, and turns an invalid schema name into a usage error", () => {
    const newer = new StateError("update Rota", { code: "STATE_DATABASE" });
    expect(unreachable("", newer)).toBe(newer);
    expect(unreachable("", invalidState("Invalid schema"))).toMatchObject({ code: "USAGE" });
  });
});
