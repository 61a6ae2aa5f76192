// Fetches work once from the repository at argv[2], says how much there is, and has nothing more to do.
import { systemClock } from "../../../../dist/clock.js";
import { consoleLogger } from "../../../../dist/logger.js";
import { createGitHubSource } from "../../../../dist/work-sources/github/github-source.js";

const [, , base_url, repo, token] = process.argv;
process.env.TOKEN = token;
const source = createGitHubSource(
  { type: "github", repo, base_url, token_env: "TOKEN" },
  { clock: systemClock, logger: consoleLogger },
);
const items = await source.fetchAvailableWork();
process.stdout.write(`${items.length}\n`);
