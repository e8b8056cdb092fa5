/*
 * JSON files that people write, parsed by momoa, which reports a mistake with its line and column and has the line of
 * every value. Stricter than momoa where JSON is (control characters in strings) and where people slip (a duplicate
 * key). Integers beyond 2^53 stay exact, as bigint, since tenant ids may be that large. Used by load.ts, for the
 * configuration and for the files of jobs.
 */
import { parse, type ValueNode } from '@humanwhocodes/momoa'
import { Bug } from '../base/errors.js'

interface Location {
  readonly line: number
  readonly column: number
  readonly offset: number
}

export class JsonError extends SyntaxError {
  readonly line: number
  readonly column: number
  constructor(message: string, { line, column }: Location) {
    super(message)
    this.line = line
    this.column = column
  }
}

export const memberPath = (path: string, key: string): string => (path === '' ? key : `${path}.${key}`)

export function parseDocument(file: string): {
  readonly value: unknown
  /** The line of each value, by path, such as `sync.tenants[2]`. */
  readonly lines: ReadonlyMap<string, number>
} {
  const text = file.startsWith('\uFEFF') ? file.slice(1) : file
  const lines = new Map<string, number>()
  const valueAt = (node: ValueNode, path: string): unknown => {
    lines.set(path, node.loc.start.line)
    const source = text.slice(node.loc.start.offset, node.loc.end.offset)
    switch (node.type) {
      case 'Object':
        return Object.fromEntries(
          membersOf(node).map(([key, value]) => [key, valueAt(value, memberPath(path, key))]),
        )
      case 'Array':
        return node.elements.map(({ value }, index) => valueAt(value, `${path}[${index}]`))
      case 'Number':
        return /^-?\d+$/.test(source) && !Number.isSafeInteger(node.value) ? BigInt(source) : node.value
      case 'String':
        return textOf(node, source)
      case 'Boolean':
        return node.value
      case 'Null':
        return null
      default:
        throw new Bug(`A ${node.type} in a file of JSON`)
    }
  }
  return { value: valueAt(parsed(text), ''), lines }
}

type NodeOf<T extends ValueNode['type']> = Extract<ValueNode, { readonly type: T }>

function membersOf({ members }: NodeOf<'Object'>): [key: string, value: ValueNode][] {
  const keys = new Set<string>()
  return members.map(({ name, value }) => {
    const key = name.type === 'String' ? name.value : name.name
    if (keys.has(key)) throw new JsonError(`the key "${key}" appears twice`, name.loc.start)
    keys.add(key)
    return [key, value]
  })
}

function textOf({ value, loc }: NodeOf<'String'>, source: string): string {
  if ([...source].some((character) => character < ' ')) throw new JsonError(brokenString, loc.start)
  return value
}

const isLocation = (error: unknown): error is Location =>
  error instanceof Error && 'line' in error && 'column' in error && 'offset' in error

/** None of our files is nested more than a few levels deep, and a parser's stack is finite. */
const deepest = 100

/** Refuses brackets that are nested too deep. Strings, which end with their line at the latest, are skipped. */
function refuseDepth(text: string): void {
  let depth = 0
  for (const { 0: found, index } of text.matchAll(/"(?:[^"\\\n]|\\.)*"?|[[\]{}]/g)) {
    if (found === '[' || found === '{') depth += 1
    if (found === ']' || found === '}') depth -= 1
    if (depth <= deepest) continue
    const lines = text.slice(0, index).split('\n')
    const place = { line: lines.length, column: (lines.at(-1) ?? '').length + 1, offset: index }
    throw new JsonError(`found more than ${deepest} nested brackets`, place)
  }
}

function parsed(text: string): ValueNode {
  refuseDepth(text)
  try {
    return parse(text, { mode: 'json' }).body
  } catch (error) {
    if (!isLocation(error)) throw error
  }
  // If a file ends too early, momoa points at its last word. A character that no JSON contains makes it point past the
  // end.
  try {
    return parse(`${text}\u0000`, { mode: 'json' }).body
  } catch (error) {
    if (!isLocation(error)) throw error
    const { line, column, offset } = error
    const behind = Math.max(0, offset - text.length)
    throw new JsonError(mistake(text, offset), { line, column: column - behind, offset: offset - behind })
  }
}

const brokenString = 'found a string without its closing quote, or with a line break or a lone \\ in it'

/** Describes the mistake in words: momoa names its own kinds of tokens, which nobody has typed. */
function mistake(text: string, offset: number): string {
  const open = structure(text.slice(0, offset))
  const next = /^(?:[\w.+-]+|\/[/*]|.)/s.exec(text.slice(offset))?.[0]
  if (open.includes('"')) return brokenString
  if (next === '//' || next === '/*') return 'found a comment, which JSON does not have; remove it'
  if (open.endsWith(',') && (next === '}' || next === ']'))
    return `found a comma before ${next}, expected none there`
  return `found ${next === undefined ? 'the end of the file' : JSON.stringify(next)}, expected ${expectedAfter(open)}`
}

/** The brackets that are open at the end of a text, and what is in them: `s` for a string, `v` for other values. */
function structure(text: string): string {
  const closed = /\{[^{}[\]]*\}|\[[^{}[\]]*\]/g
  let shape = text.replaceAll(/"(?:[^"\\]|\\.)*"/gs, 's').replaceAll(/\s+/g, '')
  while (closed.test(shape)) shape = shape.replaceAll(closed, 'v')
  return shape
}

function expectedAfter(shape: string): string {
  const bracket = /[{[](?=[^{[]*$)/.exec(shape)?.[0]
  if (/(?:^|[:[])$/.test(shape)) return 'a value'
  if (/[{,]$/.test(shape)) return bracket === '{' ? 'a key in double quotes' : 'a value'
  if (bracket === undefined) return 'the end of the file'
  if (bracket === '[') return 'a comma or ]'
  return /[{,]s$/.test(shape) ? 'a colon' : 'a comma or }'
}
