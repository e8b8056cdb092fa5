/**
 * JSON for files that people write: errors with line and column, integers beyond 2^53 exact (as bigint), duplicate
 * keys refused, and the line of every value known, so that a complaint about a value can say where it stands.
 */
export interface JsonDocument {
  readonly value: unknown
  /** Line of each value, by its path, such as `sync.tenants[2]`. */
  readonly lines: ReadonlyMap<string, number>
}

export class JsonError extends SyntaxError {
  readonly line: number
  readonly column: number
  constructor(message: string, line: number, column: number) {
    super(message)
    this.line = line
    this.column = column
  }
}

export const memberPath = (path: string, key: string): string => (path === '' ? key : `${path}.${key}`)

export function parseDocument(text: string): JsonDocument {
  const parser = new Parser(text.startsWith('\uFEFF') ? text.slice(1) : text)
  return { value: parser.document(), lines: parser.lines }
}

const scalar = /(?:true|false|null|-?(?:0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?)(?![\w.+-])/y
// biome-ignore lint/suspicious/noControlCharactersInRegex: JSON strings may hold none of them
const string = /"(?:[^"\\\u0000-\u001F]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"/y

class Parser {
  readonly lines = new Map<string, number>()
  #at = 0

  constructor(private readonly text: string) {}

  document(): unknown {
    const value = this.#value('')
    this.#space()
    if (this.#at < this.text.length) this.#fail('found more after the end of the document')
    return value
  }

  #value(path: string): unknown {
    this.#space()
    this.lines.set(path, this.#position().line)
    const first = this.text[this.#at]
    if (first === '{') return this.#object(path)
    if (first === '[') return this.#array(path)
    if (first === '"') return this.#string()
    return this.#scalar()
  }

  #object(path: string): Record<string, unknown> {
    const members: Record<string, unknown> = {}
    this.#items('}', () => {
      if (this.text[this.#at] !== '"') this.#fail(`${this.#found()}, expected a key in double quotes`)
      const start = this.#at
      const key = this.#string()
      if (Object.hasOwn(members, key)) this.#fail(`the key "${key}" stands there twice`, start)
      this.#space()
      this.#take(':', 'a colon')
      const value = this.#value(memberPath(path, key))
      Object.defineProperty(members, key, { value, enumerable: true, writable: true, configurable: true })
    })
    return members
  }

  #array(path: string): unknown[] {
    const items: unknown[] = []
    this.#items(']', () => {
      items.push(this.#value(`${path}[${items.length}]`))
    })
    return items
  }

  #items(end: '}' | ']', item: () => void): void {
    this.#at += 1
    this.#space()
    if (this.text[this.#at] === end) {
      this.#at += 1
      return
    }
    for (;;) {
      item()
      this.#space()
      const next = this.text[this.#at]
      if (next === end) break
      this.#take(',', `a comma or ${end}`)
      this.#space()
      if (this.text[this.#at] === end) this.#fail(`found a comma before ${end}, expected none there`)
    }
    this.#at += 1
  }

  #string(): string {
    string.lastIndex = this.#at
    const match = string.exec(this.text)
    if (!match)
      this.#fail('found a string without its closing quote, or with a line break or a lone \\ in it')
    this.#at = string.lastIndex
    return JSON.parse(match[0]) as string
  }

  #scalar(): unknown {
    scalar.lastIndex = this.#at
    const match = scalar.exec(this.text)
    if (!match) this.#fail(`${this.#found()}, expected a value`)
    this.#at = scalar.lastIndex
    const value: unknown = JSON.parse(match[0])
    const whole = typeof value === 'number' && match[1] === undefined && match[2] === undefined
    return whole && !Number.isSafeInteger(value) ? BigInt(match[0]) : value
  }

  #take(character: string, name: string): void {
    if (this.text[this.#at] !== character) this.#fail(`${this.#found()}, expected ${name}`)
    this.#at += 1
  }

  #space(): void {
    while (' \t\r\n'.includes(this.text[this.#at] ?? '-')) this.#at += 1
    if (/^\/[/*]/.test(this.text.slice(this.#at, this.#at + 2))) {
      this.#fail('found a comment, which JSON does not have; remove it')
    }
  }

  #found(): string {
    const character = this.text[this.#at]
    return character === undefined ? 'found the end of the file' : `found ${JSON.stringify(character)}`
  }

  #position(at = this.#at): { line: number; column: number } {
    const before = this.text.slice(0, at)
    return { line: before.split('\n').length, column: at - before.lastIndexOf('\n') }
  }

  #fail(message: string, at = this.#at): never {
    const { line, column } = this.#position(at)
    throw new JsonError(message, line, column)
  }
}

/** JSON text of anything, 64-bit integers printed exactly. */
export function toJson(value: unknown, indent?: number): string {
  const mark = `int64:${Math.random().toString(36).slice(2)}:`
  const text = JSON.stringify(
    value,
    (_key, item: unknown) => (typeof item === 'bigint' ? `${mark}${item}` : item),
    indent,
  )
  return text.replaceAll(new RegExp(`"${mark}(-?\\d+)"`, 'g'), '$1')
}
