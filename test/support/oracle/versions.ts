/**
 * What a history has to contain, found without it: an observer reads the tables after every write, and records which
 * version of which record was there, from when to when. Knows nothing of how versions are stored.
 */
import { sql } from 'kysely'
import { resources } from '../../../schema/index.js'
import type { Model, ResourceModel } from '../../../src/engine/model/resourcemodel.js'
import type { Table } from '../../../src/engine/model/table.js'
import { model } from '../harness/model.js'
import { rootTable, rowsOf, type Warehouse } from '../harness/warehouse.js'

/** Every resource keeps its versions. */
export const keeping: Model = model(
  resources,
  Object.fromEntries(Object.keys(resources).map((name) => [name, { history: true }])),
)

type Row = Record<string, unknown>

/** An ended version, as the history should have it. */
export interface Ended {
  readonly record: string
  readonly from: string
  readonly to: string
  readonly by: string
  /** The whole content of the version. */
  readonly content: string
}

const stamps = new Set(['tenant_id', '_synced_at', '_deleted_at', '_unlisted_at', '_seen_from'])

const sorted = (row: Row, without: ReadonlySet<string>): Row =>
  Object.fromEntries(
    Object.entries(row)
      .filter(([name]) => !without.has(name))
      .sort(([a], [b]) => (a < b ? -1 : 1)),
  )

const later = (a: string, b: string): string => (a > b ? a : b)

/** A text that is the same for the same content, in any order of rows and members. */
function contentOf(root: Row, children: ReadonlyMap<string, readonly Row[]>): string {
  const nested = [...children].map(([table, rows]) => [
    table,
    rows.map((row) => JSON.stringify(sorted(row, new Set()))).sort(),
  ])
  return JSON.stringify([sorted(root, stamps), nested])
}

const recordOf = (row: Row): string => `${row.tenant_id}/${row.id}`

/** Computed columns of a row are not part of its version. */
const withoutOwner = ({ owner = '', columns }: Table, row: Row): Row => {
  const computed = columns.flatMap(({ name, computedBy }) => (computedBy === undefined ? [] : [name]))
  return sorted(row, new Set(['tenant_id', '_synced_at', owner, ...computed]))
}

export class Observer {
  readonly ended: Ended[] = []
  readonly #present = new Map<string, { content: string; from: string }>()
  readonly #began = new Map<string, string>()
  readonly #tables: readonly Table[]

  constructor(
    private readonly warehouse: Warehouse,
    resource: string,
  ) {
    this.#tables = this.#resource(resource).tables
  }

  #resource(name: string): ResourceModel {
    return keeping.byName.get(name)!
  }

  /** Reads the tables after a write whose request was sent at `stamp`. */
  async look(stamp: string): Promise<void> {
    const [root, ...children] = this.#tables
    const rows = await Promise.all(children.map(({ name }) => rowsOf(this.warehouse, name)))
    const live = new Map<string, string>()
    for (const row of await rowsOf(this.warehouse, root!.name)) {
      if (row._deleted_at !== null) continue
      const own = children.map((table, i): [string, Row[]] => [
        table.name,
        rows[i]!.filter((child) => child.tenant_id === row.tenant_id && child[table.owner!] === row.id).map(
          (child) => withoutOwner(table, child),
        ),
      ])
      live.set(recordOf(row), contentOf(row, new Map(own)))
    }
    for (const [record, { content, from }] of this.#present) {
      if (live.get(record) === content) continue
      const by = live.has(record) ? 'replaced' : 'deleted'
      this.ended.push({ record, from, to: later(stamp, from), by, content })
      this.#present.delete(record)
    }
    for (const [record, content] of live) {
      if (this.#present.has(record)) continue
      const from = later(stamp, this.#began.get(record) ?? '')
      this.#began.set(record, from)
      this.#present.set(record, { content, from })
    }
  }

  /** Since when the current versions have been there, as the rows should show. */
  get present(): Record<string, string> {
    return Object.fromEntries([...this.#present].map(([record, { from }]) => [record, from]).sort())
  }
}

const order = (a: Ended, b: Ended): number => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1)

export const inOrder = (ended: readonly Ended[]): Ended[] => ended.toSorted(order)

/** The contents of the history, in the observer's form. */
export async function kept(warehouse: Warehouse, resource: string): Promise<Ended[]> {
  const rows = await rowsOf(warehouse, `${resource}_history`)
  return inOrder(
    rows.map(({ _children, _valid_from, _seen_from, _seen_to, _ended_by, ...root }) => {
      if (_valid_from !== root.updated_at)
        throw new Error(`valid from ${_valid_from}, not ${root.updated_at}`)
      const children = new Map(Object.entries(_children as Record<string, Row[]>))
      const order = keeping.byName.get(resource)!.tables.slice(1)
      const nested = new Map(order.map(({ name }) => [name, children.get(name)!]))
      return {
        record: recordOf(root),
        from: String(_seen_from),
        to: String(_seen_to),
        by: String(_ended_by),
        content: contentOf(root, nested),
      }
    }),
  )
}

/** Since when the current versions have been there, according to the rows. */
export async function begun(warehouse: Warehouse, resource: string): Promise<Record<string, string>> {
  const rows = await warehouse.db
    .selectFrom(rootTable({ name: resource }))
    .select(['tenant_id', 'id', sql<string>`_seen_from`.as('since')])
    .where('_deleted_at', 'is', null)
    .execute()
  return Object.fromEntries(rows.map(({ since, ...row }) => [recordOf(row), since]).sort())
}
