/**
 * Law 4: the same pages leave equal rows in both kinds of warehouse. Records are mostly right, and wrong in every way.
 */
import { deepStrictEqual } from 'node:assert/strict'
import fc from 'fast-check'
import { allSettled } from '../../../../src/engine/base/allsettled.js'
import { fromMicros } from '../../../../src/engine/base/timestamp.js'
import type { Address } from '../../harness/place.js'
import { known } from '../../harness/runs.js'
import type { Warehouse } from '../../harness/warehouse.js'
import { contents, rowsOf } from '../../oracle/rows.js'
import { recordsOf } from '../records.js'
import { wipe } from '../through.js'
import { type Law, warehouseAt } from './law.js'

export interface DialectCase {
  readonly resource: string
  /** Records, page by page; an integer beyond 2^53 is written as text followed by an n. */
  readonly pages: readonly (readonly unknown[])[]
}

const lists = known.list.filter(({ resource }) => resource.list === 'records').map(({ name }) => name)
const embedded = known.list.find(({ resource }) => resource.embeddedAs !== undefined)!.resource

const asText = (page: unknown): unknown =>
  JSON.parse(JSON.stringify(page, (_, value: unknown) => (typeof value === 'bigint' ? `${value}n` : value)))
const asRecords = (page: unknown): unknown[] =>
  JSON.parse(JSON.stringify(page), (_, value: unknown) =>
    typeof value === 'string' && /^\d{16,}n$/.test(value) ? BigInt(value.slice(0, -1)) : value,
  ) as unknown[]

const ofResource = (name: string): fc.Arbitrary<DialectCase> =>
  fc
    .array(recordsOf(known.byName.get(name)!.resource, embedded, true), { minLength: 1, maxLength: 3 })
    .map((pages) => ({ resource: name, pages: pages.map((page) => asText(page) as unknown[]) }))

export const cases: Readonly<Record<'any', fc.Arbitrary<DialectCase>>> = {
  any: fc.constantFrom(...lists).chain(ofResource),
}

async function outcome(warehouse: Warehouse, name: string, pages: DialectCase['pages']): Promise<unknown> {
  const resource = known.byName.get(name)!
  const tables = [...resource.tables, ...known.byName.get(embedded.name)!.tables]
  const reports = ['sync_registers', 'sync_quarantine', 'sync_drift']
  await wipe(warehouse, [...tables.map((table) => table.name), ...reports])
  for (const [i, page] of pages.entries()) {
    const stamps = { tenantId: 7, syncedAt: fromMicros(1_767_225_600_000_000n + BigInt(i)) }
    const rest = { ...stamps, resource: name, statements: [], fence: undefined }
    const flattened = resource.flatten(1, asRecords(page), true)
    await warehouse.apply({ ...rest, page: warehouse.encode(flattened, rest) })
  }
  const found = reports.map((table) => rowsOf(warehouse, table))
  return { rows: await contents(warehouse, known, tables), found: await Promise.all(found) }
}

export async function open(addresses: readonly Address[]): Promise<Law<DialectCase>> {
  const both = [await warehouseAt(addresses, 0), await warehouseAt(addresses, 1)]
  return {
    play: async ({ resource, pages }) => {
      // Both end before the next case starts, even if one of them fails.
      const [one, other] = await allSettled(both.map((warehouse) => outcome(warehouse, resource, pages)))
      deepStrictEqual(one, other, 'Law 4: the two warehouses hold other rows')
    },
    close: async () => {
      for (const warehouse of both) await warehouse.close()
    },
  }
}
