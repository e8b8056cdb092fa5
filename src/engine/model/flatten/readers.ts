/**
 * Reads records as their resource declares them, with readers that are composed from the declaration once: a record
 * into the tuple of its own table, and the items of its arrays into those of the child tables. Used only by flatten.ts.
 */

import {
  type Children,
  itemFields,
  type Member,
  type Nested,
  type Resource,
  type Scalars,
  type Shape,
} from '../../../../schema/resource.js'
import { Bug } from '../../base/errors.js'
import { canonical } from '../../base/timestamp.js'
import { placeOf, type Table, tablesOf, tupleColumns } from '../table.js'
import type { Tuple, Value } from './batch.js'
import { convert } from './convert.js'
import {
  fieldReader,
  isObject,
  MemberReader,
  ObjectReader,
  type PageTarget,
  type Read,
  readAlready,
} from './members.js'
import { fieldText } from './membertext.js'
import { madeColumns, madeOf } from './recordname.js'
import type { SlowPath } from './slowpath.js'

/** The tuple of one record, or null if it can't be stored. */
export type ReadRecord = (record: unknown, target: PageTarget) => Tuple | null

type ReadItem = (item: unknown, position: number, target: PageTarget, owners: readonly Value[]) => void

const isEmpty = (value: unknown): boolean => isObject(value) && Object.keys(value).length === 0
const below = (path: string, name: string): string => (path === '' ? name : `${path}.${name}`)

/** Where the members of an object are: in the record, and in the tuple of their table. */
interface Place {
  readonly path: string
  /** How many arrays it is inside of. */
  readonly depth: number
  /** The position of the next column. Shared by an object and the objects in it, whose columns follow one another. */
  readonly column: { next: number }
}

class Composer {
  readonly #tables: readonly Table[]

  constructor(private readonly resource: Resource) {
    this.#tables = tablesOf(resource)
  }

  record(embeddedAs: string | undefined): ReadRecord {
    const [table] = this.#tables
    if (!table) throw new Bug(`${this.resource.name} has no table`)
    const members = this.#members(this.resource.fields, new Set(['id', 'updated_at']), {
      path: '',
      depth: 0,
      column: { next: 0 },
    })
    if (embeddedAs !== undefined) members.push(embeddedReader(embeddedAs))
    const reader = new ObjectReader('', members)
    const idAt = placeOf(table, 'id')
    const versionAt = placeOf(table, 'updated_at')
    const extraAt = placeOf(table, '_extra')
    const blank: Tuple = tupleColumns(table).map(() => null)
    const name = nameReader(this.resource, table)
    return (record, target) => {
      const { sink } = target
      if (!isObject(record)) return sink.badRecord(record, null, 'not an object')
      const id = readKey(record.id, sink)
      if (id === null) return sink.badRecord(record, null, 'a record without a usable id')
      const version = typeof record.updated_at === 'string' ? canonical(record.updated_at) : null
      if (version === null) return sink.badRecord(record, id, 'a record without a usable updated_at')
      sink.begin(id)
      const tuple = blank.slice()
      tuple[idAt] = id
      tuple[versionAt] = version
      reader.read(record, target, tuple, [id])
      if (sink.extra !== null) tuple[extraAt] = sink.takeExtra()
      name?.(record, tuple)
      return tuple
    }
  }

  #members(fields: Shape, keys: ReadonlySet<string>, place: Place): MemberReader[] {
    return Object.entries(fields).map(([name, part]) => {
      if (!keys.has(name)) return new MemberReader(name, this.#member(name, part, place))
      place.column.next++
      return new MemberReader(name, readAlready)
    })
  }

  #member(name: string, part: Member, place: Place): Read {
    const path = below(place.path, name)
    switch (part.type) {
      case 'field':
        return fieldReader(part, path, place.column.next++)
      case 'object':
        return this.#nested(part, { ...place, path })
      case 'many': {
        const read = this.#items(part, { ...place, path: `${path}[]`, depth: place.depth + 1 })
        return (value, target, _tuple, owners) => readArray(value, path, place.depth, target, owners, read)
      }
      case 'one': {
        const read = this.#items(part, { ...place, path })
        return (value, target, _tuple, owners) => {
          if (!isEmpty(value)) read(value, 0, target, owners)
        }
      }
      case 'scalars':
        return this.#scalars(part, { ...place, path })
    }
  }

  #nested(part: Nested, place: Place): Read {
    const reader = new ObjectReader(place.path, this.#members(part.fields, new Set(), place))
    return (value, target, tuple, owners) => {
      if (isObject(value)) reader.read(value, target, tuple, owners)
      else target.sink.quarantine(place.path, value, 'not an object')
    }
  }

  /** Makes one row from an item, and the rows of what is inside it. */
  #items(child: Children, { path, depth }: Place): ReadItem {
    const { table, index, rowOf, first } = this.#table(child.table)
    const positionAt = first - 1
    const hasId = child.key === 'id'
    const idAt = placeOf(table, 'id')
    const place = { path, depth, column: { next: first } }
    const reader = new ObjectReader(
      path,
      this.#members(itemFields(child), new Set(hasId ? ['id'] : []), place),
    )
    return (item, position, target, owners) => {
      const { sink } = target
      if (!isObject(item)) return sink.quarantine(path, item, 'not an object')
      const tuple = rowOf(owners, position)
      let inner = owners
      if (hasId) {
        const id = readKey(item.id, sink)
        if (id === null) return sink.quarantine(path, item, 'an item without a usable id')
        tuple[idAt] = id
        if (child.ownerColumn) inner = [...owners, id]
      }
      const before = target.strict
        ? sink.rowBefore(index, hasId ? (tuple[idAt] ?? null) : placedKey(owners, position), tuple)
        : undefined
      if (before === undefined) target.tables[index]?.push(tuple)
      else {
        reader.read(
          item,
          { sink: sink.silent(), tables: [], strict: false, plain: target.plain },
          tuple,
          inner,
        )
        if (!areEqual(before, tuple, positionAt))
          return sink.quarantine(path, item, `duplicate id ${tuple[idAt]}: another item of the record has it`)
      }
      reader.read(item, target, tuple, inner)
    }
  }

  #scalars(child: Scalars, { path, depth }: Place): Read {
    const { index, rowOf, first: at } = this.#table(child.table)
    const items = `${path}[]`
    const read = fieldReader(child.of, items, at)
    const isSet = child.key === 'value'
    return (values, target, _tuple, owners) => {
      const seen = new Set<Value>()
      const readItem: ReadItem = (item, position) => {
        const tuple = rowOf(owners, position)
        if (item !== null && item !== undefined) read(item, target, tuple, owners)
        if (isSet && !target.sink.isNew(seen, tuple[at] ?? null, item, items)) return
        const key = (): string => placedKey(owners, isSet ? (tuple[at] ?? null) : position)
        if (!target.strict || target.sink.rowBefore(index, key(), tuple) === undefined)
          target.tables[index]?.push(tuple)
      }
      readArray(values, path, depth, target, owners, readItem)
    }
  }

  /** A child's table, how its rows begin, and where its own columns start in them. */
  #table(suffix: string): {
    table: Table
    index: number
    rowOf: (owners: readonly Value[], position: number) => Tuple
    first: number
  } {
    const index = this.#tables.findIndex((table) => table.name === `${this.resource.singular}_${suffix}`)
    const table = this.#tables[index]
    if (!table || index < 1) throw new Bug(`No table ${this.resource.singular}_${suffix}`)
    const blank: Tuple = tupleColumns(table).map(() => null)
    const positionAt = placeOf(table, 'position')
    const rowOf = (owners: readonly Value[], position: number): Tuple => {
      const tuple = blank.slice()
      for (let i = 0; i < positionAt; i++) tuple[i] = owners[i] ?? null
      tuple[positionAt] = position
      return tuple
    }
    return { table, index, rowOf, first: positionAt + 1 }
  }
}

