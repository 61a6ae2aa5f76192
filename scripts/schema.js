/** Writes rota.schema.json, by which editors check rota.yaml, from the schema that Rota checks it by. */
import { writeFileSync } from "node:fs";
import { configJsonSchema } from "../dist/config/schema/json-schema.js";

const file = new URL("../rota.schema.json", import.meta.url);
writeFileSync(file, `${JSON.stringify(configJsonSchema(), null, 2)}\n`);
