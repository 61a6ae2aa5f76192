/**
 * A fake GitHub on loopback: issues, labels and comments that behave like the API's, and failures on demand.
 * Its clock is separate, its times are whole seconds, and it can handle requests in a random order.
 */
import { createHash } from "node:crypto";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setImmediate } from "node:timers/promises";
import type { Clock } from "../../../src/clock.js";
import type { Random } from "../../../src/random.js";
import type { FakeAnswer, FakeRequest, Trouble } from "./trouble.js";

export interface FakeIssue {
  number: number;
  title: string;
  body: string | null;
  state: "open" | "closed";
  state_reason: string | null;
  labels: string[];
  created_at: string;
  updated_at: string;
  pull_request?: object;
}

export interface FakeComment {
  readonly id: number;
  readonly issue: number;
  body: string;
  readonly login: string;
  readonly created_at: string;
  updated_at: string;
}

export interface FakeGitHubOptions {
  readonly clock: Pick<Clock, "now">;
  /** How far its clock is ahead. */
  readonly skewMs?: number;
  /** Draws the order in which requests are handled and responses are sent. */
  readonly random?: Random;
  readonly basePath?: string;
}

export const REPO = "octo/farm";
export const TOKEN = "ghp_0123456789abcdefghijklmnopqrstuvwxyz";

export class FakeGitHub implements AsyncDisposable {
  readonly issues: Map<number, FakeIssue> = new Map();
  comments: FakeComment[] = [];
  readonly requests: FakeRequest[] = [];
  /** Logins by token. */
  readonly accounts: Map<string, string> = new Map([[TOKEN, "rota-bot"]]);
  /** Called for each request. */
  trouble: (request: FakeRequest) => Trouble | undefined = () => undefined;
  /** Comments that lists do not show yet, as on a replica that lags. */
  isHidden: (comment: FakeComment) => boolean = () => false;
  /** Runs before the request is handled. */
  before: (request: FakeRequest) => void = () => {};
  readonly #options: FakeGitHubOptions;
  readonly #server: Server;
  readonly #waiting: (() => void)[] = [];
  #isServing = false;
  #lastCommentId = 1_000;

  private constructor(options: FakeGitHubOptions) {
    this.#options = options;
    this.#server = createServer((request, response) => void this.#serve(request, response));
  }

