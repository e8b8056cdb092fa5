/* docs/commands.md: every command, flag and exit code, from the declarations that the help prints. Used by the build. */
import {
  type Argument,
  type Command,
  choiceOptions,
  commandGroups,
  type Option,
  shardOption,
  timeLimitOption,
} from './command.js'
import { exitCodes, globalOptions } from './program.js'

const cell = (text: string): string => text.replaceAll('|', '\\|').replaceAll(/\s+/g, ' ').trim()

const table = (head: readonly string[], rows: readonly (readonly string[])[]): string =>
  [head, head.map(() => '---'), ...rows.map((row) => row.map(cell))]
    .map((row) => `| ${row.join(' | ')} |`)
    .join('\n')

const wordOf = ({ name, isOptional }: Argument): string => (isOptional ? `[${name}]` : `<${name}>`)

function flagRow({ flags, description, repeatable, choices }: Option): string[] {
  const values = choices ? `${description}: ${choices.map((word) => `\`${word}\``).join(', ')}` : description
  return [`\`${flags}\``, repeatable && !/repeated/.test(values) ? `${values}; may be repeated` : values]
}

/** Flags that mean the same in every command that takes them. */
const shared: readonly Option[] = [...choiceOptions, timeLimitOption, shardOption]

function section({ name, summary, help, argument, second, options = [], examples }: Command): string {
  const words = [argument, second].flatMap((word) => word ?? [])
  const usage = ['shopsync', name, ...words.map(wordOf), ...(options.length > 0 ? ['[flags]'] : [])].join(' ')
  const own = options.filter((option) => !shared.includes(option))
  const rows = [...words.map((word) => [`\`${wordOf(word)}\``, word.description]), ...own.map(flagRow)]
  const others = options.filter((option) => shared.includes(option)).map(({ flags }) => `\`${flags}\``)
  return [
    `## shopsync ${name}`,
    `\`${usage}\`: ${summary}.`,
    ...(help ? [help.trim()] : []),
    ...(rows.length > 0 ? [table(['word, flag', 'means'], rows)] : []),
    ...(others.length > 0 ? [`Also [${others.join(', ')}](#flags-of-several-commands).`] : []),
    ['```sh', ...examples.map(([line, says]) => `${line}   # ${says}`), '```'].join('\n'),
  ].join('\n\n')
}

/** The commands, by what they are for. */
const contents = (commands: readonly Command[]): string[][] =>
  commandGroups.flatMap((group) => [
    [`**${group}**`, ''],
    ...commands
      .filter((command) => command.group === group)
      .map(({ name, summary }) => [`[\`shopsync ${name}\`](#shopsync-${name})`, summary]),
  ])

const exits = [
  ...exitCodes,
  [
    '130, 143',
    'stopped by SIGINT, SIGTERM: the current transaction is committed, and a message tells you where the next run resumes',
    'retry after a minute, or wait for the next run',
  ],
  [
    'anything else',
    'killed, or Node crashed (134, 137, 139 and others)',
    'the same: it resumes where it was',
  ],
]

/** The page: what all commands share, then each of them. */
export const commandReference = (commands: readonly Command[]): string =>
  `${[
    '# Commands',
    'For everyone who types commands: all of them by what they are for, the flags that they share, exit codes, and then each with its flags and examples. The build writes this page from what `shopsync COMMAND --help` prints.',
    table(['command', 'does'], contents(commands)),
    '## Flags of every command',
    'They can come before or after the command.',
    table(['flag', 'means'], globalOptions.map(flagRow)),
    'With `--json`, the document of a command that could not do its work is `{"error": {"message", "hint", "exit_code"}}`; the exit code is the same as without it. Logs go to stderr: text on a terminal, else one JSON object per line (`log.format`).',
    '## Flags of several commands',
    table(['flag', 'means'], shared.map(flagRow)),
    '## Exit codes',
    table(['code', 'means', 'what cron or an orchestrator should do'], exits),
    'Only 0 and 1 mean that a run came to its end.',
    ...commands.map(section),
  ].join('\n\n')}\n`
