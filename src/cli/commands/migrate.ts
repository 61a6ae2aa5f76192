/** `rota migrate`: creates the tables in a database, or brings them up to date, without a scheduler. */
import type { Call, Command } from "../command.js";
import { EXIT, type ExitCode } from "../exit-codes.js";
import { requiredDatabase } from "../location/locate.js";

export const migrateCommand: Command = {
  name: "migrate",
  summary: "Create the tables in a database, or bring them up to date.",
  details: [
    "A scheduler migrates too when it starts, if its database user may. Use this command for a user with more rights, " +
      "or as a deployment step before many schedulers start. It is safe to repeat, and to run from several machines at " +
      "once. It leaves the schema of a newer version of Rota unchanged, with exit code 1.",
  ],
  examples: [
    { command: "rota migrate --database-url postgres://rota@db/app", comment: "create or update its tables" },
    { command: "rota migrate --json", comment: "the database of ROTA_DATABASE_URL, for a program" },
  ],
  run: migrate,
};

async function migrate(call: Call): Promise<ExitCode> {
  const { isJson, output } = call;
  const location = await requiredDatabase(call);
  const { from, to } = await location.migrate();
  if (isJson) output.json({ database: location.name, from, to });
  else if (from === to) output.message(`${location.name} is up to date: version ${to}.`);
  else if (from === 0) output.message(`Created version ${to} in ${location.name}.`);
  else output.message(`Migrated ${location.name} from version ${from} to version ${to}.`);
  return EXIT.ok;
}
