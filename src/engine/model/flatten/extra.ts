import { type JsonTextOptions, jsonText, MAX_DEPTH, storable } from './jsontext.js'

/** A member that the declaration of its object does not show. */
export class UnknownMember {
  /** The name as the warehouse can hold it. */
  readonly stored: string
  /** Whether JSON prints the name as it is, and a path that ends with the name ends with no other one. */
  readonly isPlain: boolean

  constructor(readonly name: string) {
    this.stored = storable(name)
    this.isPlain = !name.includes('.') && JSON.stringify(name) === `"${this.stored}"`
  }
}

/** The unknown fields of one record by their paths, as the JSON text of `_extra`. */
export class Extra {
  readonly #paths: string[] = []
  readonly #texts: string[] = []
  #arePlain = true

  /** `place`: the path of the member's object, with positions. Returns why the value cannot be held; null where it can. */
  add(
    place: string,
    { stored, isPlain }: UnknownMember,
    value: unknown,
    how: Pick<JsonTextOptions, 'careful' | 'form'>,
  ): string | null {
    const { text, reason } = jsonText(value, { careful: how.careful, form: how.form, depth: MAX_DEPTH - 1 })
    if (text === null) return reason
    this.#paths.push(place === '' ? stored : `${place}.${stored}`)
    this.#texts.push(text)
    this.#arePlain &&= isPlain
    return null
  }

  /** JSON text; null where no field could be added. */
  text(): string | null {
    if (this.#paths.length === 0) return null
    const names = this.#arePlain ? this.#paths.map((path) => `"${path}"`) : this.#distinct()
    return `{${names.map((name, i) => `${name}:${this.#texts[i]}`).join(',')}}`
  }

  /** A name can hold a dot and a character that the warehouse cannot hold, so that two paths become one. */
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
