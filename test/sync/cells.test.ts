import { isDeepStrictEqual } from 'node:util'
import { describe, expect, it } from 'vitest'
import { resources } from '../../schema/index.js'
import { model } from '../../src/model/registry.js'
import type { Sandbox } from '../../src/sandbox/index.js'
import { fromMicros } from '../../src/timestamp.js'
import type { Warehouse } from '../../src/warehouse/warehouse.js'
import { sync } from '../support/run.js'
import { sandboxOfFile } from '../support/sandbox.js'
import { contents, open, rowsOf, warehouses } from '../support/warehouse.js'
import { Oracle } from './oracle.js'

type Json = Record<string, unknown>
const known = model(resources)

function expected(sandbox: Sandbox): Oracle {
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
 * Compares every cell of every table with the source, and every field of the source with a cell. `expect` is called
 * where something differs: ten calls a row would take longer than the syncs.
 */
async function compare(warehouse: Warehouse, oracle: Oracle): Promise<number> {
  let cells = 0
  // What follows from the rows has an oracle of its own: test/derived/oracle.ts.
  for (const table of known.list.flatMap(({ tables }) => tables)) {
    const rows = await rowsOf(warehouse, table.name)
    const wanted = oracle.tables.get(table.name) ?? new Map<string, Json>()
    expect(rows.length, `rows of ${table.name}`).toBe(wanted.size)
    for (const row of rows) {
      const key = table.key.map((name) => row[name]).join(' ')
      const source = { ...wanted.get(key) }
      const { _synced_at, _deleted_at, _extra, ...own } = row
      const extra = (_extra ?? {}) as Json
      const { nulls, ...rest } = split({ ...own, ...extra })
      const there = split(source)
      if (!isDeepStrictEqual(rest.values, there.values))
        expect(rest.values, `${table.name} ${key}`).toEqual(there.values)
      const stamped = [_deleted_at ?? null, typeof _synced_at]
      if (!isDeepStrictEqual(stamped, [null, 'string'])) expect(stamped).toEqual([null, 'string'])
      // An object that is null is a null in each of its columns.
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

const split = (row: Json): { values: Json; nulls: string[] } => ({
  values: Object.fromEntries(Object.entries(row).filter(([, value]) => value !== null)),
  nulls: Object.keys(row).filter((name) => row[name] === null),
})

const sandbox = await sandboxOfFile({ tenants: 3, seed: 11, scale: 0.25 })

describe.each(warehouses())('$name', (kind) => {
  it('holds exactly the source in every cell, and again after the shops have worked', async () => {
    const warehouse = await open(kind)
    const first = await sync(sandbox, warehouse)
    expect(first.status).toBe('ok')
    expect(first.cursors.every((cursor) => cursor.completeness === 'proven')).toBe(true)
    expect(await compare(warehouse, expected(sandbox))).toBeGreaterThan(100_000)
    // Changes that are no deletes: those are what reconcile finds.
    for (const tenant of sandbox.tenantIds)
      for (const record of sandbox.store.all(tenant, 'repair_orders').slice(0, 40)) {
        const { services = [], ...rest } = record as unknown as { services?: unknown[] }
        const at = sandbox.store.clock.nowMicros()
        sandbox.store.put(tenant, 'repair_orders', {
          ...rest,
          services: services.slice(1).reverse(),
          detail: 'changed',
          updated_at: fromMicros(at),
        })
      }
    const second = await sync(sandbox, warehouse)
    expect(second.status).toBe('ok')
    expect(second.rows_deleted).toBeGreaterThan(0)
    await compare(warehouse, expected(sandbox))
    await warehouse.close()
  })
})

it('holds equal rows on every dialect (law 4)', async () => {
  const kinds = warehouses()
  if (kinds.length < 2) return
  const held = []
  for (const kind of kinds) {
    const warehouse = await open(kind)
    await sync(sandbox, warehouse)
    held.push(await contents(warehouse))
    await warehouse.close()
  }
  expect(held[1]).toEqual(held[0])
})
