/**
 * Hidden columns: what the section `privacy` keeps out of the warehouse (docs/privacy.md). Flatten hides the values of a
 * page before anything else sees them, so no code behind it can store, compare or show one. What a page reports besides
 * its rows, quarantine and drift, is hidden here too.
 */
import { createHmac } from 'node:crypto'
import type { Int64, Kind, Resource, Shape } from '../../../schema/resource.js'
import { type Privacy, treatmentOf } from '../config/treatment.js'
import type { DriftEntry, FlatPage, QuarantineEntry, Value } from './flatten/batch.js'
import type { Table } from './table.js'

/** One column whose values are hidden. */
export interface HiddenColumn {
  readonly name: string
  /** `short`: of quarantined values, what HiddenPlaces keeps. A stricter rule is another word, so it is applied to what is there. */
  readonly treatment: 'hash' | 'drop' | 'short'
  /** Equal texts of one domain get equal pseudonyms. */
  readonly domain: string
}

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
export function hiddenValue(
  privacy: Privacy,
  tenantId: Int64,
  column: Pick<HiddenColumn, 'treatment' | 'domain'>,
  value: Value,
): Value {
  if (column.treatment === 'drop' || typeof value !== 'string') return null
  return pseudonym(privacy, tenantId, column, value)
}

/** The reason of a quarantined value that isn't kept itself. */
const hiddenReason = ' (hidden by privacy)'

/** No number, instant or code is longer, as JSON text; what somebody wrote usually is. */
export const longestKept = 40

const numeral = /^-?\d[\d.eE+-]*$/
const instant = /^"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?"$/i

/** The scalars of each kind, as JSON text. What a json column can't hold may be anything. */
const scalars: Readonly<Record<Kind, RegExp | null>> = {
  id: numeral,
  integer: numeral,
  cents: numeral,
  number: numeral,
  boolean: /^(?:true|false)$/,
  text: /^[^[{]/,
  timestamp: instant,
  day: instant,
  json: null,
}

/** The hidden places of one resource's records: paths without positions, such as `services[].parts[].cost_cents`. */
export class HiddenPlaces {
  /** Whether the value at a path is hidden, or contains one that is; of single values, their kind. Others are undeclared. */
  readonly #places = new Map<string, { readonly isHidden: boolean; readonly kind: Kind | undefined }>()
  readonly #hidesUndeclared: boolean

  constructor(
    resource: Resource,
    hidden: ReadonlyMap<string, readonly HiddenColumn[]>,
    private readonly embedded?: { readonly name: string; readonly places: HiddenPlaces } | undefined,
  ) {
    const hiddenIn = (table: string): Set<string> => new Set(hidden.get(table)?.map(({ name }) => name))
    const note = (place: string, isHidden: boolean, kind?: Kind): boolean => {
      this.#places.set(place, { isHidden, kind })
      return isHidden
    }
    const walk = (fields: Shape, path: string, columns: Set<string>, prefix = ''): boolean => {
      const found = Object.entries(fields).map(([name, member]) => {
        const place = path === '' ? name : `${path}.${name}`
        if (member.type === 'field') return note(place, columns.has(prefix + name), member.kind)
        if (member.type === 'object')
          return note(place, walk(member.fields, place, columns, `${prefix}${name}_`))
        const below = hiddenIn(`${resource.singular}_${member.table}`)
        const item = member.type === 'one' ? place : `${place}[]`
        return note(
          place,
          member.type === 'scalars'
            ? note(item, below.has(member.column), member.of.kind)
            : note(item, walk(member.fields, item, below)),
        )
      })
      return found.includes(true)
    }
    const own = hiddenIn(resource.name)
    this.#hidesUndeclared = own.has('_extra')
    const isAny = walk(resource.fields, '', own)
    note('', isAny || this.#hidesUndeclared || (embedded?.places.hides('') ?? false))
  }

  /** Whose places a path leads to, and where there: a record of another resource may be inside. */
  #at(path: string): { readonly places: HiddenPlaces; readonly place: string } {
    const parts = path.replaceAll(/\[\d+\]/g, '[]').split('.')
    const { name, places } = this.embedded ?? {}
    const at = places ? parts.findIndex((part) => part === name || part === `${name}[]`) : -1
    return at === -1 || !places
      ? { places: this, place: parts.join('.') }
      : { places, place: parts.slice(at + 1).join('.') }
  }

  /** Whether a value at that path of a record is hidden, or contains one that is. */
  hides(path: string): boolean {
    const { places, place } = this.#at(path)
    return places.#places.get(place)?.isHidden ?? (places.#hidesUndeclared || this.#hidesUndeclared)
  }

  /**
   * Whether a value that its column can't hold may stand beside it. It may be anything, so where undeclared fields are
   * hidden, only what is short and of the column's kind is kept: that a fault is harder to find is better than a name.
   */
  #keeps(path: string, json: string): boolean {
    if (this.hides(path)) return false
    const { places, place } = this.#at(path)
    if (!places.#hidesUndeclared && !this.#hidesUndeclared) return true
    const kind = places.#places.get(place)?.kind
    return kind !== undefined && json.length <= longestKept && scalars[kind]?.test(json) === true
  }

  /** Without the value if it may not be kept. */
  entry<E extends Pick<QuarantineEntry, 'path' | 'value'> & { readonly reason: string | null }>(entry: E): E {
    if (entry.value === null || this.#keeps(entry.path, entry.value)) return entry
    return { ...entry, value: null, reason: `${entry.reason ?? ''}${hiddenReason}` }
  }

  /** Without the example if it may not be kept; undefined if its very name is a value that may not be. */
  drift<E extends Pick<DriftEntry, 'path' | 'detail' | 'example'>>(entry: E): E | undefined {
    const { path, detail, example } = entry
    if (detail !== '' && !this.#keeps(path, JSON.stringify(detail))) return undefined
    return example === null || this.#keeps(path, example) ? entry : { ...entry, example: null }
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
    const hidden = columns.get(table) ?? []
    for (const tuple of tuples)
      for (const column of hidden)
        tuple[column.at] = hiddenValue(privacy, tenantId, column, tuple[column.at] ?? null)
  }
  const drift = page.drift.flatMap((entry) => places.drift(entry) ?? [])
  return { ...page, quarantine: page.quarantine.map((entry) => places.entry(entry)), drift }
}
