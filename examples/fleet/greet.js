/** A command as an agent: it reads what it is to do, and says in its last line what it did. */
import { text } from "node:stream/consumers";

const prompt = await text(process.stdin);
console.log(`hello, I was told: ${prompt}`);
