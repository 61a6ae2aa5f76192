/** The parts of documentation pages that tests check: code blocks, headings, links. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

export const root: string = fileURLToPath(new URL("../../", import.meta.url));

export interface Block {
  /** File and line: "docs/state.md:42". */
  readonly at: string;
  readonly language: string;
  readonly text: string;
}

/** The paths of all pages, from the root. */
export const PAGES: readonly string[] = [
  "CONTRIBUTING.md",
  "README.md",
  ...readdirSync(join(root, "docs")).map((name) => `docs/${name}`),
];

export function textOf(page: string): string {
  return readFileSync(join(root, page), "utf8");
}

export function blocksOf(page: string, language?: string): readonly Block[] {
  const text = textOf(page);
  const all = Array.from(text.matchAll(/^```(\w*)\n(.*?)^```$/gms), (match): Block => {
    const line = text.slice(0, match.index).split("\n").length;
    return { at: `${page}:${line}`, language: match[1] ?? "", text: match[2] ?? "" };
  });
  return language === undefined ? all : all.filter((block) => block.language === language);
}

export function blocksOfAll(language?: string): readonly Block[] {
  return PAGES.flatMap((page) => blocksOf(page, language));
}

/** The text of a page without its code blocks. */
function proseOf(page: string): string {
  return textOf(page).replaceAll(/^```.*?^```$/gms, "");
}

/** The anchors that GitHub and the site derive from the headings of a page. */
export function anchorsOf(page: string): ReadonlySet<string> {
  return new Set(Array.from(proseOf(page).matchAll(/^#+ (.*)$/gm), ([, heading = ""]) => anchor(heading)));
}

function anchor(heading: string): string {
  return heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, "")
    .trim()
    .replaceAll(/\s/g, "-");
}

/** The links to files and headings of the repository. */
export function linksOf(page: string): readonly string[] {
  const targets = Array.from(proseOf(page).matchAll(/\]\(([^)\s]+)\)/g), ([, target = ""]) => target);
  return targets.filter((target) => !/^https?:/.test(target));
}
