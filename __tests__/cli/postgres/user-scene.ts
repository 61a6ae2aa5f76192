/** A terminal for a database user with only the rights that the test grants. */
import { inject, onTestFinished } from "vitest";
import type { ExitCode } from "../../../src/cli/exit-codes.js";
import { randomToken } from "../../../src/random.js";
import { blocksOf } from "../../package/pages.js";
import { sharedPool } from "../../state/postgres/schema.js";
import { DatabaseScene } from "./database-scene.js";

/** The documented grants for a scheduler, one statement each, with placeholders ":user" and ":schema". */
export const GRANTS: readonly string[] = blocksOf("docs/several-machines.md", "sql")
  .flatMap(({ text }) => text.split(";\n"))
  .filter((statement) => statement !== "")
  .map((statement) => statement.replace(/\brota\b/, ":schema").replace(/\bscheduler\b/, ":user"));

export class UserScene extends DatabaseScene {
  /** A user without any rights. */
  readonly user: string = `user_${randomToken()}`;

  override get where(): string[] {
    const url = new URL(inject("databaseUrl"));
    url.username = this.user;
    url.password = "s3cr3t";
    return ["--database-url", url.href, "--database-schema", this.schema];
  }

  async sql(text: string): Promise<void> {
    await sharedPool().query(text);
  }

  /** `given`: grant and revoke statements, with placeholders ":user" and ":schema". */
  static async with(scene: UserScene, ...given: string[]): Promise<UserScene> {
    const { user, schema } = scene;
    await scene.sql(`create role ${user} login password 's3cr3t'`);
    onTestFinished(() => scene.sql(`drop owned by ${user}; drop role ${user}`));
    for (const text of given) await scene.sql(text.replaceAll(":user", user).replaceAll(":schema", schema));
    return scene;
  }

  static async onTables(...given: string[]): Promise<UserScene> {
    const scene = new UserScene();
    await scene.runAs("migrate");
    return UserScene.with(scene, ...given);
  }

  static onNothing(...given: string[]): Promise<UserScene> {
    const { schema } = DatabaseScene.unmade();
    return UserScene.with(new UserScene({}, schema), ...given);
  }

  /** As the owner. */
  runAs(command: string): Promise<ExitCode> {
    return this.runAlone(command, "--database-url", this.url, "--database-schema", this.schema);
  }
}
