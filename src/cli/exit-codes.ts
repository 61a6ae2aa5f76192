/** What the command's exit code tells a script. */

export const EXIT = {
  ok: 0,
  failure: 1,
  /** Wrong usage, or a wrong configuration. */
  usage: 2,
  /** What was named, or the state where it should be, is not there. */
  notFound: 3,
  /** The job that was waited for failed. */
  jobFailed: 5,
} as const;

export type ExitCode = (typeof EXIT)[keyof typeof EXIT];
