/** The requests and responses of the fake GitHub, and the failures that a test can cause. */
import type { IncomingMessage } from "node:http";

export interface FakeAnswer {
  readonly status: number;
  readonly body?: unknown;
  readonly headers?: Record<string, string>;
}

/** The connection is cut before (`cut-before`) or after (`cut-after`) the effect, or the request hangs (`hang`). */
export type Trouble = FakeAnswer | "cut-before" | "cut-after" | "hang";

export interface FakeRequest {
  readonly method: string;
  /** Without the base path: "/repos/octo/farm/issues/1". */
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: IncomingMessage["headers"];
  readonly body: Readonly<Record<string, unknown>>;
}

/** The same failure for the first `times` matching requests. */
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
