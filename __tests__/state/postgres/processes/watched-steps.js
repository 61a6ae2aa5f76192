// Which step of a scheduler's work a statement belongs to, whatever its text: the method of the store that sent it. At the
// step that is asked for the process stops or kills itself, before the statement is sent or when its answer has come unseen.
import { AsyncLocalStorage } from "node:async_hooks";

const step = new AsyncLocalStorage();
const underWay = new Map();
let isOpen = false;
let stopAt;
let say;
let left = 0;

/** Stops the process if this is where it is to stop. */
export function atStep(name, when) {
  if (stopAt === undefined || stopAt.when !== when || !isOf(name, stopAt.step)) return;
  if (--left !== 0) return;
  say("stops");
  process.kill(process.pid, stopAt.signal ?? "SIGSTOP");
}

/** Ends of claims may go along with the next claim; what `open` began goes on beating. */
function isOf(name, wanted) {
  if (wanted === "heartbeat") return name === "open" && isOpen;
  if (wanted === "open") return name === "open" && !isOpen;
  if (wanted === "finishJobs" && name === "claimDue") return (underWay.get("finishJobs") ?? 0) > 0;
  return name === wanted;
}

/** A method of which it is known from outside when it is under way, and which statements are its own. */
function watched(owner, name) {
  const method = owner[name].bind(owner);
  owner[name] = (...args) =>
    step.run(name, async () => {
      underWay.set(name, (underWay.get(name) ?? 0) + 1);
      try {
        return await method(...args);
      } finally {
        underWay.set(name, underWay.get(name) - 1);
        if (name === "open") isOpen = true;
      }
    });
}

export function watchedStore(store) {
  for (const name of ["open", "define", "updateAll", "claimDue", "renew", "startJobs", "finishJobs", "close"])
    watched(store, name);
  return store;
}

export function watchedPool(pool, wanted, print) {
  stopAt = wanted;
  say = print;
  left = wanted?.nth ?? 1;
  const query = pool.query.bind(pool);
  pool.query = async (...args) => {
    const name = step.getStore();
    atStep(name, "before");
    const answer = await query(...args);
    atStep(name, "after");
    return answer;
  };
  return pool;
}
