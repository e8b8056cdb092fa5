import { printed } from './parse.js'
import type { Json } from './types.js'

/** Members of the object. */
export function members(object: object): number {
  let count = 0
  for (const _ in object) count++
  return count
}

/** The unknown fields of one record, by path; callers compare `members` with the known names first, which is cheap. */
export class Extra {
  #found: Json | null = null

  add(object: object, known: ReadonlySet<string>, path: string): void {
    this.#found ??= {}
    for (const [name, value] of Object.entries(object)) if (!known.has(name)) this.#found[path + name] = value
  }

  /** JSON text for the column `_extra`, or null; the next record begins. */
  take(): string | null {
    if (this.#found === null) return null
    const text = printed(this.#found)
    this.#found = null
    return text
  }
}

export const names = (text: string): ReadonlySet<string> => new Set(text.split(' '))
