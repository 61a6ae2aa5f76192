/**
 * Stands in for the program that the agent SDK starts. It speaks the SDK's stream: JSON lines on stdin and stdout. The
 * prompt decides what it does. It writes its process id to a file for the test.
 */
import { writeFileSync } from "node:fs";
import { createInterface } from "node:readline";

const session_id = "11111111-2222-4333-8444-555555555555";
const say = (message) =>
  process.stdout.write(`${JSON.stringify({ session_id, uuid: session_id, ...message })}\n`);
const sayText = (text) =>
  say({ type: "assistant", message: { role: "assistant", content: [{ type: "text", text }] } });
const end = { type: "result", duration_ms: 1, num_turns: 1, total_cost_usd: 0.25, usage: {} };
const failure = {
  ...end,
  subtype: "error_during_execution",
  is_error: true,
  errors: ["the model is overloaded"],
};

/** What it does, by the first word of the prompt. */
const ACTS = {
  succeed: (prompt) => say({ ...end, subtype: "success", is_error: false, result: `did: ${prompt}` }),
  fail: () => say(failure),
  failAndExit: () => {
    say(failure);
    process.exitCode = 1;
    process.stdin.destroy();
  },
  crash: () => process.exit(7),
  /** Ends with its stdin. */
  hang: () => {},
  /** Ends by a signal only. */
  ignore: () => setInterval(() => {}, 1_000),
};

if (process.env.STUB_PID_FILE !== undefined) writeFileSync(process.env.STUB_PID_FILE, String(process.pid));
for await (const line of createInterface({ input: process.stdin })) {
  const { type, request_id, message } = JSON.parse(line);
  if (type === "control_request") {
    const response = { subtype: "success", request_id, response: { commands: [], models: [], account: {} } };
    say({ type: "control_response", response });
  }
  if (type !== "user") continue;
  const prompt = message.content.map(({ text }) => text).join("");
  say({ type: "system", subtype: "init", model: "stub", tools: [], mcp_servers: [] });
  sayText("Let me see.");
  ACTS[prompt.split(" ")[0]](prompt);
}
