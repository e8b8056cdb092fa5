/**
 * Takes everything that the readers don't: values to convert, values for quarantine, drift, unknown fields, embedded
 * records. Used by members.ts, readers.ts and flatten.ts.
 */
import { createHash } from 'node:crypto'
import type { Kind } from '../../../../schema/resource.js'
import type { NumberForm } from '../../base/numbertoken.js'
import type { DriftEntry, FlatPage, QuarantineEntry, Tuple, Value } from './batch.js'
import { convert } from './convert.js'
import { Extra, type UnknownMember } from './extra.js'
import { cut, rawJson, readJsonText, storable } from './jsontext.js'

const VALUE_LENGTH = 4096
const EXAMPLE_LENGTH = 200
/** A path is part of a key. It may end with a name that the source chose. */
const PATH_LENGTH = 500
/** In bytes. An index of Postgres holds about 2,700, whatever else is in its key. */
const LONGEST_KEY = 2000
/** How many unknown values of one enumeration a page reports. More would add nothing. */
const DETAILS_A_PAGE = 20

/** One declared value. A reader passes it along with a value that the reader doesn't take. */
export interface DeclaredValue {
  readonly kind: Kind
  /** Path without positions, such as `services[].parts[].cost_cents`. */
  readonly path: string
  readonly values: ReadonlySet<string> | null
}

/** What one page yields in addition to its rows: its records, quarantine and drift. */
export class PageFindings {
  readonly records: FlatPage['records'] = []
  readonly quarantine: QuarantineEntry[] = []
  unstorable = 0
  /** A number went to a place that keeps numbers as they were sent. */
  wantsTokens = false
  /** Unknown members that were already reported. */
  readonly reported = new Set<UnknownMember>()
  readonly #drift = new Map<string, Map<string, DriftEntry>>()

  constructor(private readonly resource: string) {}

  /** Reports a detail once per page. */
  drift(kind: DriftEntry['kind'], place: string, detail: string, value: unknown): void {
    const path = cut(place, PATH_LENGTH)
    const group = `${kind} ${path}`
    const entries = this.#drift.get(group) ?? new Map<string, DriftEntry>()
    if (entries.size === 0) this.#drift.set(group, entries)
    if (entries.size >= DETAILS_A_PAGE || entries.has(detail)) return
    const example = cut(rawJson(value), EXAMPLE_LENGTH)
    entries.set(detail, { resource: this.resource, path, kind, detail, example })
  }

  /** The first entry for each place: a record that can't be stored may appear on a page twice. */
  entries(): QuarantineEntry[] {
    if (this.quarantine.length < 2) return this.quarantine
    const byPlace = new Map<string, QuarantineEntry>()
    for (const entry of this.quarantine) {
      const place = `${entry.recordId} ${entry.path}`
      if (!byPlace.has(place)) byPlace.set(place, entry)
    }
    return [...byPlace.values()]
  }

  drifts(): DriftEntry[] {
    return [...this.#drift.values()].flatMap((entries) => [...entries.values()])
  }
}

/** Rows of records that are inside other records: the newest of each id, or the first of equally new ones. */
export interface Embedded {
  readonly name: string
  readonly rows: Map<Value, Tuple>
  readonly row: (item: unknown) => Tuple | null
  readonly versionAt: number
  readonly idAt: number
  readonly sink: SlowPath
}

/**
 * A name as part of a path. The path is a key in the warehouse, so it is bounded and free of characters that can't be
 * stored there.
 */
const segment = (name: string): string => cut(storable(name), EXAMPLE_LENGTH)
const join = (path: string, name: string): string => (path === '' ? name : `${path}.${name}`)

/** The record id of a record without one: the same every time that record comes. */
const digest = (record: unknown): string =>
  `?${createHash('sha256').update(readJsonText(record)).digest('hex').slice(0, 16)}`

/** Whether an index can hold a text, with the rest of its key. */
export const isKey = (text: string): boolean => Buffer.byteLength(text) <= LONGEST_KEY

export class SlowPath {
  /** Positions of the items that are being read, outermost first. The readers set it. */
  readonly at: number[] = []
  careful = false
  form: NumberForm = 'double'
  recordId: Value = ''
  extra: Extra | null = null
  embedded: Embedded | null = null
  findings: PageFindings
  /** Rows of the record by table and key. Only used if the page was found to contain duplicates. */
  readonly #rows = new Map<number, Map<Value, Tuple>>()
  /** Path of the record inside its owner, for embedded records: with positions, and without. */
  #base = ''
  #driftBase = ''

  constructor(
    findings: PageFindings,
    private readonly isEmbedded = false,
  ) {
    this.findings = findings
  }

  begin(id: Value): void {
    this.extra = null
    if (this.#rows.size > 0) this.#rows.clear()
    if (!this.isEmbedded) this.recordId = id
  }

  /** The path with the positions of the items that are being read. */
  #where(path: string): string {
    const here = this.#positioned(path)
    return this.#base === '' ? here : here === '' ? this.#base : `${this.#base}.${here}`
  }

  /** Like `#where`, but starting at the record that is being read, which may be inside another. */
  #positioned(path: string): string {
    const [first = '', ...more] = path.split('[]')
    return more.reduce((before, part, depth) => `${before}[${this.at[depth]}]${part}`, first)
  }

