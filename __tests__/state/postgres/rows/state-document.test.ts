import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isoText } from "../../../../src/iso-time.js";
import type { ScheduleFields } from "../../../../src/state/validate-state.js";
import { PLAN_SOURCES } from "../../../../src/state/schedule-state.js";
import { DOCUMENT_END } from "../../../../src/state/postgres/rows/column-text.js";
import {
  documentOf,
  documentsOf,
  documentText,
  SharedDocuments,
} from "../../../../src/state/postgres/rows/state-document.js";

const AT = "2026-03-01T09:00:00.000Z";
const LATER = "2026-03-01T09:05:00.000Z";

const time = fc.oneof(
  fc
    .date({ noInvalidDate: true, min: new Date("0000-01-01"), max: new Date("9999-12-31T23:59:59.999Z") })
    .map(isoText),
  fc.constantFrom(AT, "2026-03-01T10:00:00+01:00", "2028-02-29T00:00:00.000Z", "2026-03-01T09:00Z"),
);
/** As it is read: the text of -0 is that of 0. */
const json = fc.jsonValue().map((value): unknown => JSON.parse(JSON.stringify(value)));
const state: fc.Arbitrary<ScheduleFields> = fc.record(
  {
    status: fc.constantFrom("idle", "disabled"),
    last_run_at: time,
    last_started_at: time,
    last_completed_at: time,
    next_run_at: time,
    next_run_source: fc.constantFrom(...PLAN_SOURCES),
    failure_count: fc.nat(),
    last_error: fc.string({ unit: "binary" }),
    paused_until: time,
    hint: fc.record({ expires_at: time }),
    from_tomorrow: json,
  },
  { requiredKeys: ["status"] },
);

describe("the document of a state", () => {
  it("tells the same state when it is read", () => {
    fc.assert(
      fc.property(state, (given) => {
        expect(documentOf(documentText(given))).toEqual(given);
      }),
    );
  });

  it("can be joined with other documents, by separators and by lines", () => {
    fc.assert(
      fc.property(fc.array(state), (given) => {
        const texts = given.map(documentText);
        for (const end of ["\n", "\0", DOCUMENT_END]) expect(texts.join("")).not.toContain(end);
        expect(given.length === 0 ? [] : documentsOf(texts.join(DOCUMENT_END), given.length)).toEqual(given);
      }),
    );
  });

  it("is short for what nearly every state has", () => {
    const plain = {
      status: "idle",
      last_run_at: AT,
      last_started_at: AT,
      last_completed_at: LATER,
      failure_count: 0,
    } as const;
    expect(documentText(plain)).toBe('{"r":1772355600000,"c":1772355900000,"f":0}');
  });

  it("says nothing of a claim, nor that it runs", () => {
    const claim = { token: "1", job_id: "job-2026-03-01-000001", slot: AT };
    expect(documentText({ status: "running", claim })).toBe("{}");
    expect(documentText({ status: "disabled", claim })).toBe('{"t":"disabled"}');
  });

  it.each([
    [
      '{"status":"disabled","last_run_at":"2026-03-01T09:00:00Z"}',
      { status: "disabled", last_run_at: "2026-03-01T09:00:00Z" },
    ],
    [`{"last_started_at":"${AT}","last_run_at":"${LATER}"}`, { last_started_at: AT, last_run_at: LATER }],
    ['{"__proto__":{"f":1}}', JSON.parse('{"__proto__":{"f":1}}')],
  ])("may have keys under their own names: %s", (text, expected) => {
    expect(documentOf(text)).toMatchObject(expected);
  });

  it.each([
    '{"r":1e300}',
    '{"r":0.5}',
    '{"c":"2026"}',
    '{"n":253402300800000}',
    '{"w":"whim"}',
    '{"f":-1}',
    '{"t":"asleep"}',
    '{"f":1,"hint":{}}',
    '{"last_run_at":"yesterday"}',
  ])("resets the state where it says what cannot be: %s", (text) => {
    expect(documentOf(text)).toEqual({});
  });
});

describe("the documents of states that are written together", () => {
  const linesOf = (states: readonly ScheduleFields[]): string[] => {
    const documents = new SharedDocuments();
    for (const each of states) documents.add(each);
    return documents.lines.split("\n");
  };
  const few = fc.array(state, { minLength: 1, maxLength: 3 });
  const many = few.chain((different) =>
    fc.array(fc.constantFrom(...different), { minLength: 1, maxLength: 8 }),
  );

  it("are one line for all, or a line for each that says the same as alone", () => {
    fc.assert(
      fc.property(many, (states) => {
        const lines = linesOf(states);
        const each = lines.length === 1 ? states.map(() => lines[0]) : lines;
        expect(each).toEqual(states.map(documentText));
      }),
    );
  });

  it("are one line when all have the same keys and values, in different objects", () => {
    const equal = (): ScheduleFields => ({ status: "idle", last_run_at: AT, failure_count: 0 });
    expect(linesOf([equal(), equal(), equal()])).toEqual([documentText(equal())]);
  });

  it.each<[string, ScheduleFields]>([
    ["value", { status: "idle", last_run_at: LATER }],
    ["key more", { status: "idle", last_run_at: AT, last_error: "off" }],
    ["key less", { status: "idle" }],
  ])("are told apart by one %s", (_, other) => {
    const first: ScheduleFields = { status: "idle", last_run_at: AT };
    expect(linesOf([first, first, other])).toEqual([first, first, other].map(documentText));
  });
});
