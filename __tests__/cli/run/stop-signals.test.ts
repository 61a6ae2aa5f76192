import { describe, expect, it } from "vitest";
import { processHost, type RunHost, type RunSignal } from "../../../src/cli/run/host.js";
import { StopSignals } from "../../../src/cli/run/stop-signals.js";

/** A process that is signalled by the test. */
function hostOf(): { host: RunHost; send: (signal: RunSignal) => void; exits: number[] } {
  const listeners = new Set<(signal: RunSignal) => void>();
  const exits: number[] = [];
  const host: RunHost = {
    ...processHost,
    onSignal: (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    exit: (code) => void exits.push(code),
  };
  return { host, exits, send: (signal) => listeners.forEach((listener) => listener(signal)) };
}

describe("a job in the foreground", () => {
  it("is cancelled by the first signal, with its name as the reason", () => {
    const { host, send, exits } = hostOf();
    using stopped = new StopSignals(host);
    send("SIGTERM");
    expect(stopped.signal.reason).toMatchObject({ message: "Stopped by SIGTERM" });
    expect(exits).toEqual([]);
  });

  it.each([
    ["SIGINT", 130],
    ["SIGTERM", 143],
  ] as const)("exits immediately at a second signal, %s, with %i", (signal, code) => {
    const { host, send, exits } = hostOf();
    using _ = new StopSignals(host);
    send("SIGINT");
    send(signal);
    expect(exits).toEqual([code]);
  });

  it("is not ended by SIGHUP", () => {
    const { host, send } = hostOf();
    using stopped = new StopSignals(host);
    send("SIGHUP");
    expect(stopped.signal.aborted).toBe(false);
  });

  it("ignores signals after it has ended", () => {
    const { host, send, exits } = hostOf();
    const stopped = new StopSignals(host);
    stopped[Symbol.dispose]();
    send("SIGINT");
    send("SIGINT");
    expect(exits).toEqual([]);
  });
});
