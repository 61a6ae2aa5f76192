/** Writes rota.schema.json, which editors complete and check rota.yaml by, from the definition that Rota itself checks by. */
import { writeFileSync } from "node:fs";
import { configJsonSchema } from "../dist/config/schema/json-schema.js";

const file = new URL("../rota.schema.json", import.meta.url);
writeFileSync(file, `${JSON.stringify(configJsonSchema(), null, 2)}\n`);
