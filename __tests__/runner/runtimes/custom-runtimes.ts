import type { RuntimeResult } from "../../../src/runner/runtime.js";
import { RuntimeRegistry } from "../../../src/runner/registry.js";

/** A registry with a type "custom" that answers this. */
export function answering(answer: unknown): { readonly runtimes: RuntimeRegistry } {
  const runtimes = new RuntimeRegistry();
  runtimes.register("custom", () => ({ run: () => answer as RuntimeResult }));
  return { runtimes };
}
