/** The types of runtimes and work sources that tests register, declared as a host declares its own. */
import type { RegisteredRuntimes } from "../src/runner/agent-runtime.js";

export type DeclaredRuntime = keyof RegisteredRuntimes;

declare module "../src/runner/agent-runtime.js" {
  interface RegisteredRuntimes {
    own: { readonly size?: number };
    both: { readonly command: readonly string[]; readonly url: string; readonly body: string };
    queue: { readonly api_key: string; readonly login: object; readonly tries: readonly number[] };
  }
}

declare module "../src/work-sources/work-source.js" {
  interface RegisteredWorkSources {
    inbox: { readonly path?: string };
    list: object;
    tickets: { readonly labels: readonly string[] };
  }
}
