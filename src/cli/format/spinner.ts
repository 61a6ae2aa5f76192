/** The wheel that turns while something runs. Pure. */
const FRAMES = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];

/** The wheel after so many steps. */
export function spinnerFrame(step: number): string {
  return FRAMES[step % FRAMES.length] ?? "";
}
