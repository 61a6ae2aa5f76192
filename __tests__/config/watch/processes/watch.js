/** Watches the file it is given. Says so, says what changes, and has nothing else to do when it is told anything. */
import { watchConfig } from "../../../../dist/config/index.js";

const [file] = process.argv.slice(2);
await watchConfig(file, {
  debounceMs: 5,
  onChange: (config) => process.stdout.write(`agents: ${config.agents.map(({ name }) => name).join(" ")}\n`),
});
process.stdout.write("watching\n");
process.stdin.once("data", () => process.stdin.destroy());
