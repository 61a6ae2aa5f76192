/** A web server on this machine that answers as it is told, and is gone at the end of its scope. */
import { once } from "node:events";
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from "node:http";
import { text } from "node:stream/consumers";

export interface HeardRequest {
  readonly method: string | undefined;
  readonly path: string | undefined;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

export type Answer = (response: ServerResponse, request: HeardRequest) => void;

export class LoopbackServer implements AsyncDisposable {
  readonly heard: HeardRequest[] = [];
  readonly #server: Server;
  #answer: Answer;

  private constructor(answer: Answer) {
    this.#answer = answer;
    this.#server = createServer((request, response) => void this.#hear(request, response));
  }

  static async listening(answer: Answer = (response) => response.end()): Promise<LoopbackServer> {
    const server = new LoopbackServer(answer);
    server.#server.listen(0, "127.0.0.1");
    await once(server.#server, "listening");
    return server;
  }

  get url(): string {
    const address = this.#server.address();
    return `http://127.0.0.1:${typeof address === "object" ? address?.port : ""}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, "close");
  }

  async #hear(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method, url: path, headers } = request;
    const heard = { method, path, headers, body: await text(request) };
    this.heard.push(heard);
    this.#answer(response, heard);
  }
}

export const json =
  (body: unknown, status = 200): Answer =>
  (response) =>
    response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));

export const redirect =
  (location: string, status = 302): Answer =>
  (response) =>
    response.writeHead(status, { location }).end();
