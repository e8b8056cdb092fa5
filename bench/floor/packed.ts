/** A page's cells as flat things that cost little to send to another thread. */
import type { ResourceName } from '../source/climate.js'
import type { Cell, Row } from './rows.js'

export interface Packed {
  readonly tenant: number
  readonly resource: ResourceName
  /** Rows of each table. */
  readonly counts: readonly number[]
  readonly kinds: Uint8Array<ArrayBuffer>
  readonly numbers: Float64Array<ArrayBuffer>
  readonly text: string
}

export function pack(tenant: number, resource: ResourceName, tables: readonly Row[][]): Packed {
  let size = 0
  for (const rows of tables) size += rows.length * (rows[0]?.length ?? 0)
  const [kinds, numbers, texts] = [new Uint8Array(size), new Float64Array(size), [] as string[]]
  let at = 0
  for (const rows of tables)
    for (const row of rows)
      for (let i = 0; i < row.length; i++, at++) {
        const cell = row[i]
        if (typeof cell === 'string') {
          kinds[at] = 1
          numbers[at] = cell.length
          texts.push(cell)
        } else if (cell !== null) {
          kinds[at] = 2
          numbers[at] = Number(cell)
        }
      }
  return { tenant, resource, counts: tables.map((rows) => rows.length), kinds, numbers, text: texts.join('') }
}

/** Gives the cells one by one, in the order in which they were packed. */
export class Cells {
  readonly #packed: Packed
  #at = 0
  #text = 0

  constructor(packed: Packed) {
    this.#packed = packed
  }

  next(): Cell {
    const { kinds, numbers, text } = this.#packed
    const at = this.#at++
    const kind = kinds[at]
    if (kind === 0) return null
    if (kind === 2) return numbers[at] ?? 0
    const from = this.#text
    this.#text += numbers[at] ?? 0
    return text.slice(from, this.#text)
  }
}
