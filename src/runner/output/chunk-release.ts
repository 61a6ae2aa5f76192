/**
 * Frees the chunks of a stream as soon as they have been copied. Left alone they are collected only when 32 MB of them
 * wait for it, and by as much a process grows that reads a long output.
 */
import { MessageChannel, type MessagePort } from "node:worker_threads";

/** Smaller ones are no trouble, and may be part of a buffer that others share. */
const SMALLEST_FREED = 16_384;

export class ChunkRelease {
  #nobody: MessagePort | undefined;

  /** The chunk has no bytes any more. One that is only part of its buffer is left alone. */
  free({ buffer, length }: Uint8Array): void {
    if (length < SMALLEST_FREED || length !== buffer.byteLength || !(buffer instanceof ArrayBuffer)) return;
    this.#nobody ??= closedPort();
    // What is handed to nobody is gone at once.
    this.#nobody.postMessage(undefined, [buffer]);
  }
}

function closedPort(): MessagePort {
  const { port1 } = new MessageChannel();
  port1.close();
  return port1;
}
