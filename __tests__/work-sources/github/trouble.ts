/** What a small GitHub is asked, what it answers, and how it can be made to answer otherwise. */
import type { IncomingMessage } from "node:http";

export interface FakeAnswer {
  readonly status: number;
  readonly body?: unknown;
  readonly headers?: Record<string, string>;
}

/** `cut-before`: nothing is done; `cut-after`: it is done and not answered; `hang`: neither, for ever. */
export type Trouble = FakeAnswer | "cut-before" | "cut-after" | "hang";

export interface FakeRequest {
  readonly method: string;
  /** Without the base path: "/repos/octo/farm/issues/1". */
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: IncomingMessage["headers"];
  readonly body: Readonly<Record<string, unknown>>;
}

/** The same trouble for the first `times` requests that fit. */
export function troubleFor(
  times: number,
  fits: (request: FakeRequest) => boolean,
  trouble: Trouble,
): (request: FakeRequest) => Trouble | undefined {
  let left = times;
  return (request) => (fits(request) && left-- > 0 ? trouble : undefined);
}

export const isMethod =
  (method: string, pathEnd = "") =>
  (request: FakeRequest): boolean =>
    request.method === method && request.path.endsWith(pathEnd);
