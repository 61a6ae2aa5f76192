/** A pooler in transaction mode: any number of connections share a few sessions, and each transaction gets a free one. */
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";

/** A connection to the server, past its startup. */
interface Session {
  readonly socket: Socket;
  onMessage: (type: string, message: Buffer) => void;
}

/** A connection of a client, with the messages of the statement that it is about to send. */
interface Visitor {
  readonly socket: Socket;
  session: Session | undefined;
  waiting: Buffer[];
}

const READY = Buffer.from([0x5a, 0, 0, 0, 5, 0x49]);
const AUTHENTICATED = Buffer.from([0x52, 0, 0, 0, 8, 0, 0, 0, 0]);
/** A client that asks for encryption, or a normal startup. */
const SSL_REQUEST = 80877103;

export class TransactionPooler implements AsyncDisposable {
  readonly #target: URL;
  readonly #isRoundRobin: boolean;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  /** The session that was used last is used next, as PgBouncer does unless `server_round_robin` is set. */
  readonly #idle: Session[] = [];
  readonly #queue: Visitor[] = [];

  private constructor(target: URL, isRoundRobin: boolean) {
    this.#target = target;
    this.#isRoundRobin = isRoundRobin;
    this.#server = createServer((socket) => this.#accept(socket));
  }

  static async to(url: string, sessions: number, isRoundRobin = false): Promise<TransactionPooler> {
    const pooler = new TransactionPooler(new URL(url), isRoundRobin);
    for (let made = 0; made < sessions; made++) await pooler.#addSession();
    pooler.#server.listen(0, "127.0.0.1");
    await once(pooler.#server, "listening");
    return pooler;
  }

  get url(): string {
    const url = new URL(this.#target);
    url.port = String((this.#server.address() as AddressInfo).port);
    return url.toString();
  }

  /** The server of the tests trusts every user, so that a startup message is all it needs. */
  async #addSession(): Promise<void> {
    const socket = connect(Number(this.#target.port), this.#target.hostname);
    this.#watch(socket);
    const names = ["user", this.#target.username, "database", this.#target.pathname.slice(1)];
    const body = Buffer.from(`${names.join("\0")}\0\0`);
    const head = Buffer.alloc(8);
    head.writeInt32BE(body.length + 8);
    head.writeInt32BE(3 << 16, 4);
    socket.write(Buffer.concat([head, body]));
    await new Promise<void>((resolve) => {
      const session: Session = {
        socket,
        onMessage: (type) => {
          if (type !== "Z") return;
          this.#idle.push(session);
          resolve();
        },
      };
      readMessages(socket, (type, message) => session.onMessage(type, message));
    });
  }

  #accept(socket: Socket): void {
    this.#watch(socket);
    const visitor: Visitor = { socket, session: undefined, waiting: [] };
    let isStarted = false;
    socket.on("data", (bytes) => {
      if (isStarted) return;
      if (bytes.readInt32BE(4) === SSL_REQUEST) {
        socket.write("N");
        return;
      }
      isStarted = true;
      socket.write(Buffer.concat([AUTHENTICATED, READY]));
      readMessages(socket, (type, message) => this.#send(visitor, type, message));
    });
  }

  #send(visitor: Visitor, type: string, message: Buffer): void {
    if (type === "X") return;
    visitor.waiting.push(message);
    if (type === "Q" || type === "S") this.#queue.push(visitor);
    this.#serve();
  }

  /** Gives waiting statements to idle sessions. A transaction keeps the session that it has. */
  #serve(): void {
    for (const visitor of this.#queue.splice(0)) {
      visitor.session ??= this.#isRoundRobin ? this.#idle.shift() : this.#idle.pop();
      const { session } = visitor;
      if (session === undefined) {
        this.#queue.push(visitor);
        continue;
      }
      session.onMessage = (type, message) => {
        visitor.socket.write(message);
        // The last byte of "ready": I for idle, T within a transaction, E within a failed one.
        if (type !== "Z" || message.at(-1) !== 0x49) return;
        visitor.session = undefined;
        this.#idle.push(session);
        this.#serve();
      };
      session.socket.write(Buffer.concat(visitor.waiting.splice(0)));
    }
  }

  #watch(socket: Socket): void {
    this.#sockets.add(socket);
    socket.setNoDelay(true);
    socket.on("error", () => {});
    socket.on("close", () => this.#sockets.delete(socket));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
    await once(this.#server, "close");
  }
}

/** Cuts what arrives into messages: a letter, a length that counts itself, and the rest. */
function readMessages(socket: Socket, onMessage: (type: string, message: Buffer) => void): void {
  let unread = Buffer.alloc(0);
  socket.on("data", (bytes) => {
    unread = Buffer.concat([unread, bytes]);
    while (unread.length >= 5 && unread.length > unread.readInt32BE(1)) {
      const length = unread.readInt32BE(1) + 1;
      const message = unread.subarray(0, length);
      unread = unread.subarray(length);
      onMessage(String.fromCharCode(message[0] ?? 0), message);
    }
  });
}
