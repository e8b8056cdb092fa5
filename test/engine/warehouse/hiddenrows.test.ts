/** Rewriting what is stored when `privacy` hides more: whole, wherever it is cut short, and nothing is hidden twice. */
import { sql } from 'kysely'
import { beforeAll, describe, expect, it } from 'vitest'
import customers from '../../../schema/customers.js'
import vehicles from '../../../schema/vehicles.js'
import type { Privacy } from '../../../src/engine/config/treatment.js'
import type { Settings } from '../../../src/engine/model/registry.js'
import type { Model } from '../../../src/engine/model/resourcemodel.js'
import { copied } from '../../support/harness/clones.js'
import { model } from '../../support/harness/model.js'
import type { Address } from '../../support/harness/place.js'
import { sized } from '../../support/harness/size.js'
import {
  bothWarehouses,
  type Dialect,
  hideStored,
  migrate,
  openAt,
  reopen,
  rewriteRows,
  rowsOf,
  type Warehouse,
} from '../../support/harness/warehouse.js'
import { everything } from '../../support/world/hidden.js'
import { watched } from '../../support/world/through.js'

const resources = { customers, vehicles }
const unending = new AbortController().signal
const kept: Settings = {
  customers: { history: true, columns: { nickname: 'text' } },
  vehicles: { history: true },
}
const plain = model(resources, kept)
/** vin was in _extra; nickname is no longer configured, and _extra isn't kept. */
const privacy: Privacy = {
  preset: 'none',
  columns: {
    customers: { first_name: 'hash', email: 'drop', phone: 'hash', _extra: 'drop' },
    customer_phones: { number: 'hash', label: 'drop' },
    vehicles: { vin: 'hash' },
  },
  key: Buffer.alloc(32, 3),
  keyVersion: 1,
}
const hiding = model(
  resources,
  { customers: { history: true }, vehicles: { history: true, columns: { vin: 'text' } } },
  privacy,
)

const customer = (id: number, version: number) => ({
  id,
  updated_at: `2026-01-0${version}T00:00:00Z`,
  created_at: '2026-01-01T00:00:00Z',
  first_name: `secret first ${id % 2}`,
  last_name: `kept last ${id}`,
  // No text, so it goes to quarantine.
  email: { text: `secret mail ${id}` },
  phone: `secret phone ${id}`,
  nickname: `secret nick ${id}.${version}`,
  detail: `kept detail ${version}`,
  loyalty: `secret extra ${id}`,
  phones: [{ number: `secret phone ${id}`, label: `secret label ${version}`, primary: true }],
})
const vehicle = (id: number, version: number) => ({
  id,
  updated_at: `2026-01-0${version}T00:00:00Z`,
  created_at: '2026-01-01T00:00:00Z',
  customer_id: id,
  vin: `secret vin ${id}`,
  mileage: 1.1 + version,
  name: `kept car ${id}`,
})

/** Fills a warehouse with both versions of each record, for two tenants. */
async function load(address: Address): Promise<Address> {
  const warehouse = await openAt(address, plain)
  await rewriteRows(warehouse, unending)
  for (const version of [1, 2])
    for (const tenantId of [1, 2])
      for (const [resource, record] of Object.entries({ customers: customer, vehicles: vehicle })) {
        const records = [1, 2, 3].map((id) => record(id, version))
        const key = { tenantId, resource }
        const page = warehouse.encode(plain.byName.get(resource)!.flatten(tenantId, records, true), key)
        const syncedAt = `2026-02-0${version}T00:00:00.000000Z`
        await warehouse.apply({ ...key, page, statements: [], syncedAt })
      }
  await warehouse.close()
  return address
}

const tables = [
  ...['customers', 'customers_history', 'customer_phones', 'vehicles', 'vehicles_history'],
  ...['sync_quarantine', 'sync_drift', 'sync_privacy'],
]

/** All rows as text. */
async function shown(warehouse: Warehouse): Promise<string> {
  const all: string[] = []
  for (const table of tables) {
    const rows = warehouse.tables.some(({ name }) => name === table)
      ? await rowsOf(warehouse, table)
      : (await sql<object>`select * from ${sql.table(table)}`.execute(warehouse.db)).rows
    all.push(table, ...rows.map((row) => JSON.stringify(row)))
  }
  return all.join('\n')
}

/** `erase`: what becomes of the rows' traces in the files. */
const rewrite = (
  warehouse: Warehouse,
  dies = Number.POSITIVE_INFINITY,
  { erase }: Pick<Dialect, 'erase'> = warehouse.dialect,
) => {
  let moments = 0
  // As a kill would, before a statement or after it.
  const moment = (): void => {
    if (++moments > dies) throw new Error('killed')
  }
  return hideStored({
    dialect: { ...warehouse.dialect, erase },
    transact: (work) => warehouse.transaction((session) => work(watched(session, moment))),
    model: warehouse.model,
    interfered: warehouse.interfered,
    at: '2026-03-01T00:00:00.000000Z',
    recordsAtOnce: 2,
  })
}

