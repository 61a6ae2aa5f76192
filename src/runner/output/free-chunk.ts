/**
 * Frees a chunk of output that has been copied or written. V8 frees chunks only when 32 to 64 MB of them have piled up, and
 * a process that reads a long output would grow by that much.
 */
import { MessageChannel, type MessagePort } from "node:worker_threads";

/** Shorter chunks pile up slowly, and may be part of a buffer that others share. */
const SMALLEST_FREED = 16_384;

let closedPort: MessagePort | undefined;

/** Afterwards the chunk has no bytes. A chunk that is only part of its buffer stays as it is. */
export function freeChunk({ buffer, length }: Uint8Array): void {
  if (length < SMALLEST_FREED || length !== buffer.byteLength || !(buffer instanceof ArrayBuffer)) return;
  closedPort ??= newClosedPort();
  // A buffer that is sent to a closed port is freed at once.
  closedPort.postMessage(undefined, [buffer]);
}

function newClosedPort(): MessagePort {
  const { port1 } = new MessageChannel();
  port1.close();
  return port1;
}
