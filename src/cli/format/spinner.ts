/** The spinner beside a running job. Pure. */
const FRAMES = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];

export function spinnerFrame(step: number): string {
  return FRAMES[step % FRAMES.length] ?? "";
}
