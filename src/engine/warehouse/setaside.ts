/*
 * Takes the values out of a page that the database can't hold, such as a character that its encoding lacks, or a key too
 * long for an index. Only used after the database refused the page for such a value: the rows of each table are halved
 * down to those that it refuses, and these down to their columns. Every attempt is rolled back. The values go to
 * quarantine; a row whose key holds one goes there whole, because it can't be stored under another key.
 */
import { Skip } from '../base/errors.js'
import type { QuarantineEntry, Value } from '../model/flatten/batch.js'
import { type Column, type Table, tupleColumns } from '../model/table.js'
import type { BatchTables } from './batchtables.js'
import type { Dialect } from './dialect.js'
import { nameless } from './quarantine.js'
import type { AnyRows } from './rows.js'
import type { Applied, Batch, EncodedPage, SetAside } from './versionbatch.js'

/** Whether the rows could be stored without a value of theirs. */
const isOfValue = (error: unknown): boolean => error instanceof Skip && error.details.isOfValue === true

/** At most this much of a value is kept: quarantine must not be what the database can't hold. */
const mostKept = 4000

/** The same text in characters that every encoding has. In JSON, it means the same. */
const plain = (text: string): string =>
  text.replace(/[^\x20-\x7e]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)

const kept = (text: string): string => plain(JSON.stringify(text)).slice(0, mostKept)

const isText = ({ kind }: Column): boolean => kind === 'text' || kind === 'json'

/** Whether a row needs a text, in its key or elsewhere. */
const needsText = (table: Table): boolean =>
  tupleColumns(table).some((column) => isText(column) && !column.nullable)

class Parting {
  readonly entries: QuarantineEntry[] = []
  readonly whole: string[] = []

  constructor(
    private readonly dialect: Dialect,
    private readonly batch: Batch,
  ) {}

  /** The rows of a table that can be stored. */
  async storable(table: Table, rows: AnyRows): Promise<AnyRows> {
    const refused = await this.#refused(table, rows, 0, rows.owners.length)
    const removed = new Set<number>()
    let left = rows
    for (const { row, refusal } of refused) {
      const bad = await this.#badColumns(table, rows, row)
      // A row without a text that it needs is refused for another reason than a value, such as a trigger that calls itself.
      if (bad.length === 0 && !needsText(table)) throw refusal
      const reason = plain(refusal.message)
      if (bad.length === 0) {
        removed.add(row)
        this.#setRow(table, rows, row, reason)
      }
      for (const place of bad) {
        left = left.blank(row, place)
        this.#setValue(table, rows, { row, place }, reason)
      }
    }
    return removed.size === 0 ? left : left.keep((row) => !removed.has(row))
  }

