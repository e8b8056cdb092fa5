/*
 * The command line: commands and flags in the form commander takes, and the messages for words that commander rejects.
 * Used by src/shell/call.ts.
 */
import { Command as Commander, CommanderError, Option as CommanderOption } from 'commander'
import type { LogLevel } from '../engine/config/config.js'
import { isSlip, nearest } from '../engine/config/nearest.js'
import type { Argument, Command, Example, Option } from './command.js'
import type { Io } from './io.js'
import { packageFolder, packageVersion } from './package.js'

/** Repeated here, because importing the configuration's list would load its module at every start. */
const levels: readonly LogLevel[] = ['trace', 'debug', 'info', 'warn', 'error', 'silent']

const about = `Incremental sync from the Repair-Shop Management REST API into a SQLite or Postgres warehouse.`

/** What each exit code means, and what whatever started the command should do: docs/commands.md shows both. */
export const exitCodes = [
  ['0', 'success: everything was done', 'nothing'],
  [
    '1',
    'finished, but something failed or differs',
    'go on, and show it; `status` and alerts have the details. Look if it persists',
  ],
  ['2', 'wrong usage or configuration; nothing was done', 'never retry: a person has to fix it'],
  [
    '3',
    'could not start: credentials refused, API or warehouse unreachable, port taken',
    'retry after a minute; look if it persists',
  ],
  ['4', 'another run holds the lock', 'retry after a minute; cron has the next run'],
  [
    '70',
    'an error of shopsync itself: not done, whatever was',
    'never retry automatically: show it, and report it',
  ],
] as const

/** Messages name files of the package, such as docs/runbook.md; the working directory is seldom its folder. */
const closing = (): string => `
Exit codes: ${exitCodes.map(([code, meaning]) => `${code} ${meaning}`).join('; ')}.

Nothing configured yet? Type shopsync demo

The documentation, and every file that a message names: ${packageFolder()}`

/** The flags of every command. */
export const globalOptions: readonly Option[] = [
  {
    flags: '--config <file>',
    description: 'configuration file (default: SHOPSYNC_CONFIG, else config.json)',
  },
  {
    flags: '--env-file <file>',
    description: 'file with environment variables (default: shopsync.env next to the configuration)',
  },
  { flags: '--json', description: 'print one JSON document to stdout, and nothing else' },
  { flags: '--quiet', description: 'print only errors and what needs attention' },
  { flags: '--log-level <level>', description: 'lowest severity to log', choices: levels },
]

export interface ParsedCall {
  readonly command: Command
  readonly argument: string | undefined
  readonly second: string | undefined
  readonly options: Readonly<Record<string, unknown>>
}

/** The command line. Commander calls `act` for the command that the words name. */
export function program(
  commands: readonly Command[],
  stdout: Io['stdout'],
  act: (call: ParsedCall) => Promise<void>,
): Commander {
  const columns = helpColumns(stdout)
  const root = new Commander('shopsync')
    .description(about)
    .version(packageVersion(), '--version', 'print the version')
    .helpOption('--help', 'print help')
    .helpCommand(false)
    .configureHelp({ showGlobalOptions: true, helpWidth: columns, minWidthToWrap: 20 })
    .addHelpText('after', () => `\n${proseText(closing(), columns)}`)
    .exitOverride()
    .configureOutput({ writeOut: (text) => void stdout.write(text), writeErr: () => undefined })
  for (const option of globalOptions) root.addOption(commanderOption(option))
  for (const command of commands) root.addCommand(subcommand(command, root, { columns, act }))
  return root.addCommand(helpCommand(root), { hidden: false })
}

/** For an unknown command, commander's own `help` shows the help of the program, without saying why. */
function helpCommand(root: Commander): Commander {
  const help = new Commander('help').copyInheritedSettings(root).helpOption(false)
  return help
    .helpGroup('Set it up:')
    .description('print help for a command')
    .argument('[command]')
    .action((name: string | undefined) => {
      const found = name === undefined ? root : root.commands.find((command) => command.name() === name)
      if (found) return found.help()
      const near = nearest(
        String(name),
        root.commands.map((command) => command.name()),
      )
      const meant = near === undefined ? '' : `\n(Did you mean shopsync help ${near}?)`
      throw new CommanderError(2, 'commander.unknownCommand', `error: unknown command '${name}'${meant}`)
    })
}

