/** Writes docs/cli.md from the definitions of the built command. */
import { writeFileSync } from "node:fs";
import { COMMANDS } from "../dist/cli/commands.js";
import { cliReference } from "../dist/cli/reference.js";

writeFileSync(new URL("../docs/cli.md", import.meta.url), cliReference(COMMANDS));
