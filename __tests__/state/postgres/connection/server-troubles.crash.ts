import { describe, expect, it } from "vitest";
import { runLostAnswers, runRestarts, runTerminations } from "./server-troubles.js";

describe("schedulers that share a PostgreSQL store", () => {
  it("are back at work within 5 s each of 10 times that the server is restarted", async () => {
    const { breaches, idleClaims, pauses } = await runRestarts({ times: 10, nodes: 3, agents: 4 });
    expect(breaches).toEqual([]);
    expect(idleClaims.filter((ms) => ms > 5_000)).toEqual([]);
    expect(pauses.filter((ms) => ms > 5_000)).toEqual([]);
    expect(pauses).toHaveLength(10);
  });

  it("lose and double nothing when 100 of their connections are ended", async () => {
    const { breaches, idleClaims, ended } = await runTerminations({ times: 100, nodes: 3, agents: 4 });
    expect(breaches).toEqual([]);
    expect(idleClaims.filter((ms) => ms > 5_000)).toEqual([]);
    expect(ended).toBe(100);
  });

  it("lose and double nothing when 200 replies are lost", async () => {
    const { breaches, idleClaims, lost } = await runLostAnswers({ times: 200, nodes: 3, agents: 4 });
    expect(breaches).toEqual([]);
    expect(idleClaims.filter((ms) => ms > 5_000)).toEqual([]);
    expect(lost).toBeGreaterThanOrEqual(200);
  });
});
