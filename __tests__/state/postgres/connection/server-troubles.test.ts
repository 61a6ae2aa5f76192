import { describe, expect, it } from "vitest";
import { runLostAnswers, runRestarts, runTerminations } from "./server-troubles.js";

describe.concurrent("schedulers that share a PostgreSQL store", { timeout: 180_000 }, () => {
  it("are back at work soon when the server was restarted, and have lost and doubled nothing", async () => {
    const { breaches, idleClaims, pauses } = await runRestarts({ times: 2, nodes: 2, agents: 2 });
    expect(breaches).toEqual([]);
    expect(idleClaims.filter((ms) => ms > 5_000)).toEqual([]);
    expect(pauses.filter((ms) => ms > 5_000)).toEqual([]);
  });

  it("lose and double nothing when their connections are ended", async () => {
    const { breaches, idleClaims, ended } = await runTerminations({ times: 20, nodes: 2, agents: 2 });
    expect(breaches).toEqual([]);
    expect(idleClaims.filter((ms) => ms > 5_000)).toEqual([]);
    expect(ended).toBe(20);
  });

  it("lose and double nothing when replies are lost", async () => {
    const { breaches, idleClaims, lost } = await runLostAnswers({ times: 30, nodes: 2, agents: 2 });
    expect(breaches).toEqual([]);
    expect(idleClaims.filter((ms) => ms > 5_000)).toEqual([]);
    expect(lost).toBeGreaterThan(0);
  });
});
