/**
 * A transcript as text. `$ …` is a command; below it, indented by two spaces, stands what it printed on stdout, after `! `
 * what it printed on stderr, and `exit N` if it didn't end with 0. `# …` changes the world before the next command
 * (vocabulary.ts has these lines, and the commands beside the program); any other line is for its reader.
 */
export interface Entry {
  readonly kind: 'command' | 'change' | 'prose'
  readonly line: string
  /** After `$ ` or `# `. */
  readonly text: string
}

export interface Printed {
  readonly stdout: string
  readonly stderr: string
  readonly code: number | null
}

const command = '$ '
const change = '# '

/** What a transcript does, without what was printed. */
export function entriesOf(transcript: string): readonly Entry[] {
  return transcript
    .split('\n')
    .filter((line) => line !== '' && !/^(?: {2}|!(?: |$)|exit \d+$)/.test(line))
    .map((line) => {
      if (line.startsWith(command)) return { kind: 'command', line, text: line.slice(command.length) }
      if (line.startsWith(change)) return { kind: 'change', line, text: line.slice(change.length) }
      return { kind: 'prose', line, text: line }
    })
}

/** A transcript with what its commands printed, each with a blank line before what leads to it. */
export function written(entries: readonly (readonly [Entry, readonly string[]])[]): string {
  const lines: string[] = []
  let last: Entry['kind'] | undefined
  for (const [{ kind, line }, printed] of entries) {
    if (last !== undefined && (last === 'command' || (last === 'prose') !== (kind === 'prose')))
      lines.push('')
    lines.push(line, ...printed)
    last = kind
  }
  return `${lines.join('\n')}\n`
}

const marked = (text: string, mark: string): readonly string[] => {
  const lines = text.replace(/\n$/, '').split('\n')
  return text === '' ? [] : lines.map((line) => `${mark}${line}`.trimEnd())
}

/** The lines below a command. */
export const linesOf = ({ stdout, stderr, code }: Printed): readonly string[] => [
  ...marked(stdout, '  '),
  ...marked(stderr, '! '),
  ...(code === 0 ? [] : [`exit ${code}`]),
]

/** The words of a command line: quotes keep blanks, as in a shell. */
export function wordsOf(line: string): readonly string[] {
  const words = line.match(/(?:[^\s'"]|'[^']*'|"[^"]*")+/g) ?? []
  return words.map((word) => word.replaceAll(/'([^']*)'|"([^"]*)"/g, (_, one, two) => one ?? two))
}
