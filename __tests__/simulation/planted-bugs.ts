/** All bugs that the simulator has to notice when one scheduler runs on a store of its own. */
import { JOB_BUGS } from "./bugs/job-bugs.js";
import { LOOP_BUGS } from "./bugs/loop-bugs.js";
import { RETRY_BUGS } from "./bugs/retry-bugs.js";
import { STORE_BUGS } from "./bugs/store-bugs.js";
import type { PlantedBug } from "./seams.js";

export const PLANTED_BUGS: readonly PlantedBug[] = [...LOOP_BUGS, ...JOB_BUGS, ...STORE_BUGS, ...RETRY_BUGS];
