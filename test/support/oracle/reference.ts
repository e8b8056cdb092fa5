/**
 * Flattens records a second time, slowly and simply: differential.test.ts compares the compiled readers with it, and cells.ts
 * whole warehouses. It addresses rows by column name, and shares only the converters with the compiled readers; those have their own tests.
 */
import { nameFields } from '../../../schema/naming.js'
import {
  type Children,
  type Field,
  itemFields,
  type Resource,
  type Scalars,
  type Shape,
} from '../../../schema/resource.js'
import type { Value } from '../../../src/engine/model/flatten/batch.js'
import { convert } from '../../../src/engine/model/flatten/convert.js'
import { cut, jsonText, rawJson } from '../../../src/engine/model/flatten/jsontext.js'
import { tablesOf, tupleColumns } from '../../../src/engine/model/table.js'

type Row = Record<string, unknown>
type Json = Record<string, unknown>

export interface Reference {
  readonly records: unknown[]
  readonly rows: Record<string, unknown[][]>
  readonly quarantine: string[]
  readonly drift: string[]
  readonly unstorable: number
}

const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
/** Makes an object without a prototype, so that a member can have any name. */
const empty = (): Json => Object.create(null) as Json
const isMissing = (value: unknown): boolean => value === null || value === undefined
const join = (path: string, name: string): string => [path, name].filter((part) => part !== '').join('.')

class Reader {
  readonly rows = new Map<string, Row[]>()
  /** By path; the first entry of a path counts. The value distinguishes records without an id. */
  readonly quarantine = new Map<string, string>()
  readonly drift = new Set<string>()
  readonly tags = new Map<unknown, Row>()
  /** The record's rows that have ids, by table and id. */
  readonly seen = new Map<string, Row>()
  readonly records: Row[] = []
  unstorable = 0
  recordId = ''
  readonly resource: Resource
  readonly embedded: Resource

  constructor(resource: Resource, embedded: Resource) {
    this.resource = resource
    this.embedded = embedded
  }

  complain(path: string, value: unknown): void {
    const text = cut(rawJson(value), 4096)
    const place = `${this.recordId} ${path} ${this.recordId === '?' ? text : ''}`
    if (!this.quarantine.has(place)) this.quarantine.set(place, `${this.recordId} ${path} ${text}`)
  }

  report(kind: string, path: string, detail = ''): void {
    this.drift.add(`${kind} ${path.replace(/\[\d+\]/g, '[]')} ${detail}`)
  }

  value(value: unknown, field: Field, path: string): Value {
    if (isMissing(value)) return null
    const converted = convert[field.kind](value)
    if (converted.reason !== null) this.complain(path, value)
    if (converted.replaced) this.report('replaced_character', path)
    const known =
      field.values === undefined || [null, '', ...field.values].includes(converted.value as string | null)
    if (!known) this.report('unknown_value', path, String(converted.value))
    return converted.value
  }

  /** Columns of an object, by name; unknown members go to `extra`. */
  columns(object: Json, fields: Shape, path: string, prefix: string, base: string, extra: Json): Row {
    const row: Row = {}
    for (const [name, value] of Object.entries(object)) {
      if (Object.hasOwn(fields, name)) continue
      if (name === this.embedded.embeddedAs) this.tagsOf(value, join(path, name))
      else {
        extra[join(path, name).slice(base === '' ? 0 : base.length + 1)] = value
        this.report('unknown_field', join(path, name))
      }
    }
    for (const [name, member] of Object.entries(fields)) {
      const value = object[name]
      if (member.type === 'field') row[prefix + name] = this.value(value, member, join(path, name))
      if (member.type !== 'object') continue
      if (!isMissing(value) && !isObject(value)) this.complain(join(path, name), value)
      const inner = isObject(value) ? value : {}
      Object.assign(
        row,
        this.columns(inner, member.fields, join(path, name), `${prefix}${name}_`, base, extra),
      )
    }
    return row
  }

  children(object: Json, fields: Shape, path: string, owners: Row, extra: Json): void {
    for (const [name, member] of Object.entries(fields)) {
      const value = object[name]
      const here = join(path, name)
      if (member.type === 'field' || member.type === 'object' || isMissing(value)) continue
      if (member.type === 'one') {
        if (!isObject(value) || Object.keys(value).length > 0)
          this.item(value, member, here, 0, owners, extra)
        continue
      }
      if (!Array.isArray(value)) {
        this.complain(here, value)
        continue
      }
      const values = new Set<unknown>()
      value.forEach((item: unknown, position) => {
        const place = `${here}[${position}]`
        if (member.type === 'many') this.item(item, member, place, position, owners, extra)
        else if (member.type === 'scalars') this.scalar(item, member, place, position, owners, values)
      })
    }
  }

  scalar(
    item: unknown,
    child: Scalars,
    path: string,
    position: number,
    owners: Row,
    seen: Set<unknown>,
  ): void {
    const value = this.value(item, child.of, path)
    if (child.key === 'value' && value === null) {
      this.complain(path, item)
      return
    }
    // Equal rows are one.
    if (child.key === 'value' && seen.has(value)) return
    seen.add(value)
    this.add(`${this.resource.singular}_${child.table}`, { ...owners, position, [child.column]: value })
  }

