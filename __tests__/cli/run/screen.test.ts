import { describe, expect, it } from "vitest";
import { Screen } from "../../../src/cli/run/screen.js";
import { VirtualScreen } from "./virtual-screen.js";

interface Drawing {
  readonly screen: Screen;
  readonly seen: VirtualScreen;
  /** What was written, a text for each write. */
  readonly writes: string[];
  readonly draw: (...lines: string[]) => void;
}

function drawing(columns = 20, rows = 6): Drawing {
  const seen = new VirtualScreen(columns, rows);
  const writes: string[] = [];
  const screen = new Screen({
    write: (chunk) => {
      writes.push(String(chunk));
      seen.write(String(chunk));
    },
  });
  return { screen, seen, writes, draw: (...lines) => screen.draw(lines, seen.columns) };
}

describe("a screen", () => {
  it("replaces its lines in place", () => {
    const { seen, draw } = drawing();
    draw("one", "two", "three");
    draw("one", "2", "three");
    expect(seen.lines).toEqual(["one", "2", "three"]);
    expect(seen.scrolledAway).toEqual([]);
  });

  it("starts below the existing lines of the terminal", () => {
    const { seen, draw } = drawing();
    seen.write("$ rota run\r\n");
    draw("one", "two");
    draw("1", "2");
    expect(seen.lines).toEqual(["$ rota run", "1", "2"]);
  });

  it("writes each frame in one synchronized update", () => {
    const { seen, writes, draw } = drawing();
    draw("one", "two");
    draw("1", "2");
    expect(writes).toHaveLength(2);
    expect(seen.frames).toBe(2);
    expect(seen.isBusy).toBe(false);
  });

  it("writes nothing for an unchanged frame", () => {
    const { writes, draw } = drawing();
    draw("one", "two");
    draw("one", "two");
    expect(writes).toHaveLength(1);
  });

  it("writes only changed lines", () => {
    const { writes, draw } = drawing();
    draw("one", "two", "three");
    draw("one", "2", "three");
    expect(writes[1]).not.toContain("one");
    expect(writes[1]).toContain("2");
  });

  it("never clears a line before it writes it, which would flicker", () => {
    const { writes, draw } = drawing();
    draw("one", "two");
    draw("1", "2");
    expect(writes[1]).not.toContain("\u001b[J");
    expect(writes[1]?.indexOf("1\u001b[K")).toBeGreaterThan(0);
  });

  it.each([
    [["one", "two", "three"], ["one"]],
    [["one"], ["one", "two", "three"]],
    [
      ["one", "two"],
      ["a", "b", "c", "d"],
    ],
    [
      ["a", "b", "c", "d"],
      ["a", "b"],
    ],
    [
      ["a long line", "b"],
      ["a", "b"],
    ],
  ])("changes the number and length of its lines: %j to %j", (before, after) => {
    const { seen, draw } = drawing();
    draw(...before);
    draw(...after);
    draw("end", ...after.slice(1));
    expect(seen.lines).toEqual(["end", ...after.slice(1)]);
  });

  it("prints lines above the frame that stay", () => {
    const { screen, seen, draw } = drawing();
    draw("one", "two");
    screen.print("job a");
    screen.print("job b");
    draw("1", "2");
    expect(seen.lines).toEqual(["job a", "job b", "1", "2"]);
  });

  it("keeps every printed line, also after it has scrolled off the terminal", () => {
    const { screen, seen, draw } = drawing(20, 4);
    const printed = Array.from({ length: 12 }, (_, index) => `job ${index}`);
    for (const [index, line] of printed.entries()) {
      screen.print(line);
      draw("table", `frame ${index}`);
    }
    expect([...seen.scrolledAway, ...seen.lines]).toEqual([...printed, "table", "frame 11"]);
  });

  it.each([19, 20, 21, 40, 55])("prints a line of %i characters above the frame on 20 columns", (length) => {
    const { screen, seen, draw } = drawing();
    const line = "x".repeat(length);
    draw("one long enough", "two");
    screen.print(line);
    draw("one long enough", "two");
    const rows = line.match(/.{1,20}/g) ?? [];
    expect(seen.lines).toEqual([...rows, "one long enough", "two"]);
  });

  it("hides the cursor while it is open, and restores it at the end", () => {
    const { screen, seen, draw } = drawing();
    draw("one");
    expect(seen.isCursorShown).toBe(false);
    screen.close();
    expect(seen.isCursorShown).toBe(true);
  });

  it("erases its frame at the end, and keeps the printed lines", () => {
    const { screen, seen, draw } = drawing();
    draw("one", "two");
    screen.print("job a");
    draw("one", "two");
    screen.print("job b");
    screen.close();
    expect(seen.lines).toEqual(["job a", "job b"]);
    expect(seen.cursor).toEqual({ row: 2, column: 0 });
  });

  it("may be closed twice, and before it has drawn", () => {
    const { screen, writes } = drawing();
    screen.close();
    screen.close();
    expect(writes).toEqual([]);
  });

  it("prints queued lines at close although it never drew", () => {
    const { screen, seen } = drawing();
    screen.print("could not start");
    screen.close();
    expect(seen.lines).toEqual(["could not start"]);
  });

  it.each([
    [30, 6],
    [12, 6],
    [7, 12],
  ])("redraws in place on a terminal that is resized to %i columns and %i rows", (columns, rows) => {
    const { screen, seen, draw } = drawing(20, 12);
    screen.print("job a");
    draw("seventeen letters", "two", "eleven more");
    seen.resize(columns, rows);
    draw("cut", "two", "more");
    expect(seen.everything).toBe("job a\ncut\ntwo\nmore");
  });
});
