/** A command that works on one item. It takes a while, and not everything succeeds. */
import { text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";

const prompt = await text(process.stdin);
const title = /^# (.*)$/m.exec(prompt)[1];
await sleep(500);
if (title.includes("riddle")) throw new Error("too hard");
console.log(`did: ${title}`);
