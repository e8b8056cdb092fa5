/* Scripts by which a shell completes the words of shopsync: made from the commands, so that they know each flag. */
import type { Command, Option } from '../command.js'

export const shells = ['bash', 'zsh', 'fish'] as const
export type Shell = (typeof shells)[number]

/** What the scripts complete beside the commands' own words. */
export interface Words {
  readonly commands: readonly Command[]
  readonly resources: readonly string[]
  readonly jobs: readonly string[]
}

const globals: readonly Option[] = [
  { flags: '--config <file>', description: 'configuration file' },
  { flags: '--env-file <file>', description: 'file with environment variables' },
  { flags: '--json', description: 'one JSON document on stdout' },
  { flags: '--quiet', description: 'say nothing but errors and what needs somebody' },
  {
    flags: '--log-level <level>',
    description: 'least severe messages to log',
    choices: ['trace', 'debug', 'info', 'warn', 'error', 'silent'],
  },
  { flags: '--help', description: 'print help' },
]

const flagOf = ({ flags }: Option): string => /--[\w-]+/.exec(flags)?.[0] ?? ''
const takesFile = ({ flags }: Option): boolean => /<(file|path)>/i.test(flags)
const takesValue = ({ flags }: Option): boolean => flags.includes('<')
const optionsOf = (command: Command): readonly Option[] => [...(command.options ?? []), ...globals]
const flagsOf = (options: readonly Option[]): string => options.map(flagOf).join(' ')

/** The words that the first argument of a command may be. */
function argumentsOf({ name }: Command, { jobs }: Words): readonly string[] {
  if (name === 'run') return jobs
  if (name === 'completion') return shells
  if (name === 'quarantine') return ['list', 'replay']
  if (name === 'jobs') return ['list', 'show', 'validate']
  return []
}

/** The values of a flag, where they are known. */
const valuesOf = (option: Option, { resources }: Words): readonly string[] =>
  flagOf(option) === '--resource' ? resources : (option.choices ?? [])

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
  const cases = words.commands.map((command) => {
    const first = argumentsOf(command, words)
    return `    ${command.name}) words='${[...first, flagsOf(optionsOf(command))].join(' ')}' ;;`
  })
  return `# shopsync completion bash: put it where bash looks for completions, or source it.
_shopsync() {
  local cur=\${COMP_WORDS[COMP_CWORD]} prev=\${COMP_WORDS[COMP_CWORD-1]} command='' word words=''
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case "$word" in ${names.join('|')}) command=$word; break ;; esac
  done
  case "$command:$prev" in
${[...known].map(([place, values]) => `    ${place}) COMPREPLY=($(compgen -W '${values}' -- "$cur")); return ;;`).join('\n')}
    ${files.map((flag) => `*:${flag}`).join('|')}) COMPREPLY=($(compgen -f -- "$cur")); return ;;
    ${others.map((flag) => `*:${flag}`).join('|')}) COMPREPLY=(); return ;;
  esac
  case "$command" in
    '') words='${names.join(' ')} ${flagsOf(globals)} --version' ;;
${cases.join('\n')}
  esac
  if [ "$command" = run ] && [ -d jobs ]; then words="$words $(cd jobs && ls | sed -n 's/[.]json$//p')"; fi
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

function fish(words: Words): string {
  const lines = words.commands.flatMap((command) => {
    const inside = `-n '__fish_seen_subcommand_from ${command.name}'`
    const first = argumentsOf(command, words)
    return [
      `complete -c shopsync -n __fish_use_subcommand -f -a ${command.name} -d ${quoted(command.summary)}`,
      ...(first.length > 0 ? [`complete -c shopsync ${inside} -f -a ${quoted(first.join(' '))}`] : []),
      ...(command.options ?? []).map((option) => fishOption(option, inside, words)),
    ]
  })
  const everywhere = globals.map((option) => fishOption(option, '', words))
  return `# shopsync completion fish: write it to ~/.config/fish/completions/shopsync.fish
${[...everywhere, ...lines].join('\n')}
`
}

const scripts: Readonly<Record<Shell, (words: Words) => string>> = { bash, zsh, fish }

/** The script of a shell. */
export const completionScript = (shell: Shell, words: Words): string => scripts[shell](words).trimEnd()
