/* Shell completion scripts for shopsync: made from the commands, so they know each flag. */
import type { Argument, Command, Option } from '../../shell/command.js'

export const shells = ['bash', 'zsh', 'fish'] as const
/** What the scripts complete besides the commands' own words. */
export interface Words {
  readonly commands: readonly Command[]
  readonly resources: readonly string[]
  readonly tables: readonly string[]
  readonly jobs: readonly string[]
}

const globals: readonly Option[] = [
  { flags: '--config <file>', description: 'configuration file' },
  { flags: '--env-file <file>', description: 'file with environment variables' },
  { flags: '--json', description: 'one JSON document on stdout' },
  { flags: '--quiet', description: 'print only errors and what needs attention' },
  {
    flags: '--log-level <level>',
    description: 'lowest severity to log',
    choices: ['trace', 'debug', 'info', 'warn', 'error', 'silent'],
  },
  { flags: '--help', description: 'print help' },
]

const flagOf = ({ flags }: Option): string => /--[\w-]+/.exec(flags)?.[0] ?? ''
const takesFile = ({ flags }: Option): boolean => /<(file|path)>/i.test(flags)
const takesValue = ({ flags }: Option): boolean => flags.includes('<')
const optionsOf = (command: Command): readonly Option[] => [...(command.options ?? []), ...globals]
const flagsOf = (options: readonly Option[]): string => options.map(flagOf).join(' ')

/** The words an argument may be, except jobs in a folder. */
const wordsOf = (argument: Argument | undefined, words: Words): readonly string[] =>
  argument?.names ? words[argument.names] : (argument?.choices ?? [])

interface Place {
  /** What comes before the word being typed: the command, or its first argument. */
  readonly command: string
  readonly after: string
  readonly argument: Argument
}

/** The places of arguments whose words are known. */
const placesOf = ({ name, argument, second }: Command): Place[] => [
  ...(argument ? [{ command: name, after: name, argument }] : []),
  ...(second ? (argument?.choices ?? []).map((after) => ({ command: name, after, argument: second })) : []),
]

/** A flag's values, if they are known. */
const valuesOf = (option: Option, { resources }: Words): readonly string[] =>
  flagOf(option) === '--resource' ? resources : (option.choices ?? [])

/** Jobs also come from the folder in which the user types. */
const bashWords = ({ argument }: Place, words: Words): string =>
  argument.names === 'jobs'
    ? `words="${words.jobs.join(' ')} $(ls jobs 2>/dev/null | sed -n 's/[.]json$//p') $words"`
    : `words="${wordsOf(argument, words).join(' ')} $words"`

function bash(words: Words): string {
  const names = words.commands.map(({ name }) => name)
  const every = words.commands.flatMap((command) => optionsOf(command).map((option) => ({ command, option })))
  const files = [
    ...new Set(every.filter(({ option }) => takesFile(option)).map(({ option }) => flagOf(option))),
  ]
  const known = new Map<string, string>()
  for (const { command, option } of every) {
    const values = valuesOf(option, words)
    if (values.length === 0) continue
    const isEverywhere = globals.includes(option) || flagOf(option) === '--resource'
    known.set(`${isEverywhere ? '*' : command.name}:${flagOf(option)}`, values.join(' '))
  }
  const free = every.filter(({ option }) => takesValue(option) && valuesOf(option, words).length === 0)
  const others = [...new Set(free.map(({ option }) => flagOf(option)))].filter(
    (flag) => !files.includes(flag),
  )
  const places = words.commands.flatMap(placesOf)
  const cases = words.commands.map(
    (command) => `    ${command.name}) words='${flagsOf(optionsOf(command))}' ;;`,
  )
  return `# shopsync completion bash: put it where bash looks for completions, or source it.
_shopsync() {
  local cur=\${COMP_WORDS[COMP_CWORD]} prev=\${COMP_WORDS[COMP_CWORD-1]} command='' word words=''
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case "$word" in ${names.join('|')}|help) command=$word; break ;; esac
  done
  case "$command:$prev" in
${[...known].map(([place, values]) => `    ${place}) COMPREPLY=($(compgen -W '${values}' -- "$cur")); return ;;`).join('\n')}
    ${files.map((flag) => `*:${flag}`).join('|')}) COMPREPLY=($(compgen -f -- "$cur")); return ;;
    ${others.map((flag) => `*:${flag}`).join('|')}) COMPREPLY=(); return ;;
  esac
  case "$command" in
    '') words='${names.join(' ')} help ${flagsOf(globals)} --version' ;;
    help) words='${names.join(' ')}' ;;
${cases.join('\n')}
  esac
  case "$command:$prev" in
${places.map((place) => `    ${place.command}:${place.after}) ${bashWords(place, words)} ;;`).join('\n')}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$cur"))
}
complete -o default -F _shopsync shopsync
`
}

const zsh = (words: Words): string => `#compdef shopsync
# shopsync completion zsh: put it into a folder of $fpath as _shopsync, or source it.
autoload -U +X bashcompinit && bashcompinit
${bash(words)}`

const quoted = (text: string): string => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`

function fishOption(option: Option, condition: string, words: Words): string {
  const parts = ['complete -c shopsync', condition, `-l ${flagOf(option).slice(2)}`]
  const values = valuesOf(option, words)
  if (takesValue(option)) parts.push(takesFile(option) ? '-r -F' : '-x')
  if (values.length > 0) parts.push(`-a ${quoted(values.join(' '))}`)
  parts.push(`-d ${quoted(option.description)}`)
  return parts.filter((part) => part !== '').join(' ')
}

function fishWords({ command, after, argument }: Place, words: Words): string {
  const seen = after === command ? '' : `; and __fish_seen_subcommand_from ${after}`
  const local = argument.names === 'jobs' ? ' (ls jobs 2>/dev/null | string replace -rf "[.]json\\$" "")' : ''
  const all = quoted(wordsOf(argument, words).join(' ') + local)
  return `complete -c shopsync -n '__fish_seen_subcommand_from ${command}${seen}' -f -a ${all}`
}

function fish(words: Words): string {
  const lines = words.commands.flatMap((command) => {
    const inside = `-n '__fish_seen_subcommand_from ${command.name}'`
    return [
      `complete -c shopsync -n __fish_use_subcommand -f -a ${command.name} -d ${quoted(command.summary)}`,
      ...placesOf(command).map((place) => fishWords(place, words)),
      ...(command.options ?? []).map((option) => fishOption(option, inside, words)),
    ]
  })
  const names = words.commands.map(({ name }) => name).join(' ')
  const everywhere = [
    ...globals.map((option) => fishOption(option, '', words)),
    `complete -c shopsync -n __fish_use_subcommand -f -a help -d 'print help for a command'`,
    `complete -c shopsync -n '__fish_seen_subcommand_from help' -f -a ${quoted(names)}`,
  ]
  return `# shopsync completion fish: write it to ~/.config/fish/completions/shopsync.fish
${[...everywhere, ...lines].join('\n')}
`
}

const scripts: Readonly<Record<(typeof shells)[number], (words: Words) => string>> = { bash, zsh, fish }

export const completionScript = (shell: (typeof shells)[number], words: Words): string =>
  scripts[shell](words).trimEnd()
