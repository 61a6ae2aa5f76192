/** The site: the pages of docs/ and the API reference, which scripts/site.js puts together in pages/. */
const page = (text, link) => ({ text, link });

export default {
  title: "Rota",
  description: "An embeddable scheduler for herds of agents",
  srcDir: "pages",
  outDir: "dist",
  cacheDir: ".cache",
  cleanUrls: true,
  // A dead link fails the build. This is the default, stated here so that it is not changed by accident.
  ignoreDeadLinks: false,
  markdown: {
    // Vue would read a template of a prompt, {{from.name}}, as its own: in a page it is text.
    config(markdown) {
      for (const rule of ["text", "code_inline"]) {
        const render = markdown.renderer.rules[rule];
        markdown.renderer.rules[rule] = (...args) => render(...args).replaceAll("{{", "&#123;&#123;");
      }
    },
  },
  // The search index is one large chunk, which loads with the first search.
  vite: { build: { chunkSizeWarningLimit: 2_000 } },
  themeConfig: {
    search: { provider: "local" },
    outline: [2, 3],
    sidebar: [
      { items: [page("Start here", "/")] },
      {
        text: "Use it",
        items: [
          page("Scheduling", "/scheduling"),
          page("Configuration", "/configuration"),
          page("Running a fleet", "/running-a-fleet"),
          page("Command line", "/cli"),
          page("Runtimes", "/runtimes"),
          page("Work sources", "/work-sources"),
          page("State and monitoring", "/state"),
          page("Several machines", "/several-machines"),
          page("Embedding and testing", "/embedding"),
          page("Troubleshooting", "/troubleshooting"),
        ],
      },
      {
        text: "Know it",
        items: [
          page("Guarantees", "/guarantees"),
          page("Architecture", "/architecture"),
          page("API reference", "/api/"),
        ],
      },
    ],
  },
};
