/** Warehouses that contain a bit of everything, and copies of them, for the tests of `shopsync copy`. */

import { expect } from 'vitest'
import { resources } from '../../../schema/index.js'
import { systemClock } from '../../../src/engine/base/clock.js'
import { fromMicros } from '../../../src/engine/base/timestamp.js'
import type { Model } from '../../../src/engine/model/resourcemodel.js'
import { type CopyDependencies, type CopyReport, copyWarehouse } from '../../../src/features/copy/work.js'
import { type Sandbox, template } from '../../../src/sandbox/index.js'
import { model } from '../harness/model.js'
import type { Address } from '../harness/place.js'
import { Killed, sync } from '../harness/runs.js'
import { openWarehouse, reopen, rowsOf, type Warehouse } from '../harness/warehouse.js'
import { between } from './between.js'

/** Configured columns, and versions that are kept. */
export const richSettings = {
  vehicles: { columns: { vin: 'text', miles: 'number' }, history: true },
  repair_orders: { history: true },
  notes: { history: true },
} as const
export const rich: Model = model(resources, richSettings)

/** A tenant with odd records, and one whose list was read halfway. */
export const oddTenant = 900
const halfTenant = 901

const at = (n: number): string => fromMicros(1_767_225_600_000_000n + BigInt(n) * 1_000_001n)

export const sentHours = [
  '123456789012345.123456',
  '33.33333333333333333333',
  '0.30000000000000004',
  '1e400',
  '1.50',
  '-0.00000012345678901',
]
const labors = sentHours.map((hours, i) => `{"id":${i + 1},"hours":${hours},"name":"1.10"}`)
const services = `[{"id":1,"labors":[]},{"id":2,"labors":[${labors.join(',')}]}]`

/** What the sandbox sends exactly as written here: it prints its own numbers as JavaScript does. */
const altered: readonly (readonly [resource: string, path: string, raw: string])[] = [
  ['repair_orders', 'services', services],
  [
    'vehicles',
    'odd',
    '{"z":1.10,"e":1e2,"a":[1.0,{"long":0.1000000000000000055511151231257827,"x":12345678901234567890}]}',
  ],
  ['shops', 'beyond', '1e400'],
  ['customers', 'default_shop_id', '9223372036854775807'],
]

function addOddities({ store, script }: Sandbox): void {
  store.addTenant({ id: oddTenant })
  const put = (resource: string, id: number, more: object = {}): void =>
    store.put(oddTenant, resource, { ...template(resource, id, at(id)), ...more })
  put('notes', 1, { description: 'a\u0000b', repair_order_id: 1.5 })
  put('notes', 2, { description: 'żółć 🛠 \u2028 "quoted" \\u0000 \ue000', repair_order_id: 2 ** 53 - 1 })
  put('notes', 3, { description: '', unknown: { '1': null, x: [true, ''], é: 'é' } })
  put('vehicles', 4, { vin: '1FTFW', miles: 12.5 })
  put('vehicles', 5, { vin: null, miles: 'far' })
  for (const resource of ['repair_orders', 'shops', 'customers']) put(resource, 6)
  script(
    altered.map(([resource, path, raw]) => ({
      when: { tenant: oddTenant, resource },
      fault: { kind: 'alter', path, raw },
    })),
  )
}

/**
 * Fills a warehouse: syncs and a reconcile with changes and deletions in between, numbers beyond a double, values in
 * quarantine, configured columns, ended versions, and a first walk that was killed halfway.
 */
export async function fillRichly(sandbox: Sandbox, warehouse: Warehouse): Promise<void> {
  const options = { known: rich, resources: null }
  addOddities(sandbox)
  await sync(sandbox, warehouse, options)
  sandbox.store.remove(oddTenant, 'notes', 3)
  sandbox.store.remove(oddTenant, 'vehicles', 4)
  sandbox.work(30)
  await sync(sandbox, warehouse, options)
  await sync(sandbox, warehouse, { ...options, mode: 'reconcile', acceptDeletes: true })
  sandbox.store.addTenant({ id: halfTenant })
  for (let id = 1; id <= 250; id++) sandbox.store.put(halfTenant, 'notes', template('notes', id, at(id)))
  let pages = 0
  const dying = sync(sandbox, warehouse, {
    ...options,
    tenants: [halfTenant],
    resources: ['notes'],
    readAhead: 0,
    around: between(async (_request, ask) => {
      if (++pages > 2) throw new Error('killed')
      return ask()
    }),
  })
  await dying.catch(() => {})
}

/** Every row of every table, in a form that is the same for both kinds, without what only concerns one warehouse. */
export async function everything(warehouse: Warehouse): Promise<Record<string, Record<string, unknown>[]>> {
  const all: Record<string, Record<string, unknown>[]> = {}
  const live = new Set((await warehouse.dialect.catalog.liveColumns()).map(({ table }) => table))
  for (const { name } of warehouse.tables) if (live.has(name)) all[name] = await rowsOf(warehouse, name)
  delete all.sync_lease
  all.sync_meta = (all.sync_meta ?? []).filter((row) => !/^(views|copy)/.test(String(row.name)))
  return all
}

/** Opens them with one model, as the command does. */
export const opener =
  (address: Address, known: Model = rich) =>
  (how: { readonly existing?: boolean } = { existing: true }): Promise<Warehouse> =>
    openWarehouse({ ...address, model: known, retryWaits: [0, 0, 0, 0], ...how })

export const copyInto = (
  from: Address,
  to: Address,
  more: Partial<CopyDependencies> = {},
): Promise<CopyReport> =>
  copyWarehouse({
    model: more.model ?? rich,
    clock: systemClock,
    openSource: opener(from, more.model),
    openTarget: opener(to, more.model),
    signal: new AbortController().signal,
    ...more,
  })

/** Everything in a warehouse of that model. */
export const look = async (address: Address): Promise<Awaited<ReturnType<typeof everything>>> => {
  const warehouse = await reopen(address, rich)
  const all = await everything(warehouse)
  await warehouse.close()
  return all
}

/** A copy that dies when its rows are there, and nothing is compared yet. */
export const cutShort = (from: Address, to: Address, model: Model = rich): Promise<void> =>
  expect(
    copyInto(from, to, {
      model,
      onProgress: ({ pass }) => {
        if (pass === 'comparing') throw new Killed()
      },
    }),
  ).rejects.toThrow(Killed)