function subcommand(
  command: Command,
  root: Commander,
  { columns, act }: { readonly columns: number; readonly act: (call: ParsedCall) => Promise<void> },
): Commander {
  const sub = new Commander(command.name)
    .copyInheritedSettings(root)
    .summary(command.summary)
    .description(command.summary)
    .helpGroup(`${command.group}:`)
    .helpOption('--help', 'print help')
    .allowExcessArguments(false)
  sub.addHelpText('after', () => `\n${helpText(command, columns)}`)
  for (const argument of [command.argument, command.second])
    if (argument) sub.argument(wordOf(argument), argument.description)
  for (const option of command.options ?? []) sub.addOption(commanderOption(option))
  return sub.action(async () => {
    await act({ command, argument: sub.args[0], second: sub.args[1], options: sub.opts() })
  })
}

/** In commander's notation. */
const wordOf = ({ name, isOptional }: Argument): string => (isOptional ? `[${name}]` : `<${name}>`)

function commanderOption({ flags, description, repeatable, choices }: Option): CommanderOption {
  const option = new CommanderOption(flags, description)
  if (choices) option.choices(choices)
  if (repeatable)
    option.argParser((value: string, before: string[] | undefined) => [...(before ?? []), value])
  return option
}

/** Flags and commands that are expensive or erase something: a guess that is accepted unread must not start them. */
const costly: ReadonlySet<string> = new Set([
  '--full',
  '--accept-deletes',
  '--yes',
  '--force',
  'forget',
  'adopt',
])

/** What commander guesses, except for costly words that are more than one typo away. */
function suggestion(found: string, meant: string | undefined): string | undefined {
  const word = /'([^']*)'/.exec(found)?.[1] ?? ''
  // Commander knows the words of `help` that it then refuses.
  if (meant === word) return undefined
  return meant !== undefined && costly.has(meant) && !isSlip(word, meant) ? undefined : meant
}

/** The message for words that commander rejects; `command`: the one that was typed, if it is known. undefined if commander only printed help or the version. */
export function usageProblem(
  error: CommanderError,
  command?: string,
): { message: string; hint: string } | undefined {
  if (error.exitCode === 0) return undefined
  if (error.code === 'commander.help' || error.message === '(outputHelp)') {
    return { message: 'No command was given', hint: 'Type shopsync --help to list the commands' }
  }
  const [found = '', ...more] = error.message.replace(/^error: /, '').split('\n')
  const meant = suggestion(found, /\(Did you mean (.+)\?\)/s.exec(more.join('\n'))?.[1])
  const message = found.charAt(0).toUpperCase() + found.slice(1).replace(/\.$/, '')
  return {
    message,
    hint: found.includes("'--dry-run'")
      ? 'Type shopsync plan, which says what a run would do and changes nothing'
      : meant
        ? `Did you mean ${meant}?`
        : command !== undefined && command !== 'help'
          ? `Type shopsync ${command} --help`
          : 'Type shopsync --help, or shopsync help COMMAND',
  }
}

const usualColumns = 80
/** Longer lines are hard to read, however wide the terminal is. */
const mostColumns = 110

const helpColumns = ({ isTTY, columns }: { isTTY?: boolean; columns?: number }): number =>
  Math.min(mostColumns, (isTTY && columns) || usualColumns)

/** For plain words, which the help consists of: each character is one column wide. */
function filled(text: string, columns: number): string[] {
  const lines: string[] = []
  for (const word of text.split(/\s+/)) {
    const last = lines.at(-1)
    if (last !== undefined && last.length + 1 + word.length <= columns)
      lines[lines.length - 1] = `${last} ${word}`
    else lines.push(word)
  }
  return lines
}

/** Paragraphs, rewrapped for the width. */
const proseText = (text: string, columns: number): string =>
  text
    .trim()
    .split(/\n{2,}/)
    .map((paragraph) => filled(paragraph, columns).join('\n'))
    .join('\n\n')

const gap = 3
const indented = '  '

/** The description of an example is next to it, or below it if that is too wide. */
function exampleText([line, says]: Example, beside: number, columns: number): string {
  const head = indented + line
  const room = columns - beside
  if (head.length + gap > beside || room < 20)
    return [head, ...filled(says, columns - 6).map((part) => `      ${part}`)].join('\n')
  const [first = '', ...more] = filled(says, room)
  return [head.padEnd(beside) + first, ...more.map((part) => ' '.repeat(beside) + part)].join('\n')
}

function examplesText(examples: readonly Example[], columns: number): string {
  const lengths = examples.map(([line]) => indented.length + line.length + gap)
  const beside = Math.max(...lengths.filter((length) => length <= columns * 0.6), 0)
  return ['Examples:', ...examples.map((example) => exampleText(example, beside, columns))].join('\n')
}

const helpText = ({ help, examples }: Pick<Command, 'help' | 'examples'>, columns: number): string =>
  [...(help ? [proseText(help, columns)] : []), examplesText(examples, columns)].join('\n\n')
