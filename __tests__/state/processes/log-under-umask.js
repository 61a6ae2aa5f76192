// Uses a job log under a umask of its own, and prints how the files came out.
import { readdirSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { FileJobLog } from "../../../dist/state/file/jobs/file-job-log.js";

const [, , directory, umask] = process.argv;
// As any user: root could read what the modes forbid.
if (process.getuid?.() === 0) {
  process.setgid(65534);
  process.setuid(65534);
}
process.umask(Number.parseInt(umask, 8));
const log = new FileJobLog({ directory });
const { id } = await log.start({ agent: "a", trigger: "manual" });
const output = await log.openOutput(id);
await output.write("kept");
await output.close();
await log.finish(id, { status: "completed" });
const [record] = await log.list();
await log.close();

const modeOf = (path) => (statSync(path).mode & 0o777).toString(8);
const files = readdirSync(directory).map((name) => modeOf(join(directory, name)));
const directories = [modeOf(directory), modeOf(dirname(directory))];
process.stdout.write(JSON.stringify({ status: record?.status, directories, files }));