describe.each(bothWarehouses())('$name', (kind) => {
  let loaded: Address
  beforeAll(async () => {
    // On Postgres, in a database that can be copied.
    loaded = await load(
      kind.name === 'sqlite' ? kind.address() : { ...(await kind.migrated()), schema: 'hidden' },
    )
  })
  const hidden = async (): Promise<{ warehouse: Warehouse; address: Address }> => {
    const address = await copied(loaded)
    const warehouse = await reopen(address, hiding)
    await migrate(warehouse)
    return { warehouse, address }
  }

  it('killed at any statement and begun again, it ends as undisturbed, and nothing hidden is left', async () => {
    const { warehouse: undisturbed } = await hidden()
    const { warehouse: killed, address } = await hidden()
    expect(await shown(undisturbed)).toContain('secret')
    expect((await rewrite(undisturbed)).done.map(({ table }) => table).sort()).toEqual(
      tables.filter((name) => !['sync_drift', 'sync_privacy'].includes(name)).sort(),
    )
    const wanted = await shown(undisturbed)
    expect(wanted).not.toContain('secret')
    // What is kept stays as it was, digit for digit, and equal texts stay equal.
    const [first, second, third, other] = await rowsOf(undisturbed, 'customers')
    expect(first?.first_name).toMatch(/^h1:[\w-]{22}$/)
    expect(third?.first_name).toBe(first?.first_name)
    expect(second?.first_name).not.toBe(first?.first_name)
    expect(other?.first_name).not.toBe(first?.first_name)
    expect(first).toMatchObject({ last_name: 'kept last 1', _extra: null })
    const [phone] = await rowsOf(undisturbed, 'customer_phones')
    // One domain for all columns of phones.
    expect(phone).toMatchObject({ number: first?.phone, label: null })
    const [car] = await rowsOf(undisturbed, 'vehicles')
    expect(car?.vin).toMatch(/^h1:/)
    expect(car?._extra).toEqual({ customer_id: 1, mileage: 3.1, name: 'kept car 1' })
    expect(car?._name).toBe('kept car 1')
    const [version] = await rowsOf(undisturbed, 'customers_history')
    expect(version).toMatchObject({ first_name: first?.first_name, email: null })
    expect(version?._children).toMatchObject({
      customer_phones: [expect.objectContaining({ number: phone?.number, label: null })],
    })
    const unerased: Dialect['erase'] = async (_, work) => {
      await work()
      throw new Error('killed')
    }
    for (let dies = 1, isErasing = true; ; dies += sized(3, 1)) {
      const end = await rewrite(killed, dies, isErasing ? { erase: unerased } : undefined).catch(
        (error: Error) => error.message,
      )
      if (typeof end !== 'string') break
      // The rows are hidden: the next one has only their traces to erase.
      if (isErasing && !(await shown(killed)).includes('secret')) isErasing = false
      expect(end).toContain('killed')
      expect(dies).toBeLessThan(400)
    }
    expect(await shown(killed)).toEqual(wanted)
    // What comes next finds nothing to rewrite, and nothing to hide.
    await rewriteRows(killed, unending)
    expect((await rewrite(killed)).done).toEqual([])
    expect(await everything(address)).not.toContain('secret')
  })

  it('a column that is hidden later leaves those that are hidden already alone', async () => {
    const address = await copied(loaded)
    const { customers: all, ...others } = privacy.columns
    const fewer = model(resources, kept, { ...privacy, columns: { customers: { first_name: 'hash' } } })
    const more = model(resources, kept, {
      ...privacy,
      columns: { ...others, vehicles: {}, customers: { ...all, last_name: 'hash' } },
    })
    const versionUnder = async (known: Model): Promise<Record<string, unknown>> => {
      const warehouse = await reopen(address, known)
      await rewrite(warehouse)
      const [version] = await rowsOf(warehouse, 'customers_history')
      return version!
    }
    const before = await versionUnder(fewer)
    const after = await versionUnder(more)
    expect(after.first_name).toBe(before.first_name)
    expect(after.last_name).toMatch(/^h1:/)
    const again = model(resources, kept, {
      ...more.privacy,
      columns: { ...more.privacy.columns, customers: { ...more.privacy.columns.customers, city: 'drop' } },
    })
    expect(await versionUnder(again)).toEqual({ ...after, city: null })
  })
})
