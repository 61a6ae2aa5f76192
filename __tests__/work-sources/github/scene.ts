/** A fake GitHub, adapters for it, and a clock that advances by each sleep. */
import { onTestFinished, vi } from "vitest";
import type { Clock } from "../../../src/clock.js";
import { type GitHubSource, createGitHubSource } from "../../../src/work-sources/github/github-source.js";
import type { WorkItem } from "../../../src/work-sources/work-source.js";
import { claimText } from "../../../src/work-sources/github/claim-comment.js";
import { readGitHubConfig } from "../../../src/work-sources/github/github-config.js";
import { FakeGitHub, type FakeGitHubOptions, REPO, TOKEN } from "./fake-github.js";
import { type Trouble, troubleFor } from "./trouble.js";

export const TOKEN_ENV = "ROTA_TEST_GITHUB_TOKEN";

/** A sleep ends immediately and advances the clock, as `pass` does. Timers never fire. */
export class HastyClock implements Clock {
  readonly slept: number[] = [];
  readonly #startMs: number;
  #passedMs = 0;

  constructor(startsAt = "2026-03-01T00:00:00Z") {
    this.#startMs = Date.parse(startsAt);
  }

  now(): Date {
    return new Date(this.#startMs + this.#passedMs);
  }

  monotonic(): number {
    return this.#passedMs;
  }

  async sleep(ms: number, signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted();
    this.slept.push(ms);
    this.pass(ms);
  }

  wakeAfter(): () => void {
    return () => {};
  }

  pass(ms: number): void {
    this.#passedMs += ms;
  }
}

export interface Scene {
  readonly github: FakeGitHub;
  readonly clock: HastyClock;
  /** The logged lines. */
  readonly lines: string[];
  /** A new adapter for the same repository. */
  readonly source: (config?: Readonly<Record<string, unknown>>, clock?: Clock) => GitHubSource;
}

export const HOUR_MS = 3_600_000;
export const WON = { isClaimed: true };
export const LOST = { isClaimed: false, reason: "taken" };
export const GONE = { isClaimed: false, reason: "gone" };
export const UNAVAILABLE = { code: "WORK_SOURCE_UNAVAILABLE" };
export const FORBIDDEN = { code: "WORK_SOURCE_FORBIDDEN" };
export const SUCCESS = { outcome: "success", summary: "Mended the fence." } as const;
export const FAILURE = {
  outcome: "failure",
  summary: "No wood.",
  error: "ENOWOOD: the shed is empty",
} as const;

/** The comment of a claim that a different node makes. */
export const OLD_TOKEN = "0123456789abcdef01234567";
export const OLD_CLAIM: string = claimText(OLD_TOKEN, readGitHubConfig({ type: "github", repo: REPO }));

export async function startScene(options: Partial<FakeGitHubOptions> = {}): Promise<Scene> {
  const clock = new HastyClock();
  const github = await FakeGitHub.start({ clock, ...options });
  onTestFinished(() => github[Symbol.asyncDispose]());
  vi.stubEnv(TOKEN_ENV, TOKEN);
  const lines: string[] = [];
  const log = (line: string): void => void lines.push(line);
  const logger = { debug: log, info: log, warn: log, error: log };
  const source: Scene["source"] = (config = {}, ownClock = clock) =>
    createGitHubSource(
      { type: "github", repo: REPO, token_env: TOKEN_ENV, base_url: github.baseUrl, ...config },
      { clock: ownClock, logger },
    );
  return { github, clock, lines, source };
}

/** A scene with one issue. */
export async function oneIssue(labels: string[] = ["ready"]): Promise<Scene & { readonly id: string }> {
  const scene = await startScene();
  scene.github.addIssue({ labels });
  return { ...scene, id: idOf(scene, 1) };
}

/** A scene with one issue, whose first requests get the response. */
export async function troubled(times: number, trouble: Trouble): Promise<Scene> {
  const scene = await oneIssue();
  scene.github.trouble = troubleFor(times, () => true, trouble);
  return scene;
}

export function idOf({ github }: Pick<Scene, "github">, number: number): string {
  return `github:${new URL(github.baseUrl).host}/${REPO}#${number}`;
}

export function numbersOf(items: readonly WorkItem[]): readonly number[] {
  return items.map(({ externalId }) => Number(externalId));
}

/** The error that the promise rejects with. */
export async function rejectionOf(promise: Promise<unknown>): Promise<Error & { readonly code?: string }> {
  try {
    await promise;
  } catch (error) {
    if (error instanceof Error) return error;
  }
  throw new Error("Expected an error, but there was none.");
}
