/**
 * A second opinion on cron, by brute force: it visits every minute or second there is and asks Intl.DateTimeFormat
 * what the clocks on the wall show. It shares no code and no idea with src/, and is far too slow to be of other use.
 */

interface Fields {
  readonly second: ReadonlySet<number>;
  readonly minute: ReadonlySet<number>;
  readonly hour: ReadonlySet<number>;
  readonly month: ReadonlySet<number>;
  readonly dayMatches: (local: Date) => boolean;
  readonly followsElapsedTime: boolean;
}

const MONTH_NAMES = "jan feb mar apr may jun jul aug sep oct nov dec".split(" ");
const DAY_NAMES = "sun mon tue wed thu fri sat".split(" ");

export function readFields(expression: string): Fields {
  const words = expression.toLowerCase().trim().split(/\s+/);
  if (words.length === 5) words.unshift("0");
  const [second = "", minute = "", hour = "", day = "", month = "", weekday = ""] = words;
  const days = values(day.replaceAll("l", "99"), 1, 31, []);
  const weekdays = weekdayTests(weekday);
  const anyDay = /[*?]/.test(day);
  const anyWeekday = /[*?]/.test(weekday);
  return {
    second: values(second, 0, 59, []),
    minute: values(minute, 0, 59, []),
    hour: values(hour, 0, 23, []),
    month: values(month, 1, 12, MONTH_NAMES),
    dayMatches(local) {
      const inMonth = days.has(local.getUTCDate()) || (days.has(99) && isLastDay(local, 1));
      const inWeek = weekdays.some((test) => test(local));
      return anyDay || anyWeekday ? inMonth && inWeek : inMonth || inWeek;
    },
    followsElapsedTime: minute.includes("*") || hour.includes("*"),
  };
}

/** Whether the same weekday, `days` later, lies in another month; with 1, whether this is the month's last day. */
function isLastDay(local: Date, days: number): boolean {
  return new Date(local.getTime() + days * 86_400_000).getUTCMonth() !== local.getUTCMonth();
}

function weekdayTests(field: string): ((local: Date) => boolean)[] {
  return field.split(",").map((item) => {
    const named = DAY_NAMES.reduce((text, name, index) => text.replaceAll(name, String(index)), item);
    const [base = "", nth] = named.split("#");
    if (nth !== undefined) {
      return (local) =>
        local.getUTCDay() === Number(base) % 7 && Math.ceil(local.getUTCDate() / 7) === Number(nth);
    }
    if (base.endsWith("l")) {
      return (local) => local.getUTCDay() === Number.parseInt(base, 10) % 7 && isLastDay(local, 7);
    }
    const ended = base.replace(/^([1-6])-0/, "$1-7");
    const allowed = values(ended, 0, /^[*?]|^\d+\//.test(ended) ? 6 : 7, []);
    return (local) => allowed.has(local.getUTCDay()) || (local.getUTCDay() === 0 && allowed.has(7));
  });
}

function values(field: string, min: number, max: number, names: readonly string[]): Set<number> {
  const found = new Set<number>();
  for (const item of field.split(",")) {
    const numbered = names.reduce((text, name, index) => text.replaceAll(name, String(index + min)), item);
    const [range = "", step = "1"] = numbered.split("/");
    const open = numbered.includes("/") || /[*?]/.test(range);
    const [from = "", to = open ? String(max) : from] = range.replace(/[*?]/, String(min)).split("-");
    for (let value = Number(from); value <= Number(to); value += Number(step)) found.add(value);
  }
  return found;
}

/** Whether a clock showing `local` (as if it were UTC) satisfies the fields. */
export function matches(fields: Fields, local: Date): boolean {
  return (
    fields.second.has(local.getUTCSeconds()) &&
    fields.minute.has(local.getUTCMinutes()) &&
    fields.hour.has(local.getUTCHours()) &&
    fields.month.has(local.getUTCMonth() + 1) &&
    fields.dayMatches(local)
  );
}

/** Whether any day of 28 years does: without a century between, their weekdays and leap days come in every combination. */
export function everMatches(expression: string): boolean {
  const fields = readFields(expression);
  for (let day = Date.UTC(1972, 0, 1); day < Date.UTC(2000, 0, 1); day += 86_400_000) {
    const local = new Date(day);
    if (fields.month.has(local.getUTCMonth() + 1) && fields.dayMatches(local)) return true;
  }
  return false;
}

/** What the clocks of a zone show at an instant, as milliseconds that would be that time in UTC. */
export function wallClock(zone: string): (instant: number) => number {
  const format = new Intl.DateTimeFormat("sv-SE", {
    timeZone: zone,
    dateStyle: "short",
    timeStyle: "medium",
  });
  return (instant) => Date.parse(`${format.format(instant).replace(" ", "T")}Z`);
}

/** All instants of a window, one a step, with what the clocks show at each. */
export interface Timeline {
  readonly start: number;
  readonly end: number;
  readonly stepMs: number;
  readonly locals: Float64Array;
}

export function timeline(zone: string, start: number, end: number, stepMs: number): Timeline {
  const show = wallClock(zone);
  const locals = Float64Array.from({ length: (end - start) / stepMs }, (_, i) => show(start + i * stepMs));
  return { start, end, stepMs, locals };
}

/** Every instant of the window at which the expression runs. The window's first two days only tell what came before. */
export function runsWithin({ start, stepMs, locals }: Timeline, expression: string): number[] {
  const fields = readFields(expression);
  const runs: number[] = [];
  let latestShown = -Infinity;
  for (const [i, local] of locals.entries()) {
    const previous = i === 0 ? local - stepMs : (locals[i - 1] ?? Number.NaN);
    let due = matches(fields, new Date(local));
    if (!fields.followsElapsedTime) {
      due &&= local > latestShown; // shown before: it has run
      for (let skipped = previous + stepMs; skipped < local; skipped += stepMs) {
        due ||= skipped > latestShown && matches(fields, new Date(skipped));
      }
    }
    latestShown = Math.max(latestShown, local);
    if (due) runs.push(start + i * stepMs);
  }
  return runs;
}

/** The instants of a year at which the zone's clocks are put forward or back, found by looking at every hour. */
export function clockChanges(zone: string, year: number): number[] {
  const show = wallClock(zone);
  const changes: number[] = [];
  const end = Date.UTC(year + 1, 0, 1);
  for (let hour = Date.UTC(year, 0, 1); hour < end; hour += 3_600_000) {
    if (show(hour + 3_600_000) - show(hour) === 3_600_000) continue;
    let minute = hour;
    while (show(minute + 60_000) - show(minute) === 60_000) minute += 60_000;
    changes.push(minute + 60_000);
  }
  return changes;
}
