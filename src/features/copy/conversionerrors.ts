/**
 * Values that the other side of a copy can't hold, as quarantine entries. For a record, they have the path that flatten
 * would have given them, so the rules that look up what is unknown of a record find them.
 */
import { sql } from 'kysely'
import type { Int64, Resource, Shape } from '../../../schema/resource.js'
import type { QuarantineEntry, Tuple, Value } from '../../engine/model/flatten/batch.js'
import { cut } from '../../engine/model/flatten/jsontext.js'
import type { Model } from '../../engine/model/resourcemodel.js'
import type { Column, Table } from '../../engine/model/table.js'
import { type Db, rootTable } from '../../engine/warehouse/database.js'
import type { BatchStamp } from '../../engine/warehouse/store/versionbatch.js'

/** How much of a value quarantine keeps. */
const longestValue = 4096

/** A value that its column can't hold. */
export interface ConversionError extends BatchStamp {
  readonly resource: string
  readonly entry: QuarantineEntry
}

/** An array, or a single object, that contains an item. */
interface Step {
  readonly name: string
  readonly isArray: boolean
  /** The column by which the rows below refer to the item, and the item's table. */
  readonly owner: { readonly column: string; readonly table: string } | undefined
}

interface Spot {
  readonly steps: readonly Step[]
  readonly fields: Shape
}

/** Where the items of each child table are in their record. */
function spotsOf({ singular, fields }: Resource): Map<string, Spot> {
  const spots = new Map<string, Spot>()
  const visit = (members: Shape, steps: readonly Step[]): void => {
    for (const [name, member] of Object.entries(members)) {
      if (member.type === 'field' || member.type === 'object') continue
      if (member.type !== 'many' && member.type !== 'one' && member.type !== 'scalars') continue
      const table = `${singular}_${member.table}`
      const owner =
        member.type !== 'scalars' && member.ownerColumn ? { column: member.ownerColumn, table } : undefined
      const below = [...steps, { name, isArray: member.type !== 'one', owner }]
      const inside = member.type === 'scalars' ? {} : member.fields
      spots.set(table, { steps: below, fields: inside })
      visit(inside, below)
    }
  }
  visit(fields, [])
  return spots
}

/** A column's member: nested objects are flattened into names with `_`. */
function memberOf(fields: Shape, column: string): string | undefined {
  for (const [name, member] of Object.entries(fields)) {
    if (member.type === 'field' && name === column) return name
    const inside =
      member.type === 'object' && column.startsWith(`${name}_`)
        ? memberOf(member.fields, column.slice(name.length + 1))
        : undefined
    if (inside !== undefined) return `${name}.${inside}`
  }
  return undefined
}

export class ConversionErrors {
  readonly #model: Model
  readonly #spots: ReadonlyMap<string, Spot>

  /** `db`: the source, as of the instant being copied. */
  constructor(
    model: Model,
    private readonly db: Db,
  ) {
    this.#model = model
    this.#spots = new Map(model.list.flatMap(({ resource }) => [...spotsOf(resource)]))
  }

  async of(
    table: Table,
    tuple: Tuple,
    column: Column,
    value: Value,
    reason: string,
  ): Promise<ConversionError> {
    const at = (name: string): Value => tuple[table.columns.findIndex((known) => known.name === name)] ?? null
    const { recordId, path } = await this.#where(table, column, at)
    const text = cut(
      typeof value === 'string' && column.kind === 'text' ? JSON.stringify(value) : String(value),
      longestValue,
    )
    const entry = { recordId, path, value: text, reason }
    return {
      tenantId: (at('tenant_id') ?? 0) as Int64,
      resource: table.resource || String(at('resource') ?? table.name),
      syncedAt: String(at('_synced_at') ?? '1970-01-01T00:00:00.000000Z'),
      entry: this.#model.byName.get(table.resource)?.places.entry(entry) ?? entry,
    }
  }

  async #where(
    table: Table,
    column: Column,
    at: (name: string) => Value,
  ): Promise<{ readonly recordId: string; readonly path: string }> {
    const resource = this.#model.byName.get(table.resource)?.resource
    const recordId = String(at(table.owner ?? table.key[1] ?? ''))
    if (resource && table.role === 'root')
      return { recordId, path: memberOf(resource.fields, column.name) ?? column.name }
    const spot = this.#spots.get(table.name)
    if (table.role === 'child' && spot) {
      const member = memberOf(spot.fields, column.name)
      return { recordId, path: `${await this.#stepsOf(spot, at)}${member ? `.${member}` : ''}` }
    }
    const key = table.key.slice(table.resource ? 2 : 1).map((name) => String(at(name)))
    return { recordId, path: `${[table.name, ...key].join(' ')} ${column.name}` }
  }

  async #stepsOf({ steps }: Spot, at: (name: string) => Value): Promise<string> {
    const named: string[] = []
    for (const [i, { name, isArray, owner }] of steps.entries()) {
      const isLast = i === steps.length - 1
      const position = isLast ? at('position') : owner ? await this.#positionOf(owner, at) : null
      named.push(isArray ? `${name}[${position ?? 0}]` : name)
    }
    return named.join('.')
  }

  async #positionOf(
    { column, table }: NonNullable<Step['owner']>,
    at: (name: string) => Value,
  ): Promise<Value> {
    const rows = await this.db
      .selectFrom(rootTable({ name: table }))
      .select(sql<Int64 | null>`position`.as('position'))
      .where('tenant_id', '=', at('tenant_id') as Int64)
      .where('id', '=', at(column) as Int64)
      .execute()
    return rows[0]?.position ?? null
  }
}
