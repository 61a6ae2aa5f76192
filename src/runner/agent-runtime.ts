/** The `runtime` of an agent as a program writes it: one type for each built-in runtime, and the host's own. */
type HttpMethod = "DELETE" | "GET" | "HEAD" | "OPTIONS" | "PATCH" | "POST" | "PUT";

/**
 * The runtimes that a host registers, by type. A host declares theirs, so that its agents may have them:
 * `declare module "rota" { interface RegisteredRuntimes { docker: { readonly image: string } } }`.
 */
// oxlint-disable-next-line typescript/no-empty-interface, typescript/no-empty-object-type -- hosts add its members
export interface RegisteredRuntimes {}

/** How the jobs of an agent run. */
export type AgentRuntime =
  | FunctionRuntimeConfiguration
  | CommandRuntimeConfiguration
  | HttpRuntimeConfiguration
  | MessagesRuntimeConfiguration
  | {
      [Type in keyof RegisteredRuntimes]: { readonly type: Type } & RegisteredRuntimes[Type];
    }[keyof RegisteredRuntimes];

/** The agent's `run` function. */
export interface FunctionRuntimeConfiguration {
  readonly type: "function";
}

/** A child process: an argument list, never a shell. */
export interface CommandRuntimeConfiguration {
  readonly type: "command";
  /** The program and its arguments. Without `{prompt}` in them, the prompt is written to stdin. */
  readonly command: readonly string[];
  /** @default the directory of the process; in a file, the directory of the file */
  readonly cwd?: string | undefined;
  readonly env?: Readonly<Record<string, string | number | boolean>> | undefined;
  /** Variables of this process that are passed on, besides PATH, HOME and similar ones. */
  readonly pass_env?: readonly string[] | undefined;
  /** Whether the prompt is written to stdin. @default "stdin" */
  readonly input?: "stdin" | "none" | undefined;
}

/** A request to a web server; a 2xx response is success. */
export interface HttpRuntimeConfiguration {
  readonly type: "http";
  readonly url: string;
  /** @default "POST" */
  readonly method?: HttpMethod | Lowercase<HttpMethod> | undefined;
  readonly headers?: Readonly<Record<string, string | number | boolean>> | undefined;
  /** Text or a JSON value. @default all that is known of the job, as JSON */
  readonly body?: string | object | undefined;
  /** How long the request may take: milliseconds, or text such as "30s". @default the job's */
  readonly timeout?: number | string | undefined;
  /** @default 3 */
  readonly max_redirects?: number | undefined;
}

/** An agent SDK, called through the scheduler's `sdkQuery`. */
export interface MessagesRuntimeConfiguration {
  readonly type: "messages";
  /** Passed to the SDK. */
  readonly options?: Readonly<Record<string, unknown>> | undefined;
}
