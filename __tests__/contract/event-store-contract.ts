/** What every store does with events: one suite for all of them. */
import { describePublishing } from "./event-publish-contract.js";
import { describeRecovery } from "./event-recovery-contract.js";
import type { OpenEventSubject } from "./event-scene.js";
import { describeSessions } from "./event-session-contract.js";
import { describeSleep } from "./event-sleep-contract.js";

export function describeEventStore(kind: string, open: OpenEventSubject): void {
  describePublishing(kind, open);
  describeSessions(kind, open);
  describeSleep(kind, open);
  describeRecovery(kind, open);
}
