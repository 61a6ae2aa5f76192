/** Checks the version of Node, its time zones, the system clock, and what the system tells of processes. */
import { existsSync } from "node:fs";
import type { Clock } from "../../clock.js";
import { timeZone } from "../../scheduler/timing/time-zone.js";
import { oldNodeMessage } from "../node-version.js";
import { failure, fine, type Finding, warning } from "./finding.js";

const FEWEST_ZONES = 300;
const MEASURED_MS = 100;
const MOST_DRIFT_MS = 50;
/** Rota is newer than this, so a clock with an earlier time was never set. */
const EARLIEST_MS = Date.UTC(2026, 0, 1);

export function judgeNode(version: string): Finding {
  const message = oldNodeMessage(version);
  return message === undefined ? fine("Node", version) : failure("Node", message);
}

/** A Node built without full ICU knows some names of zones but not their rules. */
export function checkZones(): Finding {
  const about = "time zones";
  const zones = Intl.supportedValuesOf("timeZone").length;
  const own = new Intl.DateTimeFormat().resolvedOptions().timeZone;
  if (zones < FEWEST_ZONES || berlinOffset(0) !== 3_600 || berlinOffset(6) !== 7_200)
    return failure(about, `this Node supports only ${zones} zones: install one built with full ICU`);
  return fine(about, `${zones}, version ${process.versions["tz"] ?? "unknown"}; the system's is ${own}`);
}

/** The offset in seconds on the first of a month. */
function berlinOffset(month: number): number {
  return timeZone("Europe/Berlin").spanAt(Date.UTC(2026, month, 1) / 1000).offset;
}

/** Compares the wall clock with the monotonic clock over 100 ms. */
export async function checkClock(clock: Clock): Promise<Finding> {
  const about = "clock";
  const [wallMs, steadyMs] = [clock.now().getTime(), clock.monotonic()];
  await clock.sleep(MEASURED_MS);
  const wentMs = clock.now().getTime() - wallMs;
  const driftMs = Math.round(wentMs - (clock.monotonic() - steadyMs));
  if (wallMs < EARLIEST_MS)
    return failure(about, `${clock.now().toISOString()} is too early: set the system clock`);
  if (Math.abs(driftMs) > MOST_DRIFT_MS)
    return warning(about, `jumped by ${driftMs} ms within ${MEASURED_MS} ms: check what adjusts it`);
  return fine(about, clock.now().toISOString());
}

/** On a system without /proc, such as macOS, a process is known by its pid alone. */
export function checkProcesses(hasProc: boolean = existsSync("/proc/self/stat")): Finding {
  const about = "processes";
  if (hasProc) return fine(about, "known by their pid and the time they started");
  return warning(
    about,
    "this system has no /proc, so a process is known by its pid alone: if a new process gets the pid of a scheduler that died, the scheduler's lock is taken over only after a whole lease",
  );
}
