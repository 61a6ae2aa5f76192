/** Measures and cuts texts by the columns that they take on a terminal. Pure. */

const CHARACTERS = new Intl.Segmenter("en", { granularity: "grapheme" });
/** Characters without width: marks, joiners and format characters. */
const NO_WIDTH = /^[\p{Mark}\p{Format}\u{1160}-\u{11ff}]+$/u;
const WIDE =
  /^(?:\p{Emoji_Presentation}|[\u{1100}-\u{115f}\u{2329}\u{232a}\u{2e80}-\u{303e}\u{3041}-\u{4dbf}\u{4e00}-\u{a4cf}\u{a960}-\u{a97c}\u{ac00}-\u{d7a3}\u{f900}-\u{faff}\u{fe10}-\u{fe19}\u{fe30}-\u{fe6b}\u{ff01}-\u{ff60}\u{ffe0}-\u{ffe6}\u{16fe0}-\u{18cff}\u{1b000}-\u{1b2fb}\u{1f200}-\u{1f265}\u{20000}-\u{3fffd}])/u;
const EMOJI_STYLE = "\ufe0f";
const PLAIN = /^[\u0020-\u007e]*$/;
const CONTROL = /[\p{Control}\u{2028}\u{2029}\u{202a}-\u{202e}\u{2066}-\u{2069}]/gu;

export function textWidth(text: string): number {
  if (PLAIN.test(text)) return text.length;
  let width = 0;
  for (const { segment } of CHARACTERS.segment(text)) width += characterWidth(segment);
  return width;
}

function characterWidth(character: string): number {
  if (WIDE.test(character) || character.includes(EMOJI_STYLE)) return 2;
  return NO_WIDTH.test(character) ? 0 : 1;
}

/** The text, or its longest beginning that fits with a `…` at the end. */
export function cutToWidth(text: string, width: number): string {
  if (textWidth(text) <= width) return text;
  if (width < 1) return "";
  let kept = "";
  let taken = 1;
  for (const { segment } of CHARACTERS.segment(text)) {
    taken += characterWidth(segment);
    if (taken > width) break;
    kept += segment;
  }
  return `${kept}…`;
}

/**
 * The text as one line without control characters. Names, errors and summaries are untrusted: an escape sequence in one
 * could repaint the table or retitle the window.
 */
export function oneLine(text: string): string {
  return text
    .replaceAll(/\s*[\r\n]+\s*/g, " ")
    .replaceAll("\t", " ")
    .replaceAll(CONTROL, "\ufffd")
    .trim();
}
