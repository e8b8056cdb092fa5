/** Compares a warehouse with the source cell by cell, with the second way of flattening (reference.ts). */
import { isDeepStrictEqual } from 'node:util'
import { expect } from 'vitest'
import type { Sandbox } from '../../../src/sandbox/index.js'
import { known } from '../harness/runs.js'
import { rowsOf, type Warehouse } from '../harness/warehouse.js'
import { rowsOfRecord } from './reference.js'

type Json = Record<string, unknown>
/** Rows by table and key. */
export type Cells = Map<string, Map<string, Json>>

const keyOf = (table: string, row: Json): string =>
  (known.tableByName.get(table)?.key ?? []).map((name) => row[name]).join(' ')

/** The expected contents of the warehouse. */
export function expected({ tenantIds, store }: Sandbox): Cells {
  const cells: Cells = new Map()
  const put = (table: string, row: Json): void => {
    const rows = cells.get(table) ?? new Map<string, Json>()
    cells.set(table, rows.set(keyOf(table, row), row))
  }
  const embedded = known.list.find(({ resource }) => resource.embeddedAs !== undefined)!.resource
  for (const tenant_id of tenantIds)
    for (const { name, resource } of known.list)
      if (resource.list === 'strings')
        for (const text of store.tenant(tenant_id).strings.get(name) ?? [])
          put(name, { tenant_id, name: text })
      else if (resource !== embedded)
        for (const record of store.all(tenant_id, name))
          for (const [table, rows] of rowsOfRecord(resource, embedded, record))
            for (const row of rows) put(table, { tenant_id, ...row })
  return cells
}

/**
 * Compares every cell of every table, except rows of deleted records. `expect` is only called if something differs: calls for
 * each row would take longer than the syncs.
 */
export async function compare(warehouse: Warehouse, cells: Cells): Promise<number> {
  let count = 0
  // Derived rows have their own oracle: business/stored.ts.
  for (const { name: root, tables } of known.list) {
    const gone = await goneOf(warehouse, root)
    for (const { name: table, owner, key, columns } of tables) {
      const rows = (await rowsOf(warehouse, table)).filter(
        (row) => !gone.has(`${row.tenant_id} ${row[owner ?? key[1]!]}`),
      )
      const wanted = cells.get(table) ?? new Map<string, Json>()
      expect(rows.length, `rows of ${table}`).toBe(wanted.size)
      const aside = new Set(columns.flatMap(({ name, computedBy }) => (computedBy ? [name] : [])))
      for (const name of ['_synced_at', '_deleted_at', '_seen_from', '_extra', '_name']) aside.add(name)
      const values = (row: Json): Json => {
        const all = Object.entries({ ...row, ...(row._extra as Json | null) })
        return Object.fromEntries(all.filter(([name, value]) => (value ?? null) !== null && !aside.has(name)))
      }
      for (const row of rows) {
        const [found, own] = [values(row), values(wanted.get(keyOf(table, row)) ?? {})]
        if (!isDeepStrictEqual(found, own)) expect(found, `${table} ${keyOf(table, row)}`).toEqual(own)
        if (typeof row._synced_at !== 'string') expect(row).toMatchObject({ _synced_at: expect.any(String) })
        count += Object.keys(row).length
      }
    }
  }
  return count
}

/** The records whose rows are marked deleted. */
async function goneOf(warehouse: Warehouse, root: string): Promise<ReadonlySet<string>> {
  const rows = await rowsOf(warehouse, root)
  const gone = rows.filter(({ _deleted_at }) => _deleted_at !== null)
  return new Set(gone.map((row) => `${row.tenant_id} ${row.id ?? row.name}`))
}