  /** Why the database refuses these rows; undefined if it doesn't, or for another reason. */
  async #refusal(table: Table, rows: AnyRows): Promise<Skip | undefined> {
    const undo = new Error('undo')
    try {
      await this.dialect.transaction(async (session) => {
        await session.upsert(table, rows, this.batch, false)
        throw undo
      })
    } catch (error) {
      if (error === undo) return undefined
      const known = this.dialect.classify(error)
      if (known instanceof Skip && isOfValue(known)) return known
      throw known
    }
    return undefined
  }

  async #refused(
    table: Table,
    rows: AnyRows,
    from: number,
    to: number,
  ): Promise<{ readonly row: number; readonly refusal: Skip }[]> {
    if (from >= to) return []
    const refusal = await this.#refusal(
      table,
      rows.keep((row) => row >= from && row < to),
    )
    if (refusal === undefined) return []
    if (to - from === 1) return [{ row: from, refusal }]
    const middle = (from + to) >> 1
    return [
      ...(await this.#refused(table, rows, from, middle)),
      ...(await this.#refused(table, rows, middle, to)),
    ]
  }

  /** The columns that the row can be stored without. Empty if its key is what can't be held. */
  async #badColumns(table: Table, rows: AnyRows, row: number): Promise<number[]> {
    const one = rows.keep((other) => other === row)
    const places = tupleColumns(table).flatMap((column, place) =>
      column.nullable && isText(column) && one.text(0, place) !== null ? [place] : [],
    )
    const without = (left: readonly number[]): AnyRows =>
      left.reduce((rest, place) => rest.blank(0, place), one)
    if ((await this.#refusal(table, without(places))) !== undefined) return []
    const bad: number[] = []
    for (const place of places) {
      const alone = without(places.filter((other) => other !== place))
      if ((await this.#refusal(table, alone)) !== undefined) bad.push(place)
    }
    return bad
  }

  #setValue(
    table: Table,
    rows: AnyRows,
    { row, place }: { readonly row: number; readonly place: number },
    reason: string,
  ): void {
    const { name: column = '', computedBy } = tupleColumns(table)[place] ?? {}
    // What it is made of is named already.
    if (computedBy !== undefined) return
    this.entries.push({
      recordId: this.#recordOf(rows.owners[row]),
      path: table.owner === undefined ? column : `${this.#nameOf(table, rows, row)}.${column}`,
      value: kept(rows.text(row, place) ?? ''),
      reason,
    })
  }

  #setRow(table: Table, rows: AnyRows, row: number, reason: string): void {
    const texts = tupleColumns(table).map(({ name }, place): [string, string | null] => [
      name,
      rows.text(row, place),
    ])
    const recordId = this.#recordOf(rows.owners[row])
    const path = table.owner === undefined ? '' : this.#nameOf(table, rows, row)
    this.whole.push(`${recordId} ${path}`)
    const value = plain(JSON.stringify(Object.fromEntries(texts.filter(([, text]) => text !== null))))
    this.entries.push({ recordId, path, value: value.slice(0, mostKept), reason })
  }

  #recordOf(owner: Value | undefined): string {
    return typeof owner === 'string' ? nameless(owner) : String(owner)
  }

  /** Which of a record's rows. */
  #nameOf(table: Table, rows: AnyRows, row: number): string {
    const before = rows.owners.slice(0, row).filter((owner) => owner === rows.owners[row])
    return `${table.name}[${before.length}]`
  }
}

/** The page without what can't be held. */
async function withoutValues(
  dialect: Dialect,
  batch: Batch,
  { tables, derived, embedded }: BatchTables,
): Promise<{ readonly page: EncodedPage; readonly setAside: SetAside }> {
  const { page } = batch
  const parting = new Parting(dialect, batch)
  const rows = new Map<string, AnyRows>()
  for (const table of new Set([...tables, ...derived, ...embedded]))
    rows.set(table.name, await parting.storable(table, dialect.bulk.rows(page.rows, table)))
  const { entries, whole } = parting
  const inPlain = page.quarantine.map((entry) => ({
    ...entry,
    path: plain(entry.path),
    value: entry.value && plain(entry.value),
    reason: plain(entry.reason),
  }))
  const drift = page.drift.map((entry) => ({
    ...entry,
    path: plain(entry.path),
    detail: plain(entry.detail),
    example: entry.example && plain(entry.example),
  }))
  return {
    page: { ...page, rows: dialect.bulk.pageOf(rows), quarantine: [...inPlain, ...entries], drift },
    setAside: { entries, whole },
  }
}

/** Stores a batch; without the values that the database can't hold, if it refuses any. */
export async function storeStorable(
  { dialect, to, batch }: { readonly dialect: Dialect; readonly to: BatchTables; readonly batch: Batch },
  store: (batch: Batch) => Promise<Applied>,
): Promise<Applied> {
  try {
    return await store(batch)
  } catch (error) {
    if (!isOfValue(error)) throw error
    const { page, setAside } = await withoutValues(dialect, batch, to)
    return { ...(await store({ ...batch, page })), setAside }
  }
}
