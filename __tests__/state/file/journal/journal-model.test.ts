/** The journal against a model: any history of decisions, segments, failures and restarts gives the model's state. */
import { writeFileSync } from "node:fs";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { systemError } from "../../watched-disk.js";
import { JournalWorld, type Note, write } from "./journal-world.js";

const ID = fc.constantFrom("a", "b", "c", "ü", "__proto__", '"\n\u2028', "");
const ACTION = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({ kind: fc.constant("write"), id: ID, text: fc.string({ unit: "binary" }) }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("restart"), id: ID, text: fc.constant("") }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("fail"), id: ID, text: fc.string() }) },
);

describe("a journal", () => {
  it("gives the state that the model has, at each moment and to each reader", async () => {
    const history = fc.array(ACTION, { maxLength: 25 });
    await fc.assert(
      fc.asyncProperty(history, fc.integer({ min: 0, max: 25 }), async (actions, failAt) => {
        await using world = new JournalWorld();
        const options = { maxSegmentBytes: 300 };
        let owner = await world.opened(options);
        const { reader, notes } = world.reader();
        const model = new Map<string, string>();
        for (const { kind, id, text } of actions) {
          if (kind === "restart") {
            await owner.journal.close();
            owner = await world.opened(options);
          } else {
            let count = 0;
            world.watched.before = () => {
              if (kind === "fail" && count++ === failAt) throw systemError("EIO");
            };
            const isMade = await write(owner.journal, id, text).then(
              () => true,
              () => false,
            );
            world.watched.before = () => {};
            if (isMade) model.set(id, text);
          }
          expect(owner.notes.notes).toEqual(model);
          await reader.refresh();
          expect(notes.notes).toEqual(model);
        }
      }),
      { numRuns: 40 },
    );
  });

  it("opened on any beginning of its file has the state that it had at that length", async () => {
    await using world = new JournalWorld();
    const { journal, notes } = await world.opened();
    const states: { readonly length: number; readonly state: [string, string][] }[] = [];
    await write(journal, "first");
    for (let number = 0; number < 60; number++) {
      states.push({ length: world.bytes(1).length, state: [...notes.notes] });
      await write(journal, `n${(number * 7) % 20}`, `text ${number}`);
    }
    await journal.close();
    const whole = world.bytes(1);
    const random = fc.sample(fc.integer({ min: states[0]?.length ?? 0, max: whole.length - 1 }), {
      numRuns: 60,
      seed: 1,
    });
    for (const length of random) {
      writeFileSync(world.path(1), whole.subarray(0, length));
      const again = await world.opened();
      const expected = states.findLast((known) => known.length <= length)?.state;
      expect([...again.notes.notes]).toEqual(expected);
      const listed: Note[] = [];
      for await (const { records } of again.journal.scan())
        listed.push(...records.map(({ data }) => data as Note));
      expect(new Map(listed.map(({ id, text }) => [id, text]))).toEqual(new Map(expected));
      await again.journal.close();
    }
    expect(world.warnings).toEqual([]);
  });
});