/**
 * The key of a row that is identified only by its owners and one value. Two equal items of one id have the same key.
 */
const placedKey = (owners: readonly Value[], own: Value): string => [...owners.slice(1), own].join(' ')

/** Whether two rows of a record are equal except for their positions. */
const areEqual = (a: Tuple, b: Tuple, positionAt: number): boolean =>
  a.every((value, at) => at === positionAt || value === b[at])

function readArray(
  value: unknown,
  path: string,
  depth: number,
  target: PageTarget,
  owners: readonly Value[],
  read: ReadItem,
): void {
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length; i++) {
      target.sink.at[depth] = i
      read(value[i], i, target, owners)
    }
  } else target.sink.quarantine(path, value, 'not an array')
}

/**
 * Fills the record's name and what is like it, from columns of its tuple and from fields that have no column. undefined
 * if it has none. The field may be one of an object's prototype: only its own members count.
 */
function nameReader(
  resource: Resource,
  table: Table,
): ((record: Readonly<Record<string, unknown>>, tuple: Tuple) => void) | undefined {
  const made = madeColumns(resource).map((column) => ({ column, at: placeOf(table, column.name) }))
  if (made.length === 0) return undefined
  const columns = tupleColumns(table)
  const fields = made.flatMap(({ column }) => column.lists.flat())
  const places = new Map(
    fields.map((field) => [field, columns.findIndex((one) => one.name === field && !one.isLeft)]),
  )
  return (record, tuple) => {
    const textOf = (field: string): string | null => {
      const place = places.get(field) ?? -1
      if (place >= 0) return fieldText(tuple[place], columns[place]?.kind ?? 'text')
      const value = Object.hasOwn(record, field) ? record[field] : null
      return value === null || value === undefined ? null : (convert.text(value).value as string | null)
    }
    for (const { column, at } of made) tuple[at] = madeOf(column, textOf)
  }
}

/** Records of another resource inside this one: the slow path keeps them. */
function embeddedReader(name: string): MemberReader {
  return new MemberReader(name, (value, { sink }) => {
    if (!(Array.isArray(value) && value.length === 0)) sink.readEmbedded(value, name)
  })
}

/** `embeddedAs`: the name of the array that contains records of the embedded resource. */
export const composeReader = (resource: Resource, embeddedAs: string | undefined): ReadRecord =>
  new Composer(resource).record(embeddedAs)

/** The id of a record or item. null if it has no usable one. */
const readKey = (value: unknown, sink: SlowPath): Value =>
  typeof value === 'number' && Number.isSafeInteger(value) ? value + 0 : sink.key(value, 'id')
