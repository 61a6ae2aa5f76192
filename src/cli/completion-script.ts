/**
 * Shell completion scripts, generated from the definitions of the commands. For names of schedules and jobs a script
 * calls `rota` when the user presses Tab. Pure.
 */
import type { Argument, Command, Completion, Option } from "./command.js";
import { GLOBAL_OPTIONS } from "./global-options.js";

export const SHELLS = ["bash", "zsh", "fish"] as const;
export type Shell = (typeof SHELLS)[number];

/** The script that a shell loads. */
export function completionScript(shell: Shell, commands: readonly Command[]): string {
  if (shell === "bash") return bashScript(commands);
  return shell === "zsh" ? zshScript(commands) : fishScript(commands);
}

/** The commands that print names of the fleet, in a syntax that all three shells share. */
const ASKED = {
  agent: "rota list --all --names 2>/dev/null | sed 's,/[^/]*$,,' | sort -u",
  job: "rota jobs --ids 2>/dev/null",
  schedule: "rota list --all --names 2>/dev/null | sed 'h; s,/[^/]*$,,; G' | sort -u",
} as const;

function flags({ name, short }: Option): string[] {
  return short === undefined ? [`--${name}`] : [`--${name}`, `-${short}`];
}

function optionsOf({ options = [] }: Command): readonly Option[] {
  return [...options, ...GLOBAL_OPTIONS];
}

function bashScript(commands: readonly Command[]): string {
  const names = commands.map(({ name }) => name);
  const global = GLOBAL_OPTIONS.flatMap(flags).join(" ");
  const values = uniqueOptions(commands).flatMap((option) =>
    option.value === undefined
      ? []
      : [`    ${flags(option).join("|")}) ${bashOffer(option.completion)}; return ;;`],
  );
  const options = commands.map(
    (command) => `    ${command.name}) options="${optionsOf(command).flatMap(flags).join(" ")} --help" ;;`,
  );
  const words = commands.flatMap(({ name, arguments: [first] = [] }) =>
    first === undefined ? [] : [`    ${name}) ${bashOffer(first.completion)} ;;`],
  );
  return `# rota completion for bash: eval "$(rota completion bash)"
_rota() {
  local word="\${COMP_WORDS[COMP_CWORD]}" before="\${COMP_WORDS[COMP_CWORD-1]}" command="" options="" index
  local IFS=$'\\n'
  COMPREPLY=()
  for ((index = 1; index < COMP_CWORD; index++)); do
    case "\${COMP_WORDS[index]}" in
      ${names.join("|")}) command="\${COMP_WORDS[index]}"; break ;;
    esac
  done
  case "$before" in
${values.join("\n")}
  esac
  case "$command" in
    "") options="${global} --help --version" ;;
${options.join("\n")}
  esac
  if [[ "$word" == -* ]]; then _rota_words "$options"; return; fi
  case "$command" in
    "") _rota_words "${names.join(" ")}" ;;
${words.join("\n")}
  esac
}
_rota_words() { COMPREPLY=($(compgen -W "\${1// /$'\\n'}" -- "$word")); }
# compgen -W would evaluate names, which may contain any text.
_rota_asked() {
  local one
  while read -r one; do [[ "$one" == "$word"* ]] && COMPREPLY+=("$(printf %q "$one")"); done < <("$1")
}
${askedFunctions("_rota_", (name, command) => `${name}() { ${command}; }`)}
complete -F _rota rota
`;
}

function bashOffer(completion: Completion | undefined): string {
  if (completion === undefined) return ":";
  if (completion === "file") return 'COMPREPLY=($(compgen -f -- "$word"))';
  if (completion === "directory") return 'COMPREPLY=($(compgen -d -- "$word"))';
  return typeof completion === "string"
    ? `_rota_asked _rota_${completion}`
    : `_rota_words "${completion.join(" ")}"`;
}