  #driftPath(path: string): string {
    return this.#driftBase === '' ? path : `${this.#driftBase}.${path}`
  }

  /** For a number that is kept as it was sent: if the page prints some numbers differently, the page is read again. */
  #wantTokens(value: unknown): void {
    if (typeof value === 'number' || (typeof value === 'object' && value !== null))
      this.findings.wantsTokens = true
  }

  quarantine(path: string, value: unknown, reason: string): void {
    this.#wantTokens(value)
    this.findings.quarantine.push({
      recordId: String(this.recordId),
      path: this.#where(path),
      value: cut(rawJson(value), VALUE_LENGTH),
      reason,
    })
  }

  /** Converts a value that is neither null nor absent, and not exactly as declared. */
  value(value: unknown, site: DeclaredValue): Value {
    if (site.kind === 'text' || site.kind === 'json') this.#wantTokens(value)
    const converted = convert[site.kind](value, this.form)
    if (converted.reason !== null) this.quarantine(site.path, value, converted.reason)
    if (converted.replaced) this.findings.drift('replaced_character', this.#driftPath(site.path), '', value)
    const text = converted.value
    // The API sends an empty text for "no value", so it isn't a new value of an enumeration.
    if (site.values !== null && typeof text === 'string' && text !== '' && !site.values.has(text)) {
      this.findings.drift('unknown_value', this.#driftPath(site.path), cut(text, EXAMPLE_LENGTH), value)
    }
    return text
  }

  /** The key of an item or record. null if it has no usable one. */
  key(value: unknown, kind: Kind): Value {
    return value === null || value === undefined ? null : convert[kind](value, this.form).value
  }

  badRecord(record: unknown, id: Value, reason: string): null {
    if (!this.isEmbedded) {
      this.findings.unstorable++
      this.recordId = id ?? digest(record)
    }
    this.quarantine('', record, reason)
    return null
  }

  /** An item of a list of plain strings, where each item is a record. null if it can't be stored. */
  stringItem(item: unknown, site: DeclaredValue): Value {
    if (item === null || item === undefined)
      return this.badRecord(item, null, 'null where a text is expected')
    this.recordId = digest(item)
    const value = this.value(item, site)
    if (typeof value === 'string' && !isKey(value))
      return this.badRecord(item, null, `a key of more than ${LONGEST_KEY} bytes`)
    if (value === null) this.findings.unstorable++
    return value
  }

  /** The record's row that already has the key. undefined if there is none; then the tuple becomes that row. */
  rowBefore(table: number, key: Value, tuple: Tuple): Tuple | undefined {
    const rows = this.#rows.get(table) ?? new Map<Value, Tuple>()
    if (rows.size === 0) this.#rows.set(table, rows)
    const before = rows.get(key)
    if (before === undefined) rows.set(key, tuple)
    return before
  }

  /** Converts the same way but reports nothing, for a row that is only compared. */
  silent(): SlowPath {
    const sink = new SlowPath(new PageFindings(''))
    sink.careful = this.careful
    sink.form = this.form
    sink.at.push(...this.at)
    return sink
  }

  /**
   * Whether a value of a set can be stored and isn't in the set already. The row of a repeated value equals the first
   * one's in all columns, so nothing is lost without it.
   */
  isNew(seen: Set<Value>, value: Value, item: unknown, path: string): boolean {
    if (value === null) {
      if (item === null) this.quarantine(path, item, 'null where a value is expected')
      return false
    }
    if (seen.has(value)) return false
    seen.add(value)
    return true
  }

  /** Takes the members of an object that its declaration doesn't have. `path`: the object's, without positions. */
  unknown(object: Readonly<Record<string, unknown>>, members: readonly UnknownMember[], path: string): void {
    const place = this.#positioned(path)
    for (const member of members) {
      const value = object[member.name]
      if (this.embedded !== null && member.name === this.embedded.name)
        this.readEmbedded(value, join(path, segment(member.name)))
      else this.#unknownField(value, member, path, place)
    }
  }

  #unknownField(value: unknown, member: UnknownMember, path: string, place: string): void {
    const { reported } = this.findings
    if (this.isEmbedded || !reported.has(member)) {
      reported.add(member)
      const driftPath = this.#driftPath(join(path, segment(member.name)))
      this.findings.drift('unknown_field', driftPath, '', value)
    }
    this.#wantTokens(value)
    this.extra ??= new Extra()
    const reason = this.extra.add(place, member, value, this)
    if (reason !== null) this.quarantine('', value, `${reason}: ${join(place, member.stored)}`)
  }

  /** `_extra` of the record, as JSON text. */
  takeExtra(): string | null {
    return this.extra?.text() ?? null
  }

  /** Takes the records of the embedded resource that are inside this record. */
  readEmbedded(value: unknown, path: string): void {
    const embedded = this.embedded
    if (embedded === null || value === null) return
    if (!Array.isArray(value)) this.quarantine(path, value, 'not an array')
    else for (let i = 0; i < value.length; i++) this.#embeddedItem(embedded, value[i], path, i)
  }

  #embeddedItem(embedded: Embedded, item: unknown, path: string, position: number): void {
    const sink = embedded.sink
    const [base, driftBase, extra] = [sink.#base, sink.#driftBase, sink.extra]
    const owner = this.#where(path)
    sink.#base = `${owner}[${position}]`
    sink.#driftBase = `${this.#driftPath(path)}[]`
    sink.recordId = this.recordId
    const tuple = embedded.row(item)
    sink.#base = base
    sink.#driftBase = driftBase
    sink.extra = extra
    if (tuple === null) return
    const id = tuple[embedded.idAt] ?? null
    const before = embedded.rows.get(id)
    if (before === undefined || isNewer(tuple, before, embedded.versionAt)) embedded.rows.set(id, tuple)
  }
}

const isNewer = (a: Tuple, b: Tuple, versionAt: number): boolean =>
  String(a[versionAt]) > String(b[versionAt])
