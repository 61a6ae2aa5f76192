/** A terminal of somebody who has only the rights in the database that a test gives. */
import { inject, onTestFinished } from "vitest";
import type { ExitCode } from "../../../src/cli/exit-codes.js";
import { randomToken } from "../../../src/random.js";
import { blocksOf } from "../../package/pages.js";
import { sharedPool } from "../../state/postgres/schema.js";
import { DatabaseScene } from "./database-scene.js";

/** What the documentation says to give to a scheduler, a statement each, with ":user" and ":schema" for whom and where. */
export const GRANTS: readonly string[] = blocksOf("docs/several-machines.md", "sql")
  .flatMap(({ text }) => text.split(";\n"))
  .filter((statement) => statement !== "")
  .map((statement) => statement.replace(/\brota\b/, ":schema").replace(/\bscheduler\b/, ":user"));

export class UserScene extends DatabaseScene {
  /** Somebody with no rights at all. */
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

  /** `given`: statements that give or take rights, with ":user" and ":schema" for whose and where. */
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
