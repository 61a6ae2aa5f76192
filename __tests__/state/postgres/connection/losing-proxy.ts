/** A way to the server that loses answers: when asked, the next one is dropped on its way back, and its connection cut. */
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";

/** What the server says when it is told to end a connection. */
const TERMINATED = errorMessage("terminating connection due to administrator command");

function errorMessage(text: string): Buffer {
  const fields = Buffer.from(`SFATAL\0VFATAL\0C57P01\0M${text}\0\0`);
  const head = Buffer.alloc(5);
  head.write("E");
  head.writeInt32BE(fields.length + 4, 1);
  return Buffer.concat([head, fields]);
}

/** Whether the server takes statements from now on: the last that it says of a new connection. */
function isReady(bytes: Buffer): boolean {
  return bytes.at(-6) === "Z".charCodeAt(0) && bytes.readInt32BE(bytes.length - 5) === 5;
}

export class LosingProxy implements AsyncDisposable {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  readonly #target: URL;
  #toLose = 0;
  #toEnd = 0;
  /** How many answers were lost. */
  lost = 0;

  private constructor(target: URL) {
    this.#target = target;
    this.#server = createServer((client) => this.#accept(client));
  }

  static async to(url: string): Promise<LosingProxy> {
    const proxy = new LosingProxy(new URL(url));
    proxy.#server.listen(0, "127.0.0.1");
    await once(proxy.#server, "listening");
    return proxy;
  }

  /** The server, as seen through it. */
  get url(): string {
    const url = new URL(this.#target);
    url.port = String((this.#server.address() as AddressInfo).port);
    return url.toString();
  }

  /** Loses the next answer, whosever it is. */
  loseNext(): void {
    this.#toLose++;
  }

  /** Ends the next connections that are made, as an administrator would: in the very moment in which they are ready. */
  endNewOnes(count: number): void {
    this.#toEnd = count;
  }

  #accept(client: Socket): void {
    const server = connect(Number(this.#target.port), this.#target.hostname);
    // What a connection begins with is no answer to a statement.
    let isAsked = false;
    const end = (): void => {
      client.destroy();
      server.destroy();
      this.#sockets.delete(client);
      this.#sockets.delete(server);
    };
    for (const socket of [client, server]) {
      this.#sockets.add(socket);
      socket.setNoDelay(true);
      socket.on("error", end);
      socket.on("close", end);
    }
    client.on("data", (bytes) => {
      // A startup message has no letter; all later ones do.
      if (bytes[0] !== 0) isAsked = true;
      server.write(bytes);
    });
    server.on("data", (bytes) => {
      if (this.#toEnd > 0 && isReady(bytes)) {
        this.#toEnd--;
        client.end(Buffer.concat([bytes, TERMINATED]));
        server.destroy();
        return;
      }
      if (!isAsked || this.#toLose === 0) {
        client.write(bytes);
        return;
      }
      this.#toLose--;
      this.lost++;
      end();
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
    await once(this.#server, "close");
  }
}
