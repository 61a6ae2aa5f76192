/** The way to the server, which a test can cut and mend: the server itself goes on, for others to look at. */
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import { onTestFinished } from "vitest";

export class Line {
  readonly #target: URL;
  readonly #sockets = new Set<Socket>();
  #server: Server | undefined;
  #port = 0;
  #isHanging = false;

  constructor(url: string) {
    this.#target = new URL(url);
  }

  /** Where a store is to connect to. */
  get url(): string {
    const url = new URL(this.#target);
    url.host = `127.0.0.1:${this.#port}`;
    return url.href;
  }

  /** Ends all connections; new ones are refused. */
  async cut(): Promise<void> {
    const server = this.#server;
    this.#server = undefined;
    const closed = server === undefined ? undefined : once(server, "close");
    server?.close();
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }

  /** All connections stay, and nothing goes through. */
  hang(): void {
    this.#isHanging = true;
    for (const socket of this.#sockets) socket.pause();
  }

  /** Takes `cut` or `hang` back. */
  async mend(): Promise<void> {
    this.#isHanging = false;
    for (const socket of this.#sockets) socket.resume();
    if (this.#server !== undefined) return;
    const server = createServer({ allowHalfOpen: false }, (near) => this.#join(near));
    server.listen(this.#port, "127.0.0.1");
    await once(server, "listening");
    this.#server = server;
    this.#port = (server.address() as AddressInfo).port;
  }

  #join(near: Socket): void {
    const far = connect(Number(this.#target.port), this.#target.hostname);
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      this.#sockets.add(from);
      from.on("error", () => {});
      from.on("data", (bytes) => to.write(bytes));
      from.on("close", () => {
        this.#sockets.delete(from);
        to.destroy();
      });
      if (this.#isHanging) from.pause();
    }
  }
}

/** A line to this server that is there, and gone at the end of the test. */
export async function lineTo(url: string): Promise<Line> {
  const line = new Line(url);
  await line.mend();
  onTestFinished(() => line.cut());
  return line;
}
