/** Whether a job that was never closed is still running, told by the process that started it. */
import { lifeOf, signerOf } from "../lock/process-identity.js";

/** Why the job counts as interrupted; `undefined` while its process lives. */
export function interruptionOf(signature: string | undefined): string | undefined {
  const signer = signature === undefined ? undefined : signerOf(signature);
  if (signer === undefined) return "Interrupted: its record does not say which process ran it.";
  const life = lifeOf(signer);
  if (life === "alive") return undefined;
  if (life === "dead") return `Interrupted: process ${signer.pid} ended before it did.`;
  return `Interrupted: it ran on another machine, or before this one was restarted (process ${signer.pid}).`;
}