function askedFunctions(prefix: string, define: (name: string, command: string) => string): string {
  return Object.entries(ASKED)
    .map(([what, command]) => define(`${prefix}${what}`, command))
    .join("\n");
}

/** One option for each name: options of the same name complete alike in all commands. */
function uniqueOptions(commands: readonly Command[]): readonly Option[] {
  const all = [...GLOBAL_OPTIONS, ...commands.flatMap(({ options = [] }) => options)];
  return [...new Map(all.map((option) => [option.name, option])).values()];
}

function zshScript(commands: readonly Command[]): string {
  const described = commands.map(({ name, summary }) => `    ${quoted(`${name}:${summary}`)}`);
  const cases = commands.map((command) => {
    const specs = [...optionsOf(command).flatMap(zshOption), ...(command.arguments ?? []).map(zshArgument)];
    return `    ${command.name}) _arguments ${specs.map(quoted).join(" ")} ;;`;
  });
  return `#compdef rota
# rota completion for zsh: eval "$(rota completion zsh)", after compinit
_rota() {
  local -a commands line
  local state
  commands=(
${described.join("\n")}
  )
  _arguments -C ${GLOBAL_OPTIONS.flatMap(zshOption).map(quoted).join(" ")} '1: :->command' '*:: :->rest'
  if [[ $state == command ]]; then _describe command commands; return; fi
  case $line[1] in
${cases.join("\n")}
  esac
}
${askedFunctions("_rota_", (name, command) => `${name}() { local -a words; words=("\${(@f)$(${command})}"); compadd -a words; }`)}
compdef _rota rota
`;
}

/** One entry for the long and one for the short name; each excludes the other. */
function zshOption(option: Option): string[] {
  const summary = option.summary.replaceAll(/[[\\\]:]/g, String.raw`\$&`);
  const value = option.value === undefined ? "" : `:${option.value}:${zshAction(option.completion)}`;
  const names = flags(option);
  const excluded = names.length === 1 ? "" : `(${names.join(" ")})`;
  return names.map((name) => `${excluded}${name}[${summary}]${value}`);
}

function zshArgument({ name, completion }: Argument): string {
  return `:${name}:${zshAction(completion)}`;
}

function zshAction(completion: Completion | undefined): string {
  if (completion === undefined) return " ";
  if (completion === "file") return "_files";
  if (completion === "directory") return "_files -/";
  return typeof completion === "string" ? `_rota_${completion}` : `(${completion.join(" ")})`;
}

function fishScript(commands: readonly Command[]): string {
  const lines = commands.map(
    ({ name, summary }) => `complete -c rota -n __fish_use_subcommand -a ${name} -d ${quoted(summary)}`,
  );
  for (const option of GLOBAL_OPTIONS) lines.push(`complete -c rota ${fishOption(option)}`);
  for (const { name, options = [], arguments: [first] = [] } of commands) {
    const within = `complete -c rota -n "__fish_seen_subcommand_from ${name}"`;
    for (const option of options) lines.push(`${within} ${fishOption(option)}`);
    if (first?.completion !== undefined) lines.push(`${within} ${fishWords(first.completion)}`);
  }
  return `# rota completion for fish: rota completion fish | source
${askedFunctions("__rota_", (name, command) => `function ${name}; ${command}; end`)}
complete -c rota -f
${lines.join("\n")}
`;
}

function fishOption({ name, short, summary, value, completion }: Option): string {
  const words = value === undefined ? "" : ` -r ${completion === undefined ? "" : fishWords(completion)}`;
  return `-l ${name}${short === undefined ? "" : ` -s ${short}`} -d ${quoted(summary)}${words}`.trimEnd();
}

function fishWords(completion: Completion): string {
  if (completion === "file") return "-F";
  if (completion === "directory") return "-a '(__fish_complete_directories)'";
  return typeof completion === "string"
    ? `-a '(__rota_${completion})'`
    : `-a ${quoted(completion.join(" "))}`;
}

/** A literal in single quotes. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
