/**
 * Year, make and model of vehicles, which the document doesn't show, and a name made of them: read from a promoted column or an undeclared field
 * alike, stored with the record, and computed again without a request when columns are promoted and in a warehouse of an
 * older version.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createSandbox, type Sandbox } from '../../../src/sandbox/index.js'
import { shopsync } from '../../support/harness/call.js'
import { type Address, configure } from '../../support/harness/place.js'
import { ask } from '../../support/harness/views.js'
import { readMeta, reopen, storeMeta, warehouses } from '../../support/harness/warehouse.js'

/** What a vehicle has, and what the view shows of it. */
const cases: readonly (readonly [fields: Record<string, unknown>, shown: readonly unknown[]])[] = [
  [{ year: 2015, make: 'Ford', model: 'F-150' }, [2015, 'Ford', 'F-150']],
  [{ year: '2016', make: ' Mazda ', model: 626 }, [2016, 'Mazda', '626']],
  [{ year: 2017.0, make: '', model: null }, [2017, null, null]],
  [{ year: 17, make: { name: 'Kia' }, model: ['Rio'] }, [null, null, null]],
  [{ year: 20185, make: true, model: false }, [null, 'true', 'false']],
  [{ year: '1e400', make: 'Ford', model: ' ' }, [null, 'Ford', null]],
  [{ year: 'unknown', make: 'Ford', model: 'Ka' }, [null, 'Ford', 'Ka']],
  [{ year: -2015 }, [null, null, null]],
  [{}, [null, null, null]],
]

const resources = ['vehicles', 'repair_orders']

describe.each(warehouses())('$name', (kind) => {
  let sandbox: Sandbox
  let address: Address
  beforeAll(async () => {
    sandbox = await createSandbox({ data: 'none', tenants: [{ id: 101 }, { id: 102 }] })
    for (const [i, [fields]] of cases.entries())
      sandbox.store.put(101, 'vehicles', { id: i + 1, updated_at: '2026-09-01T00:00:00Z', ...fields })
    // A tenant whose vehicles have none of the fields: a number plate is all that there is.
    sandbox.store.put(102, 'vehicles', { id: 1, updated_at: '2026-09-01T00:00:00Z', plate: 'ABK 1' })
    address = await kind.viewed()
  })
  afterAll(() => sandbox.close())

  /** Runs a sync with promoted columns, and returns how many requests it sent for vehicles. */
  async function run(columns: Record<string, string>): Promise<number> {
    const settings = { report: { names: { vehicles: ['year', 'make', 'model'] } } }
    const promoted = Object.keys(columns).length > 0 ? { vehicles: { columns } } : undefined
    const config = configure(sandbox, address, resources, { ...settings, resources: promoted })
    const ended = await shopsync(['sync', '--json', '--config', config])
    expect(ended.stderr + ended.stdout).not.toContain('"failed"')
    const { cursors } = ended.json() as { cursors: { resource: string; requests: number }[] }
    return cursors.reduce((sum, { resource, requests }) => sum + (resource === 'vehicles' ? requests : 0), 0)
  }

  async function shown(): Promise<unknown[][]> {
    const warehouse = await reopen(address)
    const rows = await ask(warehouse, 'dim_vehicles', 'select * from {view} order by tenant_id, vehicle_id')
    await warehouse.close()
    const [first, second] = rows.map(({ vehicle_name }) => vehicle_name)
    expect([first, second, rows.at(-1)?.vehicle_name]).toEqual([
      '2015 Ford F-150',
      '2016 Mazda 626',
      'vehicle 1',
    ])
    return rows.map((row) => [row.year === null ? null : Number(row.year), row.make, row.model])
  }

  const expected = [...cases.map(([, values]) => [...values]), [null, null, null]]

  it('are shown of undeclared fields', async () => {
    await run({})
    expect(await shown()).toEqual(expected)
  })

  it('are the same when columns are promoted, for which the list is read once', async () => {
    expect(await run({ make: 'text' })).toBe(4)
    expect(await shown()).toEqual(expected)
    expect(await run({ make: 'text' })).toBe(2)
    // What the column can't hold is in quarantine, and shown by no view.
    expect(await run({ make: 'text', year: 'integer', model: 'json' })).toBe(4)
    const held = expected.map(([year, make, model], i) => [i === 5 ? null : year, make, model])
    expect(await shown()).toEqual(held)
  })

  it('are computed in a warehouse that has no columns for them yet, without a request', async () => {
    const older = await reopen(address)
    const { db } = older
    const before = await shown()
    const made = JSON.parse((await readMeta(older, 'names')) ?? '{}') as Record<string, string>
    const { besides: _, ...lists } = JSON.parse(made.vehicles ?? '{}') as Record<string, unknown>
    await older.write([
      db
        .updateTable('vehicles')
        .set({ _year: null, _make: null, _model: null } as never)
        .compile(),
      storeMeta(db, 'names', JSON.stringify({ ...made, vehicles: JSON.stringify(lists) })),
    ])
    await older.close()
    expect(await run({ make: 'text', year: 'integer', model: 'json' })).toBe(2)
    expect(await shown()).toEqual(before)
  })
})
