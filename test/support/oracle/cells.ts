/** Compares a warehouse with the source cell by cell, with an oracle that knows nothing of src/. */
import { isDeepStrictEqual } from 'node:util'
import { expect } from 'vitest'
import type { Sandbox } from '../../../src/sandbox/index.js'
import { known } from '../harness/runs.js'
import { rowsOf, type Warehouse } from '../harness/warehouse.js'
import { Oracle } from './contract.js'

type Json = Record<string, unknown>

/** The expected contents of the warehouse. */
export function expected(sandbox: Sandbox): Oracle {
  const oracle = new Oracle()
  for (const tenant of sandbox.tenantIds) {
    for (const { name, resource } of known.list)
      if (resource.list === 'strings')
        oracle.strings(tenant, name, sandbox.store.tenant(tenant).strings.get(name) ?? [])
      else
        for (const record of sandbox.store.all(tenant, name))
          oracle.record(tenant, name, record as unknown as Json)
  }
  return oracle
}

/**
 * Compares every cell of every table with the source, and every field of the source with a cell, except rows of deleted
 * records. `expect` is only called if something differs: ten calls per row would take longer than the syncs.
 */
export async function compare(warehouse: Warehouse, oracle: Oracle): Promise<number> {
  let cells = 0
  // Derived rows have their own oracle: business/stored.ts.
  for (const { root, table } of known.list.flatMap(({ tables }) =>
    tables.map((table) => ({ root: tables[0]!, table })),
  )) {
    const gone = await goneOf(warehouse, root.name)
    const idOf = (row: Json): string => `${row.tenant_id} ${row[table.owner ?? table.key[1]!]}`
    const rows = (await rowsOf(warehouse, table.name)).filter((row) => !gone.has(idOf(row)))
    const wanted = oracle.tables.get(table.name) ?? new Map<string, Json>()
    expect(rows.length, `rows of ${table.name}`).toBe(wanted.size)
    const computed = new Set(table.columns.flatMap(({ name, computedBy }) => (computedBy ? [name] : [])))
    for (const row of rows) {
      const key = table.key.map((name) => row[name]).join(' ')
      const source = { ...wanted.get(key) }
      const { _synced_at, _deleted_at, _seen_from, _extra, ...sent } = row
      const own = Object.fromEntries(Object.entries(sent).filter(([name]) => !computed.has(name)))
      const extra = (_extra ?? {}) as Json
      const { nulls, ...rest } = split({ ...own, ...extra })
      const there = split(source)
      if (!isDeepStrictEqual(rest.values, there.values))
        expect(rest.values, `${table.name} ${key}`).toEqual(there.values)
      const stamped = [_deleted_at ?? null, typeof _synced_at]
      if (!isDeepStrictEqual(stamped, [null, 'string'])) expect(stamped).toEqual([null, 'string'])
      // A null object is null in each of its columns.
      const isNull = (name: string): boolean =>
        nulls.some((column) => column === name || column.startsWith(`${name}_`))
      if (!there.nulls.every(isNull))
        expect(
          there.nulls.filter((name) => !isNull(name)),
          `null at the source of ${table.name} ${key}`,
        ).toEqual([])
      cells += Object.keys(row).length
    }
  }
  return cells
}

/** The records whose rows are marked deleted. */
async function goneOf(warehouse: Warehouse, root: string): Promise<ReadonlySet<string>> {
  const rows = await rowsOf(warehouse, root)
  const gone = rows.filter(({ _deleted_at }) => _deleted_at !== null)
  return new Set(gone.map((row) => `${row.tenant_id} ${row.id ?? row.name}`))
}

const split = (row: Json): { values: Json; nulls: string[] } => ({
  values: Object.fromEntries(Object.entries(row).filter(([, value]) => value !== null)),
  nulls: Object.keys(row).filter((name) => row[name] === null),
})