  item(item: unknown, child: Children, path: string, position: number, owners: Row, extra: Json): void {
    const table = `${this.resource.singular}_${child.table}`
    const id = isObject(item) && !isMissing(item.id) ? convert.id(item.id).value : null
    if (!isObject(item) || (child.key === 'id' && id === null)) {
      this.complain(path, item)
      return
    }
    const before = child.key === 'id' ? this.seen.get(`${table} ${id}`) : undefined
    if (before && !this.isEqual(before, { ...owners, position: before.position }, item, child)) {
      this.complain(path, item)
      return
    }
    const row = { ...owners, position, ...this.columns(item, itemFields(child), path, '', '', extra) }
    if (!before) this.add(table, row)
    if (child.key === 'id') this.seen.set(`${table} ${id}`, before ?? row)
    const below = child.ownerColumn ? { ...owners, [child.ownerColumn]: id } : owners
    this.children(item, child.fields, path, below, extra)
  }

  /** Compared by a separate reader, whose findings are ignored. */
  isEqual(before: Row, owners: Row, item: Json, child: Children): boolean {
    const aside = new Reader(this.resource, this.embedded)
    const row: Row = { ...owners, ...aside.columns(item, itemFields(child), '', '', '', empty()) }
    return Object.keys(before).every((name) => (before[name] ?? null) === (row[name] ?? null))
  }

  tagsOf(value: unknown, path: string): void {
    if (isMissing(value)) return
    if (!Array.isArray(value)) {
      this.complain(path, value)
      return
    }
    value.forEach((item: unknown, position) => {
      const place = `${path}[${position}]`
      const key = usableKey(item)
      if (key === null || !isObject(item)) {
        this.complain(place, item)
        return
      }
      const extra = empty()
      const row = this.columns(item, this.embedded.fields, place, '', place, extra)
      row._extra = Object.keys(extra).length === 0 ? null : extra
      const before = this.tags.get(key.id)
      if (before === undefined || String(row.updated_at) > String(before.updated_at))
        this.tags.set(key.id, row)
    })
  }

  record(record: unknown): void {
    const key = usableKey(record)
    if (key === null || !isObject(record)) {
      const id = isObject(record) && !isMissing(record.id) ? convert.id(record.id).value : null
      this.recordId = id === null ? '?' : String(id)
      this.unstorable++
      this.complain('', record)
      return
    }
    this.recordId = String(key.id)
    this.seen.clear()
    const extra = empty()
    const row = this.columns(record, this.resource.fields, '', '', '', extra)
    this.children(record, this.resource.fields, '', { [`${this.resource.singular}_id`]: key.id }, extra)
    row._extra = Object.keys(extra).length === 0 ? null : extra
    row._name = this.nameOf(row, record)
    this.add(this.resource.name, row)
    this.records.push(row)
  }

  nameOf(row: Row, record: Json): string | null {
    const texts = (nameFields[this.resource.name] ?? []).map((fields) =>
      fields
        .map((field) =>
          field in this.resource.fields ? row[field] : Object.hasOwn(record, field) ? record[field] : null,
        )
        .map((value) => String((isMissing(value) ? null : convert.text(value).value) ?? '').trim())
        .filter((text) => text !== '')
        .join(' '),
    )
    return texts.find((text) => text !== '') ?? null
  }

  add(table: string, row: Row): void {
    const rows = this.rows.get(table)
    if (rows) rows.push(row)
    else this.rows.set(table, [row])
  }
}

function usableKey(record: unknown): { id: Value; version: string } | null {
  if (!isObject(record) || isMissing(record.id) || isMissing(record.updated_at)) return null
  const id = convert.id(record.id).value
  const version = convert.timestamp(record.updated_at).value
  return id === null || version === null ? null : { id, version: String(version) }
}

/** The newest version of each record, newest first; among equally new versions, the first counts. */
function newest(records: readonly unknown[]): unknown[] {
  const versions = records.map((record) => ({ record, key: usableKey(record) }))
  const sorted = versions.toSorted((a, b) => {
    const [one, other] = [a.key?.version ?? '', b.key?.version ?? '']
    return one < other ? 1 : one > other ? -1 : 0
  })
  const isFirst = ({ key }: (typeof versions)[number], i: number): boolean =>
    key === null || sorted.findIndex((other) => other.key?.id === key.id) === i
  return sorted.filter(isFirst).map(({ record }) => record)
}

/** The rows of one record, and of what is embedded in it, by table. */
export function rowsOfRecord(
  resource: Resource,
  embedded: Resource,
  record: unknown,
): ReadonlyMap<string, readonly Row[]> {
  const reader = new Reader(resource, embedded)
  reader.record(record)
  for (const tag of reader.tags.values()) reader.add(embedded.name, tag)
  return reader.rows
}

/** The rows of a page of records. `resource` isn't the embedded resource itself. */
export function reference(resource: Resource, embedded: Resource, records: readonly unknown[]): Reference {
  const reader = new Reader(resource, embedded)
  for (const record of newest(records)) reader.record(record)
  for (const tag of reader.tags.values()) reader.add(embedded.name, tag)
  const rows: Record<string, unknown[][]> = {}
  for (const table of [...tablesOf(resource), ...tablesOf(embedded)]) {
    const names = tupleColumns(table).map((column) => column.name)
    rows[table.name] = (reader.rows.get(table.name) ?? []).map((row) =>
      names.map((name) => (name === '_extra' && row[name] ? extraText(row[name]) : row[name])),
    )
  }
  return {
    records: reader.records.map((row) => [row.id, row.updated_at, row.created_at ?? null]),
    rows,
    quarantine: [...reader.quarantine.values()],
    drift: [...reader.drift],
    unstorable: reader.unstorable,
  }
}

/** Sorts the members: their order isn't guaranteed. */
export const extraText = (extra: unknown): string => {
  const members = Object.entries(extra as Json).map(
    ([name, value]) => jsonText({ [name]: value }, { careful: true, form: 'double' }).text,
  )
  return members.sort().join('\n')
}
