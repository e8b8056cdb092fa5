/**
 * Hidden columns: what the section `privacy` keeps out of the warehouse (docs/privacy.md). Flatten hides the values of a
 * page before anything else sees them, so no code behind it can store, compare or show one. What a page reports besides
 * its rows, quarantine and drift, is hidden here too.
 */
import { createHmac } from 'node:crypto'
import type { Int64, Resource, Shape } from '../../../schema/resource.js'
import { type Privacy, treatmentOf } from '../config/treatment.js'
import type { FlatPage, QuarantineEntry, Tuple, Value } from './flatten/batch.js'
import type { Table } from './table.js'

/** One column whose values are hidden. */
export interface HiddenColumn {
  readonly name: string
  readonly treatment: 'hash' | 'drop'
  /** Equal texts of one domain get equal pseudonyms. */
  readonly domain: string
}

/** The hidden columns of a table. */
export const hiddenColumnsOf = (privacy: Privacy, { name: table, columns }: Table): HiddenColumn[] =>
  columns.flatMap((column) => {
    // Its field is part of `_extra`: it is hidden where that is.
    const treatment = treatmentOf(privacy, table, column.isLeft ? { ...column, name: '_extra' } : column)
    const domain = column.personal?.domain ?? `${table}.${column.name}`
    return treatment === 'keep' ? [] : [{ name: column.name, treatment, domain }]
  })

/** A hash without this is found by trying all telephone numbers. */
const separator = '\u001f'

/** The pseudonym of a text: `h<keyVersion>:` and 22 characters. An empty text stays empty. */
export function pseudonym(
  { key, keyVersion }: Pick<Privacy, 'key' | 'keyVersion'>,
  tenantId: Int64,
  { domain }: Pick<HiddenColumn, 'domain'>,
  text: string,
): string {
  if (text === '' || key === null) return ''
  const digest = createHmac('sha256', key).update(`${tenantId}${separator}${domain}${separator}${text}`)
  return `h${keyVersion}:${digest.digest('base64url').slice(0, 22)}`
}

/** Says whether two keys are the same, without saying anything about them. */
export const keyCheck = ({ key }: Pick<Privacy, 'key'>): string | null =>
  key && createHmac('sha256', key).update('shopsync').digest('hex').slice(0, 16)

/** The value that is stored instead of a column's value. */
export function hiddenValue(privacy: Privacy, tenantId: Int64, column: HiddenColumn, value: Value): Value {
  if (column.treatment === 'drop' || typeof value !== 'string') return null
  return pseudonym(privacy, tenantId, column, value)
}

/** A place in a record, without positions, such as `services[].parts[].cost_cents`. */
const plain = (path: string): string => path.replaceAll(/\[\d+\]/g, '[]')

/** The reason of a quarantined value that isn't kept itself. */
const hiddenReason = ' (hidden by privacy)'

/** The hidden places of one resource's records. */
export class HiddenPlaces {
  /** Whether the value at a path may be kept. Paths that aren't here are undeclared. */
  readonly #hides = new Map<string, boolean>()
  readonly #hidesUndeclared: boolean

  constructor(
    resource: Resource,
    hidden: ReadonlyMap<string, readonly HiddenColumn[]>,
    private readonly embedded?: { readonly name: string; readonly places: HiddenPlaces },
  ) {
    const names = (table: string): Set<string> => new Set(hidden.get(table)?.map(({ name }) => name))
    const own = names(resource.name)
    this.#hidesUndeclared = own.has('_extra')
    const isAny = this.#walk(resource.singular, resource.fields, { path: '', prefix: '', own, names })
    this.#hides.set('', isAny || this.#hidesUndeclared || (embedded?.places.hides('') ?? false))
  }

  #walk(
    singular: string,
    fields: Shape,
    {
      path,
      prefix,
      own,
      names,
    }: { path: string; prefix: string; own: Set<string>; names(table: string): Set<string> },
  ): boolean {
    let isAny = false
    for (const [name, member] of Object.entries(fields)) {
      const place = path === '' ? name : `${path}.${name}`
      let isHidden: boolean
      if (member.type === 'field') isHidden = own.has(prefix + name)
      else if (member.type === 'object')
        isHidden = this.#walk(singular, member.fields, {
          path: place,
          prefix: `${prefix}${name}_`,
          own,
          names,
        })
      else {
        const below = names(`${singular}_${member.table}`)
        const item = member.type === 'one' ? place : `${place}[]`
        isHidden =
          member.type === 'scalars'
            ? below.has(member.column)
            : this.#walk(singular, member.fields, { path: item, prefix: '', own: below, names })
        this.#hides.set(item, isHidden)
      }
      this.#hides.set(place, isHidden)
      isAny ||= isHidden
    }
    return isAny
  }

  /** Whether a value at that path of a record is hidden, or contains one that is. */
  hides(path: string): boolean {
    const place = plain(path)
    if (this.embedded) {
      const { name, places } = this.embedded
      const parts = place.split('.')
      const at = parts.findIndex((part) => part === name || part === `${name}[]`)
      if (at !== -1) return places.hides(parts.slice(at + 1).join('.'))
    }
    return this.#hides.get(place) ?? this.#hidesUndeclared
  }

  /** Without the value if it is hidden. */
  entry(entry: QuarantineEntry): QuarantineEntry {
    if (!this.hides(entry.path)) return entry
    return { ...entry, value: null, reason: entry.reason + hiddenReason }
  }
}

/** Hides what a page contains, in place: nothing else has seen it yet. */
export function hidePage(
  page: FlatPage,
  tenantId: Int64,
  {
    privacy,
    places,
    columns,
  }: {
    readonly privacy: Privacy
    readonly places: HiddenPlaces
    /** By table, with the positions in its tuples. */
    readonly columns: ReadonlyMap<string, readonly (HiddenColumn & { readonly at: number })[]>
  },
): FlatPage {
  for (const [table, tuples] of page.rows) {
    const hidden = columns.get(table)
    if (!hidden) continue
    for (const tuple of tuples) hideTuple(tuple, tenantId, { privacy, hidden })
  }
  const drift = page.drift.flatMap((entry) => {
    if (!places.hides(entry.path)) return [entry]
    return entry.detail === '' ? [{ ...entry, example: null }] : []
  })
  return { ...page, quarantine: page.quarantine.map((entry) => places.entry(entry)), drift }
}

function hideTuple(
  tuple: Tuple,
  tenantId: Int64,
  {
    privacy,
    hidden,
  }: { readonly privacy: Privacy; readonly hidden: readonly (HiddenColumn & { readonly at: number })[] },
): void {
  for (const column of hidden)
    tuple[column.at] = hiddenValue(privacy, tenantId, column, tuple[column.at] ?? null)
}
