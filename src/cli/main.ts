#!/usr/bin/env node
/** The entry point of the `rota` process. It loads the program on demand, because an old Node cannot parse it. */
import { oldNodeMessage } from "./node-version.js";

const message = oldNodeMessage(process.versions.node);
if (message === undefined) void import("./start.js").then(({ start }) => start());
else {
  process.stderr.write(`rota: Node ${message}\n`);
  process.exitCode = 1;
}