  static async start(options: FakeGitHubOptions): Promise<FakeGitHub> {
    const github = new FakeGitHub(options);
    await new Promise<void>((resolve) => github.#server.listen(0, "127.0.0.1", resolve));
    return github;
  }

  get origin(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  get baseUrl(): string {
    return this.origin + (this.#options.basePath ?? "");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve));
    this.#server.closeAllConnections();
    await closed;
  }

  addIssue(issue: Partial<FakeIssue> = {}): FakeIssue {
    const number = this.issues.size + 1;
    const [title, now] = [`Issue ${number}`, this.#now()];
    const added: FakeIssue = {
      number,
      title,
      body: null,
      state: "open",
      state_reason: null,
      labels: ["ready"],
      created_at: now,
      updated_at: now,
      ...issue,
    };
    this.issues.set(number, added);
    return added;
  }

  addComment(issue: number, body: string, login = "somebody"): FakeComment {
    const now = this.#now();
    const comment = { id: ++this.#lastCommentId, issue, body, login, created_at: now, updated_at: now };
    this.comments.push(comment);
    this.#touch(issue);
    return comment;
  }

  commentsOn(issue: number): readonly string[] {
    return this.comments.filter((comment) => comment.issue === issue).map(({ body }) => body);
  }

  /** "POST /repos/octo/farm/issues/1/labels", for each request so far that is not a plain read. */
  get writes(): readonly string[] {
    return this.requests
      .filter(({ method }) => method !== "GET")
      .map(({ method, path }) => `${method} ${path}`);
  }

  #now(): string {
    const at = new Date(this.#options.clock.now().getTime() + (this.#options.skewMs ?? 0));
    return at.toISOString().replace(/\.\d+Z$/, "Z");
  }

  async #serve(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const request = await this.#read(incoming);
    this.requests.push(request);
    await this.#turn();
    this.before(request);
    const trouble = this.trouble(request);
    if (trouble === "hang") return;
    if (trouble === "cut-before") return void incoming.socket.destroy();
    const answer = typeof trouble === "object" ? trouble : this.#handle(request);
    await this.#turn();
    if (trouble === "cut-after") return void incoming.socket.destroy();
    this.#send(request, response, answer);
  }

  async #read(incoming: IncomingMessage): Promise<FakeRequest> {
    let text = "";
    for await (const chunk of incoming.setEncoding("utf8")) text += String(chunk);
    const url = new URL(incoming.url ?? "", this.origin);
    return {
      method: incoming.method ?? "",
      path: decodeURIComponent(url.pathname).slice((this.#options.basePath ?? "").length),
      query: url.searchParams,
      headers: incoming.headers,
      body: text === "" ? {} : (JSON.parse(text) as Record<string, unknown>),
    };
  }

  /** Waits until this request is drawn among all that wait. */
  async #turn(): Promise<void> {
    const { random } = this.#options;
    if (random === undefined) return;
    const turn = new Promise<void>((resolve) => this.#waiting.push(resolve));
    void this.#pick(random);
    await turn;
  }

  async #pick(random: Random): Promise<void> {
    if (this.#isServing) return;
    this.#isServing = true;
    while (this.#waiting.length > 0) {
      for (let turns = random() * 4; turns > 0; turns--) await setImmediate();
      this.#waiting.splice(Math.floor(random() * this.#waiting.length), 1)[0]?.();
    }
    this.#isServing = false;
  }

  #send(request: FakeRequest, response: ServerResponse, { status, body, headers = {} }: FakeAnswer): void {
    const text = typeof body === "string" ? body : body === undefined ? "" : JSON.stringify(body);
    const etag = `W/"${createHash("sha256").update(text).digest("hex")}"`;
    response.sendDate = false;
    response.setHeader("date", new Date(this.#now()).toUTCString());
    if (status === 200 && request.method === "GET") response.setHeader("etag", etag);
    for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
    const isUnchanged = status === 200 && request.headers["if-none-match"] === etag;
    response.writeHead(isUnchanged ? 304 : status);
    response.end(isUnchanged || text === "" ? undefined : text);
  }

  #handle(request: FakeRequest): FakeAnswer {
    const token = request.headers.authorization?.replace("Bearer ", "") ?? "";
    const login = this.accounts.get(token);
    if (login === undefined) return { status: 401, body: { message: "Bad credentials" } };
    const prefix = `/repos/${REPO}/issues`;
    if (!request.path.startsWith(prefix)) return NOT_FOUND;
    const parts = request.path.slice(prefix.length).split("/").slice(1);
    if (parts.length === 0) return this.#listIssues(request);
    if (parts[0] === "comments") return this.#changeComment(request, Number(parts[1]));
    const issue = this.issues.get(Number(parts[0]));
    if (issue === undefined) return NOT_FOUND;
    if (parts[1] === "comments") return this.#issueComments(request, issue, login);
    if (parts[1] === "labels") return this.#labels(request, issue, parts.slice(2).join("/"));
    if (request.method === "PATCH") {
      Object.assign(issue, request.body);
      this.#touch(issue.number);
    }
    return { status: 200, body: this.#shown(issue) };
  }

  #listIssues({ path, query }: FakeRequest): FakeAnswer {
    const label = query.get("labels") ?? "";
    const key = query.get("sort") === "updated" ? "updated_at" : "created_at";
    const issues = [...this.issues.values()]
      .filter(({ state, labels }) => state === query.get("state") && hasLabel(labels, label))
      .toSorted((a, b) => a[key].localeCompare(b[key]) || a.number - b.number);
    return this.#page(
      path,
      query,
      issues.map((issue) => this.#shown(issue)),
    );
  }

  #issueComments({ method, path, query, body }: FakeRequest, issue: FakeIssue, login: string): FakeAnswer {
    if (method === "POST")
      return { status: 201, body: shownComment(this.addComment(issue.number, String(body.body), login)) };
    const comments = this.comments.filter(
      (comment) => comment.issue === issue.number && !this.isHidden(comment),
    );
    return this.#page(path, query, comments.map(shownComment));
  }

  #changeComment({ method, body }: FakeRequest, id: number): FakeAnswer {
    const comment = this.comments.find((one) => one.id === id);
    if (comment === undefined) return NOT_FOUND;
    if (method === "DELETE") {
      this.comments = this.comments.filter((one) => one !== comment);
      return { status: 204 };
    }
    comment.body = String(body.body);
    comment.updated_at = this.#now();
    return { status: 200, body: shownComment(comment) };
  }

  #labels({ method, body }: FakeRequest, issue: FakeIssue, label: string): FakeAnswer {
    if (method === "DELETE" && !hasLabel(issue.labels, label))
      return { status: 404, body: { message: "Label does not exist" } };
    if (method === "DELETE") issue.labels = issue.labels.filter((name) => !hasLabel([name], label));
    else
      for (const name of body.labels as string[]) if (!hasLabel(issue.labels, name)) issue.labels.push(name);
    this.#touch(issue.number);
    return { status: 200, body: issue.labels.map((name) => ({ name })) };
  }

  #page(path: string, query: URLSearchParams, all: readonly unknown[]): FakeAnswer {
    const size = Number(query.get("per_page") ?? 30);
    const page = Number(query.get("page") ?? 1);
    const headers: Record<string, string> = {};
    if (page * size < all.length) {
      const next = new URLSearchParams(query);
      next.set("page", String(page + 1));
      const address = `${this.baseUrl}${path}?`;
      headers.link = `<${address}page=9>; rel="last", <${address}${next.toString()}>; rel="next"`;
    }
    return { status: 200, body: all.slice((page - 1) * size, page * size), headers };
  }

  #touch(number: number): void {
    const issue = this.issues.get(number);
    if (issue !== undefined) issue.updated_at = this.#now();
  }

  #shown({ labels, ...issue }: FakeIssue): object {
    return {
      ...issue,
      labels: labels.map((name) => ({ name })),
      user: { login: "reporter" },
      assignees: [{ login: "helper" }],
      milestone: { title: "Spring" },
      html_url: `https://github.example/${REPO}/issues/${issue.number}`,
    };
  }
}

const NOT_FOUND: FakeAnswer = { status: 404, body: { message: "Not Found" } };

function shownComment({ login, ...comment }: FakeComment): object {
  return { ...comment, user: { login } };
}

function hasLabel(labels: readonly string[], label: string): boolean {
  return labels.some((name) => name.toLowerCase() === label.toLowerCase());
}
