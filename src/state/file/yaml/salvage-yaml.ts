/**
 * Reads YAML text that is partly broken, or too much for the parser: it is cut at its keys, level by level, until
 * every readable part is read. A key that can be read alone means the same within its map.
 */
import {
  broken,
  doubleKey,
  faultIn,
  isTooMuch,
  readYaml,
  type YamlBreak,
  type YamlTree,
} from "./yaml-tree.js";

/** The tree of a map's text. Only what is broken is cut, through so many levels of maps within maps. */
export async function salvageYaml(text: string, levels: number, start = 0): Promise<YamlTree> {
  const whole = await readYaml(text, start);
  if (whole.kind !== "broken" || levels === 0) return whole;
  const entries = new Map<string, YamlTree>();
  const { text: blanked, strays } = withoutStrays(text);
  const faults: YamlBreak[] = strays.map((offset) => broken(start + offset, NO_KEY));
  for (const part of cutAtKeys(blanked)) {
    const offset = start + part.offset;
    const tree = await readPart(part.text, levels, offset);
    if (tree.kind === "map") {
      for (const fault of tree.faults) faults.push(fault);
      for (const [key, entry] of tree.entries) {
        if (entries.has(key)) faults.push(doubleKey(key, entry, offset));
        else entries.set(key, entry);
      }
    } else faults.push(tree.kind === "broken" ? tree : broken(offset, NO_KEY));
  }
  if (entries.size === 0) return whole;
  const salvaged: YamlTree = { kind: "map", offset: start, entries, faults };
  // A break that no part shows is in how they stand together.
  if (!isTooMuch(text) && faultIn(salvaged) === undefined) faults.push(whole);
  return salvaged;
}

interface Part {
  readonly text: string;
  readonly offset: number;
}

const NO_KEY = "expected a key and what it says";
/** A line other than a comment, and its indentation. */
const CONTENT = /(?:^|\n)( *)(?=[^ \t\r\n#])/;
/** Comments, items and closing brackets begin nothing and end nothing. */
const BEGINS = "(?=[^ \\t\\r\\n#\\-}\\]]|-(?![ \\t\\r\\n]))";
const DEEPEST = 200;

function indentOf(text: string): number {
  const [, { length: indent } = ""] = CONTENT.exec(text) ?? [];
  return Math.min(indent, DEEPEST);
}

/** Blanks the lines that have no key and stand no further in than the keys: what follows belongs to what precedes. */
function withoutStrays(text: string): { text: string; strays: number[] } {
  const strays: number[] = [];
  const stray = new RegExp(
    `(?<=^|\\n) {0,${indentOf(text)}}${BEGINS}(?![^\\n]*:(?:[ \\t\\r\\n]|$))[^\\n]+`,
    "g",
  );
  const blanked = text.replaceAll(stray, (line: string, offset: number) => {
    // A document may say that it starts.
    const isStart = line.trimEnd() === "---" && !CONTENT.test(text.slice(0, offset));
    if (!isStart) strays.push(offset);
    return " ".repeat(line.length);
  });
  return { text: blanked, strays };
}

/** Each begins with a line that is indented as the first, and ends before the next such line. */
function cutAtKeys(text: string): Part[] {
  const indent = indentOf(text);
  const start = new RegExp(`(?:^|\\n) {${indent}}${BEGINS}`, "g");
  const offsets = Array.from(
    text.matchAll(start),
    ({ 0: opening, index }) => index + opening.length - indent,
  );
  return offsets.map((offset, index) => ({ text: text.slice(offset, offsets[index + 1]), offset }));
}

/** What a part says; of one that is broken, what its key holds. */
async function readPart(text: string, levels: number, offset: number): Promise<YamlTree> {
  const whole = await readYaml(text, offset);
  if (whole.kind !== "broken") return whole;
  const firstLine = text.slice(0, text.indexOf("\n") + 1);
  const opening = await readYaml(firstLine, offset);
  const [[key, value] = []] = opening.kind === "map" ? opening.entries : [];
  if (key === undefined || value?.kind !== "value" || value.value !== null) return whole;
  const start = firstLine.length;
  const entries = new Map([[key, await salvageYaml(text.slice(start), levels - 1, offset + start)]]);
  return { kind: "map", offset, entries, faults: [] };
}
