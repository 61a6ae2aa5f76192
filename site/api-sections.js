/** Shows the names of `rota` in the sections of src/index.ts. A name in no section fails the build. */
import { readFileSync } from "node:fs";
import { Application, Comment, CommentTag, Converter } from "typedoc";
import { sectionsOf } from "./sections.js";

const sections = sectionsOf(readFileSync(new URL("../src/index.ts", import.meta.url), "utf8"));

export function load(app) {
  const order = sections.map(({ title }) => title);
  app.on(Application.EVENT_BOOTSTRAP_END, () => app.options.setValue("categoryOrder", order));
  app.converter.on(Converter.EVENT_RESOLVE_BEGIN, ({ project }) => {
    // The name that entry-names.js gives to src/index.ts.
    const entry = project.children.find(({ name }) => name === "rota");
    for (const child of entry.children) {
      const section = sections.find(({ names }) => names.includes(child.name));
      if (section === undefined) throw new Error(`${child.name} is in no section of src/index.ts.`);
      child.comment ??= new Comment();
      child.comment.blockTags.push(new CommentTag("@category", [{ kind: "text", text: section.title }]));
    }
  });
}
