/*
 * docs/commands.md and the pages that continue it: every command, flag and exit code, from the declarations that the
 * help is made from. Used by the build.
 */
import type { Argument, Command, Option } from './command.js'
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

function section({ name, summary, help, argument, second, options = [], examples }: Command): string {
  const words = [argument, second].flatMap((word) => word ?? [])
  const usage = ['shopsync', name, ...words.map(wordOf), ...(options.length > 0 ? ['[flags]'] : [])].join(' ')
  const rows = [...words.map((word) => [`\`${wordOf(word)}\``, word.description]), ...options.map(flagRow)]
  return [
    `## shopsync ${name}`,
    `\`${usage}\`: ${summary}.`,
    ...(help ? [help.trim()] : []),
    ...(rows.length > 0 ? [table(['word, flag', 'means'], rows)] : []),
    ['```sh', ...examples.map(([line, says]) => `${line}   # ${says}`), '```'].join('\n'),
  ].join('\n\n')
}

/** The most lines of a page: nobody scrolls through more. */
const mostLines = 390

/** The commands in order, on as many pages as they need. The first page has what all commands share. */
export function commandReference(commands: readonly Command[]): readonly {
  /** In docs/. */
  readonly file: string
  readonly text: string
}[] {
  const sections = commands.map((command) => ({ name: command.name, text: section(command) }))
  const linesOf = (text: string): number => text.split('\n').length + 1
  const pages: (typeof sections)[] = [[]]
  let lines = linesOf(beginning(commands, () => ''))
  for (const one of sections) {
    if (lines + linesOf(one.text) > mostLines) {
      pages.push([])
      lines = 4
    }
    pages.at(-1)?.push(one)
    lines += linesOf(one.text)
  }
  const fileOf = (i: number): string => (i === 0 ? 'commands.md' : `commands-${i + 1}.md`)
  const placeOf = (name: string): string => {
    const at = pages.findIndex((page) => page.some((one) => one.name === name))
    return `${at === 0 ? '' : fileOf(at)}#shopsync-${name}`
  }
  return pages.map((page, i) => {
    const head =
      i === 0
        ? beginning(commands, placeOf)
        : `# Commands, page ${i + 1}\n\n[commands.md](commands.md) lists all commands, the flags they share, and their exit codes.`
    return { file: fileOf(i), text: `${[head, ...page.map(({ text }) => text)].join('\n\n')}\n` }
  })
}

function beginning(commands: readonly Command[], placeOf: (name: string) => string): string {
  const exits = [
    ...exitCodes.map(([code, meaning]) => [code, meaning]),
    [
      '130, 143',
      'stopped by SIGINT, SIGTERM: the current transaction is committed, and a message tells you where the next run resumes',
    ],
  ]
  return [
    '# Commands',
    'The build writes this page from the same declarations that `shopsync COMMAND --help` prints.',
    table(
      ['command', 'does'],
      commands.map(({ name, summary }) => [`[\`shopsync ${name}\`](${placeOf(name)})`, summary]),
    ),
    '## Flags of every command',
    'They can come before or after the command.',
    table(['flag', 'means'], globalOptions.map(flagRow)),
    'With `--json`, the document of a command that could not do its work is `{"error": {"message", "hint", "exit_code"}}`; the exit code is the same as without it. Logs go to stderr: text on a terminal, else one JSON object per line (`log.format`).',
    '## Exit codes',
    table(['code', 'means'], exits),
  ].join('\n\n')
}
