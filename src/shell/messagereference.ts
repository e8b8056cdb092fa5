/*
 * The tables of docs/runbook.md: the codes of verdicts, and the messages that stop a command, extracted from the source
 * files. Used by the build.
 */
import { actionOf, type Reason, reasons } from '../engine/base/reasons.js'

const cell = (text: string): string => text.replaceAll('|', '\\|').replaceAll(/\s+/g, ' ').trim()

const table = (head: readonly string[], rows: readonly (readonly string[])[]): string =>
  [head, head.map(() => '---'), ...rows].map((row) => `| ${row.join(' | ')} |`).join('\n')

export const reasonReference = (): string =>
  table(
    ['code', 'meaning', 'exit', 'what to do'],
    Object.entries(reasons).map(([code, words]) => {
      const [exit, advice] = actionOf[code as Reason]
      return [`\`${code}\``, cell(words), exit, cell(advice)]
    }),
  )

/** The text from an opening bracket or quote to the matching closing one, inclusive. */
function enclosed(text: string, from: number): string {
  const closing: Readonly<Record<string, string>> = { '(': ')', '{': '}', '[': ']' }
  const open: string[] = []
  for (let i = from; i < text.length; i++) {
    const at = text[i] ?? ''
    const inside = open.at(-1)
    if (inside === "'" || inside === '`' || inside === '"') {
      if (at === '\\') i++
      else if (at === inside) open.pop()
      else if (inside === '`' && text.startsWith('${', i)) {
        open.push('}')
        i++
      }
    } else if (at === "'" || at === '`' || at === '"') open.push(at)
    else if (closing[at] !== undefined) open.push(closing[at])
    else if (at === inside) open.pop()
    if (open.length === 0) return text.slice(from, i + 1)
  }
  return text.slice(from)
}

/** What the separators divide outside quotes and brackets: the arguments of a call, the branches of a choice. */
function split(text: string, separator: RegExp): string[] {
  const found = ['']
  for (let i = 0; i < text.length; i++) {
    const part = /['"`([{]/.test(text[i] ?? '') ? enclosed(text, i) : (text[i] ?? '')
    if (separator.test(text.slice(i, i + 2))) found.push('')
    else found[found.length - 1] += part
    i += part.length - 1
  }
  return found.map((part) => part.trim())
}

/** A text of the source as it is shown: `…` in place of inserted values. undefined if it isn't a plain text. */
function shown(source: string): string | undefined {
  if (!/^['"`]/.test(source)) return undefined
  const literal = enclosed(source, 0)
  let out = ''
  for (let i = 1; i < literal.length - 1; i++) {
    if (literal[i] === '\\') out += literal[++i] === 'n' ? ' ' : literal[i]
    else if (literal[0] === '`' && literal.startsWith('${', i)) {
      out += '…'
      i += enclosed(literal, i + 1).length
    } else out += literal[i]
  }
  return out
}

/** The texts that an argument can be: its own, one per branch, or that of a constant of its file. */
function textsOf(argument: string, file: string): string[] {
  const [, ...branches] = split(argument, /^[?:]\s/)
  if (branches.length > 0) return branches.flatMap((branch) => textsOf(branch, file))
  const name = /^\w+/.exec(argument)?.[0]
  const named =
    name && new RegExp(`const ${name} =(?: \\([^)]*\\): string =>)?\\s+(['"\`][\\s\\S]*)`).exec(file)?.[1]
  const text = shown(named || argument)
  return text === undefined ? [] : [text]
}

/** Messages that only contain what the caller has put together mean nothing here. */
const isTelling = (text: string): boolean => /[A-Za-z]{3}/.test(text.replaceAll('…', ''))

interface StopText {
  readonly message: string
  readonly exit: string
  readonly hint: string
}

/** The functions and classes of a file that make a Stop of a message and a hint, with its exit code. */
const makersIn = (file: string): (readonly [name: string, exit: string])[] =>
  [
    ...file.matchAll(
      /\b(?:const|function) (\w+)[ =]*\(message: string[^)]*\): Stop\b[\s\S]*?exitCode: (\d)/g,
    ),
    ...file.matchAll(/\bclass (\w+) extends Stop [\s\S]*?exitCode: (\d)/g),
  ].map(([, name = '', exit = '']) => [name, exit])

function stopsOf(file: string, maker: string, exit?: string): StopText[] {
  return [...file.matchAll(new RegExp(`\\b${maker}\\(`, 'g'))].flatMap(({ index, 0: { length } }) => {
    const call = enclosed(file, index + length - 1)
    const [message = '', given = ''] = split(call.slice(1, -1), /^,/)
    const property = /\bhint(?:: |(?=[ ,}]))([\s\S]*)/.exec(given)
    const [own = ''] = split(property?.[1]?.trim() ?? '', /^[,}]/)
    const hint = exit === undefined ? own : given
    const [advice = ''] = /^\w+ \?/.test(hint) ? [] : textsOf(hint, file)
    return textsOf(message, file)
      .filter(isTelling)
      .map((text) => ({
        message: text,
        exit: exit ?? /exitCode: (\d)/.exec(given)?.[1] ?? '',
        hint: advice,
      }))
  })
}

const stopsIn = (file: string): StopText[] => [
  ...stopsOf(file, 'new Stop'),
  ...makersIn(file).flatMap(([name, exit]) => stopsOf(file, name, exit)),
]

/** Without a hint, a row adds nothing to its message. A slip of somebody who is typing doesn't need the runbook. */
const isWorthARow = ({ message, exit, hint }: StopText): boolean =>
  hint !== '' && !(exit === '2' && message.startsWith('Found '))

/** `sources`: the texts of the program's files. The same message in several places is one row. */
export function messageReference(sources: readonly string[]): string {
  const rows = new Map<string, StopText>()
  for (const stop of sources.flatMap(stopsIn).filter(isWorthARow))
    rows.set(`${stop.message} ${stop.exit}`, rows.get(`${stop.message} ${stop.exit}`) ?? stop)
  const sorted = [...rows.values()].toSorted((a, b) => (a.message < b.message ? -1 : 1))
  return table(
    ['message', 'exit', 'hint'],
    sorted.map(({ message, exit, hint }) => [`\`${cell(message)}\``, exit, cell(hint)]),
  )
}
