/** `rota completion`: prints the completion script for a shell. */
import { quote } from "../../errors.js";
import type { Argument, Call, Command } from "../command.js";
import { usageError } from "../errors.js";
import { EXIT, type ExitCode } from "../exit-codes.js";
import { completionScript, SHELLS } from "../completion-script.js";

const SHELL: Argument = {
  name: "shell",
  isRequired: true,
  summary: `One of ${SHELLS.join(", ")}.`,
  completion: SHELLS,
};

export const completionCommand: Command = {
  name: "completion",
  summary: "Print a script that lets a shell complete commands, options, and the names of schedules.",
  arguments: [SHELL],
  examples: [
    { command: 'eval "$(rota completion bash)"', comment: "in ~/.bashrc" },
    { command: 'eval "$(rota completion zsh)"', comment: "in ~/.zshrc, after compinit" },
    { command: "rota completion fish | source", comment: "in ~/.config/fish/config.fish" },
  ],
  run: completion,
};

function completion({ args, commands, output }: Call): Promise<ExitCode> {
  const shell = SHELLS.find((one) => one === args[0]);
  if (shell === undefined)
    throw usageError(`Unknown shell ${quote(args[0])}: expected one of ${SHELLS.join(", ")}`);
  output.raw(completionScript(shell, commands));
  return Promise.resolve(EXIT.ok);
}
