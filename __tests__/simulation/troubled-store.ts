/**
 * The store as a process sees it: calls take their time, fail before or after they have had their effect, and after
 * another process has taken over they are refused, except those that only a token can refuse.
 */
import type { AgentPause, PauseDecision } from "../../src/state/agent-pause.js";
import type { Clock } from "../../src/clock.js";
import type { StateLockedError } from "../../src/state/errors.js";
import type { JobLog, JobRecord } from "../../src/state/job-log/job-log.js";
import type { Mailbox, ScheduleRequest } from "../../src/state/mailbox.js";
import type { ScheduleState } from "../../src/state/schedule-state.js";
import type {
  Claim,
  ClaimRefusal,
  ClaimToken,
  DefinedSchedule,
  Definitions,
  DueSlots,
  FinishResult,
  JobFinish,
  OutsideChange,
  ScheduleChange,
  ScheduleDecision,
  ScheduleKey,
  StateStore,
} from "../../src/state/store.js";
import type { Dice } from "./dice.js";
import type { WorstMoment } from "./stores.js";
import type { SurvivingStore } from "./surviving-store.js";
import type { ProcessClock } from "./virtual-clock.js";
import type { World } from "./world.js";

export type WeatherKind = "calm" | "slow" | "failing" | "outage";

/** How the store behaves, until when. */
export class Weather {
  readonly #world: World;
  readonly #dice: Dice;
  #kind: WeatherKind = "calm";
  #untilMs = -Infinity;

  constructor(world: World, dice: Dice) {
    this.#world = world;
    this.#dice = dice;
  }

  set(kind: WeatherKind, ms: number): void {
    this.#kind = kind;
    this.#untilMs = this.#world.nowMs + ms;
  }

  get kind(): WeatherKind {
    return this.#world.nowMs < this.#untilMs ? this.#kind : "calm";
  }

  draw(): { readonly beforeMs: number; readonly afterMs: number; readonly fails?: "before" | "after" } {
    const { kind } = this;
    const dice = this.#dice;
    const delayMs = (): number => (dice.chance(0.4) ? dice.whole(1, 300) : 0);
    if (kind === "calm") return { beforeMs: 0, afterMs: 0 };
    if (kind === "slow") return { beforeMs: delayMs(), afterMs: delayMs() };
    if (kind === "outage") return { beforeMs: 0, afterMs: 0, fails: "before" };
    const fails = dice.chance(0.3) ? dice.pick(["before", "after"] as const) : undefined;
    return { beforeMs: delayMs(), afterMs: delayMs(), ...(fails === undefined ? {} : { fails }) };
  }
}

/** What a process that was overtaken may still ask: the token decides. */
const FENCED_BY_TOKEN = new Set(["finishJobs", "renew"]);

function hasClaims(result: unknown): boolean {
  if (typeof result !== "object" || result === null) return false;
  return "slot" in result || ("claims" in result && Array.isArray(result.claims) && result.claims.length > 0);
}

export interface TroubledStoreOptions {
  readonly inner: SurvivingStore;
  readonly clock: ProcessClock;
  readonly world: World;
  readonly weather: Weather;
  readonly Locked: typeof StateLockedError;
  readonly onMoment: (moment: WorstMoment) => void;
}

export class TroubledStore implements StateStore {
  inner: SurvivingStore;
  isOvertaken = false;
  callsUnderWay = 0;
  readonly jobs: JobLog;
  readonly mailbox: Mailbox;
  readonly leaseMs: number;
  readonly #options: TroubledStoreOptions;

  constructor(options: TroubledStoreOptions) {
    this.#options = options;
    this.inner = options.inner;
    this.leaseMs = options.inner.leaseMs;
    this.jobs = options.inner.jobs;
    this.mailbox = options.inner.mailbox;
  }

  open(_clock?: Clock): Promise<void> {
    return this.#call("open", () => this.inner.open());
  }

  close(): Promise<void> {
    return this.#call("close", () => this.inner.close());
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  define(definitions: Definitions): Promise<readonly DefinedSchedule[]> {
    return this.#call("define", () => this.inner.define(definitions));
  }

  read(key: ScheduleKey): Promise<ScheduleState> {
    return this.#call("read", () => this.inner.read(key));
  }

  list(agent: string): Promise<ReadonlyMap<string, ScheduleState>> {
    return this.#call("list", () => this.inner.list(agent));
  }

  update(key: ScheduleKey, change: ScheduleChange): Promise<ScheduleState> {
    return this.#call("update", () => this.inner.update(key, change));
  }

  updateAll(keys: readonly ScheduleKey[], decide: ScheduleDecision): Promise<void> {
    return this.#call("updateAll", () => this.inner.updateAll(keys, decide));
  }

  pauses(): Promise<ReadonlyMap<string, AgentPause>> {
    return this.#call("pauses", () => this.inner.pauses());
  }

  changePause(agent: string, decide: PauseDecision): Promise<AgentPause | undefined> {
    return this.#call("changePause", () => this.inner.changePause(agent, decide));
  }

  claimDue(limit: number): Promise<DueSlots> {
    return this.#call("claimDue", () => this.inner.claimDue(limit));
  }

  claim(key: ScheduleKey): Promise<Claim | ClaimRefusal> {
    return this.#call("claim", () => this.inner.claim(key));
  }

  claimFor(request: ScheduleRequest): Promise<Claim | ClaimRefusal | "answered"> {
    return this.#call("claimFor", () => this.inner.claimFor(request));
  }

  renew(claim: ClaimToken): Promise<boolean> {
    return this.#call("renew", () => this.inner.renew(claim));
  }

  startJobs(jobs: readonly JobRecord[]): Promise<void> {
    return this.#call("startJobs", () => this.inner.startJobs(jobs));
  }

  finishJobs(ends: readonly JobFinish[]): Promise<readonly FinishResult[]> {
    return this.#call("finishJobs", () => this.inner.finishJobs(ends));
  }

  onChange(listener: (changes: readonly OutsideChange[]) => void): () => void {
    return this.inner.onChange(listener);
  }

  async #call<Result>(name: string, task: () => Promise<Result>): Promise<Result> {
    const { clock, weather } = this.#options;
    if (clock.isDead) return new Promise<never>(() => {});
    const { beforeMs, afterMs, fails } = weather.draw();
    this.#requireOwner(name);
    if (beforeMs > 0) await this.#wait(beforeMs);
    if (fails === "before") throw this.#fault(name, "without effect");
    this.#requireOwner(name);
    const result = await task();
    if (afterMs > 0) {
      if (hasClaims(result)) this.#options.onMoment("claimed");
      if (name === "define") this.#options.onMoment("defined");
      await this.#wait(afterMs);
    }
    if (fails === "after") throw this.#fault(name, "although it had its effect");
    if (clock.isSuspended) await clock.sleep(0);
    this.#requireOwner(name);
    return result;
  }

  async #wait(ms: number): Promise<void> {
    const { clock, world } = this.#options;
    this.callsUnderWay++;
    await clock.sleep(ms);
    this.callsUnderWay--;
    if (world.store === this) world.lastSlowMs = world.nowMs;
  }

  #fault(name: string, how: string): Error {
    const { world } = this.#options;
    if (world.store === this) world.lastFaultMs = world.nowMs;
    world.note(`the store fails: ${name}, ${how}`);
    return new Error(`${name} failed ${how}`);
  }

  #requireOwner(name: string): void {
    if (!this.isOvertaken || FENCED_BY_TOKEN.has(name)) return;
    throw new this.#options.Locked("Another process has taken over.", "state.yaml", undefined);
  }
}
