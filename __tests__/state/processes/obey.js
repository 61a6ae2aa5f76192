// A store in a process of its own, which does what each line of its input says and prints what came of it.
// In: `{ "id": 1, "call": "update", "args": [...] }`, `{ "signal": "SIGSTOP", "before": "rename state.yaml" }`,
// `{ "block": 6000 }`: its event loop does nothing else for so many milliseconds.
// Out: `{ "id": 1, "result": ... }` or `{ "id": 1, "error": { "name", "code", "message", "owner" } }`.
import { writeSync } from "node:fs";
import { createInterface } from "node:readline";
import { FileStore } from "../../../dist/state/file/file-store.js";
import { signalDisk } from "./signal-disk.js";

const signals = signalDisk();
const store = new FileStore({ stateDir: process.argv[2] }, { disk: signals.disk });

async function obey({ id, call, args = [] }) {
  try {
    return { id, result: await store[call](...args) };
  } catch ({ name, code, message, owner }) {
    return { id, error: { name, code, message, owner } };
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  const order = JSON.parse(line);
  if ("signal" in order) signals.await(order.before, order.signal);
  else if ("block" in order) {
    writeSync(1, "blocked\n");
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, order.block);
  } else void obey(order).then((answer) => writeSync(1, `${JSON.stringify(answer)}\n`));
}
process.exit(); // whoever gave the orders is gone
