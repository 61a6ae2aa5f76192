/**
 * Finding a cron schedule's next run: Rota beside cron-parser and croner, in CPU time.
 * All contenders take turns in every round, so that a noisy machine disturbs them alike; the ratios are medians of rounds.
 */
import { CronExpressionParser } from "cron-parser";
import { Cron } from "croner";
import { nextCronRun } from "rota";
import { median, printEnvironment, takeTurns } from "./measure.js";

process.env.TZ = "UTC"; // croner without its timezone option computes in the system's zone

const ZONES = ["America/New_York", "Europe/London", "Australia/Lord_Howe", "Asia/Kathmandu"];
const EXPRESSIONS = [
  "* * * * *",
  "*/5 * * * *",
  "*/15 * * * *",
  "7 * * * *",
  "0,30 * * * *",
  "0 */2 * * *",
  "15 */6 * * *",
  "0 0 * * *",
  "30 2 * * *",
  "59 23 * * *",
  "0 9-17 * * *",
  "*/10 9-17 * * *",
  "0 9 * * 1-5",
  "0 9 * * mon-fri",
  "*/20 8-18 * * 1-5",
  "30 6 * * 0",
  "0 12 * * 6,0",
  "0 0 1 * *",
  "0 0 1,15 * *",
  "0 3 28-31 * *",
  "0 0 L * *",
  "0 9 * * 1#1",
  "0 17 * * 5L",
  "0 0 13 * 5",
  "0 0 1 1 *",
  "0 0 1 */3 *",
  "0 6 1 jan,jul *",
  "0 0 29 2 *",
  "30 0 12 * * *",
  "*/10 * * * * *",
];

/** Instants spread over a year, so that nobody answers from one memorised day. */
const INSTANTS = Array.from({ length: 97 }, (_, i) => new Date(Date.UTC(2026, 0, 1) + i * 325_357_123));
const instant = (i) => INSTANTS[i % INSTANTS.length];

/**
 * Every expression with its blanks doubled here and there: more texts than Rota's cache keeps, asked for in turn, so
 * that each is compiled anew.
 */
const UNSEEN_TEXTS = Array.from({ length: 256 * EXPRESSIONS.length }, (_, i) => {
  let gap = 0;
  const variant = Math.floor(i / EXPRESSIONS.length);
  return EXPRESSIONS[i % EXPRESSIONS.length].replaceAll(" ", () =>
    " ".repeat(1 + ((variant >> (2 * gap++)) & 3)),
  );
});
const unseenText = (i) => UNSEEN_TEXTS[i % UNSEEN_TEXTS.length];

function bySchedule(make, run) {
  const schedules = EXPRESSIONS.map(make);
  return (i) => run(schedules[i % schedules.length], i);
}

const zoned = (_, n) => ZONES[n % ZONES.length];
const SECTIONS = [
  {
    title: "next run with a time zone",
    targets: { "cron-parser, parse + next": 1000, "croner, reused object": 100 },
    contenders: {
      rota: bySchedule(
        (text, n) => [text, zoned(text, n)],
        ([text, zone], i) => nextCronRun(text, instant(i), zone),
      ),
      "cron-parser, parse + next": bySchedule(
        (text, n) => [text, zoned(text, n)],
        ([text, tz], i) => CronExpressionParser.parse(text, { currentDate: instant(i), tz }).next(),
      ),
      "croner, reused object": bySchedule(
        (text, n) => new Cron(text, { timezone: zoned(text, n) }),
        (cron, i) => cron.nextRun(instant(i)),
      ),
    },
  },
  {
    title: "next run in UTC",
    targets: { "croner, reused, no timezone": 20 },
    contenders: {
      rota: bySchedule(
        (text) => text,
        (text, i) => nextCronRun(text, instant(i), "UTC"),
      ),
      "croner, reused, no timezone": bySchedule(
        (text) => new Cron(text),
        (cron, i) => cron.nextRun(instant(i)),
      ),
      "cron-parser, parse + next": bySchedule(
        (text) => text,
        (text, i) => CronExpressionParser.parse(text, { currentDate: instant(i), tz: "UTC" }).next(),
      ),
    },
  },
  {
    title: "compile an unseen text and answer once, in UTC",
    targets: { "croner, no timezone": 20 },
    contenders: {
      rota: (i) => nextCronRun(unseenText(i), instant(i), "UTC"),
      "croner, no timezone": (i) => new Cron(unseenText(i)).nextRun(instant(i)),
      "cron-parser, parse alone": (i) => CronExpressionParser.parse(unseenText(i)),
    },
  },
  {
    title: "compile an unseen text and answer once, with a time zone",
    targets: { "croner, new object": 20 },
    contenders: {
      rota: (i) => nextCronRun(unseenText(i), instant(i), ZONES[i % ZONES.length]),
      "croner, new object": (i) =>
        new Cron(unseenText(i), { timezone: ZONES[i % ZONES.length] }).nextRun(instant(i)),
    },
  },
];

printEnvironment("bench/cron", ["cron-parser", "croner"]);
console.log(`${EXPRESSIONS.length} expressions, ${ZONES.length} zones, ${INSTANTS.length} instants\n`);
let missed = 0;
for (const { title, targets, contenders } of SECTIONS) {
  console.log(title);
  const { rota, ...others } = takeTurns(contenders);
  console.log(`  ${"rota".padEnd(32)} ${median(rota).toFixed(3).padStart(9)} µs`);
  for (const [name, costs] of Object.entries(others)) {
    const ratio = median(costs.map((cost, round) => cost / rota[round]));
    const target = targets[name];
    if (target !== undefined && ratio < target) missed++;
    const verdict = target === undefined ? "" : `  (target ${target} ×${ratio < target ? ", MISSED" : ""})`;
    console.log(
      `  ${name.padEnd(32)} ${median(costs).toFixed(3).padStart(9)} µs  ${ratio.toFixed(0).padStart(6)} ×${verdict}`,
    );
  }
}
process.exitCode = missed === 0 ? 0 : 1;
