/** The first start of a process loads the checks of agents: here before any test, so that every start takes equally long. */
import { loadChecks } from "../../src/scheduler/definition-checks.js";

await loadChecks();
