/** The sections of a file of exports: its `// ##` headings, and the names that are exported below each. */
export function sectionsOf(text) {
  const [, ...parts] = text.split(/^\/\/ ## /m);
  return parts.map((part) => {
    const [title, ...lines] = part.split("\n");
    const lists = lines.join("\n").matchAll(/^export (?:type )?\{([^}]*)\}/gm);
    const names = Array.from(lists, ([, list]) =>
      list.split(",").map((name) =>
        name
          .trim()
          .replace(/^type /, "")
          .replace(/^.* as /, ""),
      ),
    );
    return { title, names: names.flat().filter((name) => name !== "") };
  });
}
