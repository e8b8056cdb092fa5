/*
 * The tables of docs/messages.md: the codes of verdicts, and every message that stops a command, extracted from the
 * source files. Used by the build.
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
    if (inside === "'" || inside === '`') {
      if (at === '\\') i++
      else if (at === inside) open.pop()
      else if (inside === '`' && text.startsWith('${', i)) {
        open.push('}')
        i++
      }
    } else if (at === "'" || at === '`') open.push(at)
    else if (closing[at] !== undefined) open.push(closing[at])
    else if (at === inside) open.pop()
    if (open.length === 0) return text.slice(from, i + 1)
  }
  return text.slice(from)
}

/** A text of the source as it is shown: `…` in place of inserted values. undefined if it isn't a plain text. */
function shown(source: string): string | undefined {
  const text = source.trim()
  if (!/^['`]/.test(text)) return undefined
  const literal = enclosed(text, 0)
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

/** Messages that only contain what the caller has put together mean nothing here. */
const isTelling = (text: string): boolean => /[A-Za-z]{3}/.test(text.replaceAll('…', ''))

interface StopText {
  readonly message: string
  readonly exit: string
  readonly hint: string
}

function stopsIn(text: string): StopText[] {
  return [...text.matchAll(/new Stop\(/g)].flatMap(({ index }) => {
    const call = enclosed(text, index + 'new Stop'.length)
    const message = shown(call.slice(1))
    if (message === undefined || !isTelling(message)) return []
    const hint = /\bhint: (['`][\s\S]*)/.exec(call)?.[1]
    return [
      {
        message,
        exit: /exitCode: (\d)/.exec(call)?.[1] ?? '',
        hint: (hint === undefined ? undefined : shown(hint)) ?? '',
      },
    ]
  })
}

/** `sources`: the texts of the program's files. The same message in several places is one row. */
export function messageReference(sources: readonly string[]): string {
  const rows = new Map<string, StopText>()
  for (const stop of sources.flatMap(stopsIn))
    rows.set(`${stop.message} ${stop.exit}`, rows.get(`${stop.message} ${stop.exit}`) ?? stop)
  const sorted = [...rows.values()].toSorted((a, b) => (a.message < b.message ? -1 : 1))
  return table(
    ['message', 'exit', 'hint'],
    sorted.map(({ message, exit, hint }) => [`\`${cell(message)}\``, exit, cell(hint)]),
  )
}
