/** The pages of the documentation, as far as a test can hold them to something: blocks of code, headings, links. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

export const root: string = fileURLToPath(new URL("../../", import.meta.url));

export interface Block {
  /** Where it is: "docs/state.md:42". */
  readonly at: string;
  readonly language: string;
  readonly text: string;
}

/** All of them, from the root. */
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

/** Without its blocks of code. */
function proseOf(page: string): string {
  return textOf(page).replaceAll(/^```.*?^```$/gms, "");
}

/** What can stand behind a "#", as GitHub and the site make it of headings. */
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

/** The links to other places of the repository. */
export function linksOf(page: string): readonly string[] {
  const targets = Array.from(proseOf(page).matchAll(/\]\(([^)\s]+)\)/g), ([, target = ""]) => target);
  return targets.filter((target) => !/^https?:/.test(target));
}
