/** Checks that importing the built package starts nothing, reads no time, zone or random number, and lets the process end. */
import assert from "node:assert/strict";

const asked = [];
const watch = (holder, name) => {
  const original = holder[name];
  holder[name] = new Proxy(original, {
    apply: (target, self, args) => asked.push(name) && Reflect.apply(target, self, args),
    construct: (target, args) => asked.push(name) && Reflect.construct(target, args),
  });
};
for (const name of ["setTimeout", "setInterval", "setImmediate", "Date"]) watch(globalThis, name);
watch(Math, "random");
watch(Intl, "DateTimeFormat");
watch(process, "on");

const { nextCronRun } = await import("rota");
await import("rota/scheduler");
assert.deepEqual(asked, []);

nextCronRun("@daily", new Date(0), "Europe/London");
assert.ok(asked.includes("DateTimeFormat"), "The watch does not work.");
console.log("Importing rota starts nothing.");
