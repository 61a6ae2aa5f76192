/** Lets the API reference call the package's entries by the names that they are imported by. */
import { Converter } from "typedoc";

export function load({ converter }) {
  converter.on(Converter.EVENT_RESOLVE_BEGIN, ({ project }) => {
    for (const entry of project.children ?? [])
      entry.name = entry.name === "index" ? "rota" : `rota/${entry.name}`;
  });
}
