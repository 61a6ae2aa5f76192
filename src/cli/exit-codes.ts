/** The exit codes of the command, for scripts. */

export const EXIT = {
  ok: 0,
  failure: 1,
  /** Invalid usage or configuration. */
  usage: 2,
  /** The named agent, schedule or job does not exist, or the state does not. */
  notFound: 3,
  /** `rota status` has a warning, or no scheduler runs where one should. */
  warned: 4,
  /** The command waited for a job, and the job failed. */
  jobFailed: 5,
} as const;

export type ExitCode = (typeof EXIT)[keyof typeof EXIT];
