import type { NumberForm } from '../../base/numbertoken.js'
import { jsonText, MAX_DEPTH, storable } from './jsontext.js'

/** A member that the declaration of its object doesn't have. */
export class UnknownMember {
  /** The name in a form that the warehouse can hold. */
  readonly stored: string
  /** Whether JSON prints the name as it is, and no other path can end up the same as one that ends with it. */
  readonly isPlain: boolean

  constructor(readonly name: string) {
    this.stored = storable(name)
    this.isPlain = !name.includes('.') && JSON.stringify(name) === `"${this.stored}"`
  }
}

/** The unknown fields of one record by path, as the JSON text of `_extra`. */
export class Extra {
  readonly #paths: string[] = []
  readonly #texts: string[] = []
  #arePlain = true

  /**
   * `place`: the path of the member's object, with positions. Returns why the value can't be held, or null if it can.
   */
  add(
    place: string,
    { stored, isPlain }: UnknownMember,
    value: unknown,
    how: { readonly careful: boolean; readonly form: NumberForm },
  ): string | null {
    const { text, reason } = jsonText(value, { careful: how.careful, form: how.form, depth: MAX_DEPTH - 1 })
    if (text === null) return reason
    this.#paths.push(place === '' ? stored : `${place}.${stored}`)
    this.#texts.push(text)
    this.#arePlain &&= isPlain
    return null
  }

  /** JSON text. null if no field could be added. */
  text(): string | null {
    if (this.#paths.length === 0) return null
    const names = this.#arePlain ? this.#paths.map((path) => `"${path}"`) : this.#distinct()
    return `{${names.map((name, i) => `${name}:${this.#texts[i]}`).join(',')}}`
  }

  /** A name can contain a dot, or a character that the warehouse can't hold, so two paths can become the same. */
  #distinct(): string[] {
    const taken = new Set<string>()
    return this.#paths.map((path) => {
      let free = path
      while (taken.has(free)) free += "'"
      taken.add(free)
      return JSON.stringify(free)
    })
  }
}
