/** Reads this package's version from its package.json. */
import { readFileSync } from "node:fs";
import { isFields } from "../fields.js";

export function packageVersion(): string {
  const text = readFileSync(new URL("../../package.json", import.meta.url), "utf8");
  const description: unknown = JSON.parse(text);
  const version = isFields(description) ? description["version"] : undefined;
  return typeof version === "string" ? version : "unknown";
}
