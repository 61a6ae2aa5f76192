/**
 * What keeping events in files costs: durable appends to the journal against a bare loop that writes and syncs the same
 * lines in batches, and opening a journal with a million consumed ids. Exits with 1 when a figure is missed.
 */
import { closeSync, fdatasync, openSync, write } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { promisify } from "node:util";
import { systemClock } from "../dist/clock.js";
import { nodeDisk } from "../dist/state/file/disk.js";
import { Journal } from "../dist/state/file/journal/journal.js";
import { median, printMachine } from "./measure.js";

const ROUNDS = 41;
const CALLERS = [64, 1_000];
/** A turn is short, so that a busy machine disturbs both alike. */
const APPENDS = 5_000;
const CONSUMED = 1_000_000;
const failures = [];

/** As little as can be done: what waits is written as it is, and synced once. */
class BareLoop {
  #file;
  #waiting = [];
  #isBusy = false;

  constructor(path) {
    this.#file = openSync(path, "w");
  }

  append(line) {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ line, resolve, reject });
      if (!this.#isBusy) void this.#run();
    });
  }

  close() {
    closeSync(this.#file);
  }

  async #run() {
    this.#isBusy = true;
    await Promise.resolve();
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.splice(0);
      try {
        await promisify(write)(this.#file, batch.map(({ line }) => line).join(""));
        await promisify(fdatasync)(this.#file);
        for (const { resolve } of batch) resolve();
      } catch (error) {
        for (const { reject } of batch) reject(error);
      }
    }
    this.#isBusy = false;
  }
}

console.log(`Events in files: wall time, median of ${ROUNDS} interleaved rounds`);
printMachine([]);
for (const callers of CALLERS) await compareAppends(callers);
await measureOpening();
if (failures.length > 0) process.exitCode = 1;

/** Ids and nothing else: what a part of its own would keep is not the journal's cost. */
function idsOnly() {
  return {
    apply: () => {},
    snapshot: () => null,
    load: () => {},
    idsOf: ({ id }) => [id],
    keepFrom: () => 0,
  };
}

function journalIn(directory) {
  const logger = { info: () => {}, warn: console.warn, error: console.error };
  const parts = { events: idsOnly() };
  return new Journal({
    directory,
    parts,
    disk: nodeDisk,
    clock: systemClock,
    logger,
    checkOwner: async () => {},
  });
}

function eventOf(number) {
  return {
    id: `order-${number}`,
    topic: "orders",
    seq: number,
    payload: `{"customer":${number},"lines":[{"sku":"a-${number % 97}","count":2}],"note":"leave it at the door"}`,
  };
}

async function compareAppends(callers) {
  const directory = await mkdtemp(join(tmpdir(), "rota-bench-"));
  const journal = journalIn(join(directory, "journal"));
  const bare = new BareLoop(join(directory, "bare.jsonl"));
  try {
    await journal.open();
    let number = 0;
    const contenders = {
      journal: () => {
        const data = eventOf(number++);
        return journal.append({
          ids: [{ part: "events", id: data.id }],
          decide: (find) => (find("events", data.id) === undefined ? [{ part: "events", data }] : []),
        });
      },
      bare: () => bare.append(`${JSON.stringify(eventOf(number++))}\n`),
    };
    const rates = { journal: [], bare: [] };
    for (let round = 0; round <= ROUNDS; round++) {
      const names = round % 2 === 0 ? ["journal", "bare"] : ["bare", "journal"];
      for (const name of names) {
        const rate = await rateOf(contenders[name], callers);
        // The first round warms up.
        if (round > 0) rates[name].push(rate);
      }
    }
    const [ours, theirs] = [median(rates.journal), median(rates.bare)];
    console.log(`\n${callers} callers, ${APPENDS} durable appends`);
    console.log(`  journal      ${Math.round(ours).toLocaleString("en")} a second`);
    console.log(`  bare batches ${Math.round(theirs).toLocaleString("en")} a second`);
    const ratio = median(rates.journal.map((rate, at) => rate / rates.bare[at]));
    report("of a bare loop, journal", ratio, ratio >= 0.5, "at least 0.5");
  } finally {
    await journal.close();
    bare.close();
    await rm(directory, { recursive: true });
  }
}

/** Each caller waits for its own append before it makes the next. */
async function rateOf(append, callers) {
  let left = APPENDS;
  const call = async () => {
    while (left-- > 0) await append();
  };
  const before = performance.now();
  await Promise.all(Array.from({ length: callers }, call));
  return (APPENDS / (performance.now() - before)) * 1000;
}

async function measureOpening() {
  const directory = await mkdtemp(join(tmpdir(), "rota-bench-"));
  try {
    await fill(directory);
    const times = [];
    const sizes = [];
    for (let round = 0; round < 9; round++) {
      const before = await heldBytes();
      const journal = journalIn(directory);
      const start = performance.now();
      await journal.open();
      times.push(performance.now() - start);
      sizes.push(((await heldBytes()) - before) / CONSUMED);
      if ((await journal.findId("events", "order-4711")) === undefined) throw new Error("It is not found.");
      await journal.close();
    }
    console.log(`\nopening with ${CONSUMED.toLocaleString("en")} consumed ids`);
    // What else runs on the machine only ever adds time; what an earlier round left only ever hides memory.
    const [ms, bytes] = [Math.min(...times), Math.max(...sizes)];
    report("milliseconds to open", ms, ms <= 1_000, "at most 1,000");
    report("bytes of memory for each", bytes, bytes < 20, "less than 20");
  } finally {
    await rm(directory, { recursive: true });
  }
}

/** The heap, and what buffers hold beside it. These are given back a moment after the collection. */
async function heldBytes() {
  for (let turn = 0; turn < 3; turn++) {
    globalThis.gc();
    await setTimeout(20);
  }
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}

async function fill(directory) {
  const journal = journalIn(directory);
  await journal.open();
  for (let from = 0; from < CONSUMED; from += 5_000)
    await Promise.all(
      Array.from({ length: 5_000 }, (_, at) =>
        journal.append({ decide: () => [{ part: "events", data: eventOf(from + at) }] }),
      ),
    );
  await journal.close();
}

function report(what, value, isReached, target) {
  console.log(`  ${isReached ? "✓" : "✗"} ${what}: ${value.toFixed(2)} (${target})`);
  if (!isReached) failures.push(what);
}
