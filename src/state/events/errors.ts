/** The errors of topics and events. */
import { RotaError } from "../../errors.js";

export type EventErrorCode =
  | "CANNOT_RECONCILE"
  | "EVENTS_NOT_PENDING"
  | "INVALID_EVENT"
  | "INVALID_PAYLOAD"
  | "MUTATION_UNDECIDED"
  | "NO_INTENT"
  | "NOTHING_TAKEN"
  | "NOT_SUSPENDED"
  | "PAYLOAD_TOO_LARGE"
  | "RUN_OPEN"
  | "UNKNOWN_CONSUMER"
  | "UNKNOWN_PRODUCER"
  | "UNKNOWN_TOPIC";

/** A call about events was refused, and nothing was changed. */
export class EventError extends RotaError<EventErrorCode> {
  /** The ids of the events that the refusal is about. */
  readonly ids: readonly string[];

  constructor(code: EventErrorCode, message: string, ids: readonly string[] = [], cause?: unknown) {
    super(message, { code, cause });
    this.ids = ids;
  }
}
EventError.prototype.name = "EventError";
