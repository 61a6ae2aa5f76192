/** `rota migrate`: makes the tables in a database, or brings them up to date, apart from any scheduler. */
import type { Call, Command } from "../command.js";
import { EXIT, type ExitCode } from "../exit-codes.js";
import { openDatabase, requiredAddress } from "../location/named-database.js";

export const migrateCommand: Command = {
  name: "migrate",
  summary: "Make the tables in a database, or bring them up to date.",
  details: [
    "A scheduler does so too when it starts, unless it may not: this is for a user with more rights, or a step of its " +
      "own before many start. Safe to call again, and from many places at once. A database that a newer version of " +
      "Rota has made is left as it is, with exit code 1.",
  ],
  examples: [
    { command: "rota migrate --database-url postgres://rota@db/app", says: "make or update its tables" },
    { command: "rota migrate --json", says: "those of DATABASE_URL, for a program" },
  ],
  run: migrate,
};

async function migrate(call: Call): Promise<ExitCode> {
  const { isJson, output } = call;
  const place = await openDatabase(requiredAddress(call));
  const { from, to } = await place.migrate();
  if (isJson) output.json({ database: place.name, from, to });
  else if (from === to) output.talk(`${place.name} is up to date: version ${to}.`);
  else if (from === 0) output.talk(`Made version ${to} in ${place.name}.`);
  else output.talk(`Brought ${place.name} from version ${from} to version ${to}.`);
  return EXIT.ok;
}
