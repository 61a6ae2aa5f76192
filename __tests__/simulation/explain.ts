/** A failed simulation as a person needs it: what broke, what led there, and how to see it again. */
import type { SimulationResult } from "./simulation.js";

const LINES = 30;

/** `undefined` when nothing broke. */
export function explain({ seed, broken, trace, store }: SimulationResult): string | undefined {
  if (broken === undefined) return undefined;
  return [
    `Seed ${seed} breaks a guarantee: ${broken.guarantee}: ${broken.details}`,
    `Replay it, with its whole trace: npm run test:simulation -- --store ${store} --seed ${seed}`,
    ...trace.slice(-LINES),
  ].join("\n");
}
