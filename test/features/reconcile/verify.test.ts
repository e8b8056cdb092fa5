/** The stories of verify.txt, other resources, and whole shops. */
import { describe, expect, it } from 'vitest'
import { Stop } from '../../../src/engine/base/errors.js'
import { createSandbox, serviceTemplate, template } from '../../../src/sandbox/index.js'
import { verify } from '../../support/harness/commands.js'
import { sync } from '../../support/harness/runs.js'
import { sandboxOfFile } from '../../support/harness/sandbox.js'
import { sized } from '../../support/harness/size.js'
import { contents, rowsOf, warehouses } from '../../support/harness/warehouse.js'
import { Between } from '../../support/world/between.js'
import type { Words } from '../../support/world/liststory.js'
import { stories } from '../../support/world/listwords.js'
import { at } from '../../support/world/notes.js'
import { OneList } from '../../support/world/onelist.js'

const sandbox = await sandboxOfFile()
const longAgo = '2020-01-01T00:00:00.000000Z'
const state = ['tenants', 'sync_cursors', 'sync_runs', 'sync_run_cursors', 'sync_lease', 'sync_quarantine']

const everything = async ({ warehouse }: OneList): Promise<unknown> => [
  await contents(warehouse),
  await Promise.all(state.map((name) => rowsOf(warehouse, name))),
]
let before: unknown

const words: Words = {
  'a change of N that a sync would fetch': ({ list }, id) =>
    list.put(Number(id), at(900_000), { description: 'new' }),
  'older row of N': async ({ list }, id) => {
    await list.write({ updated_at: at(Number(id) * 7 - 3) }, Number(id))
  },
  'whatever is stored': async ({ list }) => {
    before = await everything(list)
  },
  'the same is stored': async ({ list }) => expect(await everything(list)).toEqual(before),
  'deletions checked in 2020': async ({ list }) => {
    await list.write({ deletes_checked_at: longAgo }, undefined, 'sync_cursors')
  },
  'loaded in 2020': async ({ list }) => {
    await list.write({ deletes_checked_at: null }, undefined, 'sync_cursors')
    await list.write({ started_at: longAgo }, undefined, 'sync_run_cursors')
  },
  'five answers by id fail': (story) =>
    story.rule({ when: { kind: 'item' }, times: 5, fault: { kind: 'status', status: 404 } }),
  'the time is over at the first request': (story) => {
    const limit = new AbortController()
    story.options = {
      signal: limit.signal,
      around: (source) =>
        new Between(source, (_, ask) => {
          limit.abort(new Stop('time is over', { exitCode: 1, code: 'time_limit' }))
          return ask()
        }),
    }
  },
  'an unstorable record': ({ list }) => {
    const broken = { ...template('notes', 900_000, at(1)), updated_at: null }
    list.sandbox.store.put(1, 'notes', broken, { key: 900_000, at: at(1) })
  },
}

stories('test/features/reconcile/verify.txt', sandbox, {}, words)

describe.each(warehouses())('$name', (kind) => {
  const list = new OneList(sandbox, kind)
  const orders = new OneList(sandbox, kind, {}, 'repair_orders')

  it('finds one changed field in a record and in its nested arrays, which no count can show', async () => {
    await orders.loaded(30)
    await orders.verify({ status: 'equal' }, { sample: 30 })
    const services = [{ ...serviceTemplate(70, at(1)), title: 'Another title' }]
    orders.put(7, at(49, (7 * 7919) % 1_000_000), { odometer: 99, services })
    await orders.verify({ status: 'equal' })
    const { cursors } = await orders.verify({ status: 'differs' }, { sample: 30 })
    const title = { column: 'title', warehouse: 'title 70', source: 'Another title' }
    expect(cursors[0]?.differences).toEqual(
      expect.arrayContaining([
        { table: 'repair_orders', row: '7', column: 'odometer', warehouse: '7', source: '99' },
        { table: 'repair_order_services', row: '7/70', ...title },
      ]),
    )
  })

  it('compares whole shops, all resources and fields, and finds them equal', async () => {
    await list.begin(0)
    const shops = await createSandbox({ tenants: 1, scale: sized(0.02, 0.05), seed: 9 })
    const resources = [...new Set(shops.store.resources)]
    const newerRecords = async (): Promise<number> => {
      const report = await verify(shops, list.warehouse, { resources, sample: sized(5, 20) })
      expect(report.cursors.filter(({ status }) => status !== 'equal')).toEqual([])
      return report.cursors.reduce((sum, { newer = 0 }) => sum + newer, 0)
    }
    await sync(shops, list.warehouse, {})
    expect(await newerRecords()).toBe(0)
    shops.work(60)
    // The shops keep working: no difference.
    expect(await newerRecords()).toBeGreaterThan(0)
    await sync(shops, list.warehouse, { mode: 'reconcile' })
    await newerRecords()
    await shops.close()
  })

  it('a cursor that was never synced is skipped; if there is no other, nothing is called equal', async () => {
    await list.loaded(60)
    for (let id = 1; id <= 10; id++) sandbox.store.put(1, 'vehicles', template('vehicles', id, at(id)))
    const both = await verify(sandbox, list.warehouse, { resources: ['notes', 'vehicles'] })
    expect(both.status).toBe('equal')
    const skipped = { status: 'skipped', error: expect.stringContaining('Type shopsync sync') }
    const states = both.cursors.map(({ resource, status }) => [resource, status])
    expect(Object.fromEntries(states)).toEqual({ notes: 'equal', vehicles: 'skipped' })
    const alone = await verify(sandbox, list.warehouse, { resources: ['vehicles'] })
    expect(alone).toMatchObject({ status: 'failed', cursors: [skipped] })
  })

  it('compares plain lists of names', async () => {
    await list.begin(0)
    const resources = ['customer_payment_types']
    const names = (...all: string[]): unknown => sandbox.store.tenant(1).strings.set(resources[0]!, all)
    const expectFound = async (expected: object): Promise<void> =>
      expect((await verify(sandbox, list.warehouse, { resources })).cursors).toMatchObject([expected])
    names('Gift card', 'Barter')
    await sync(sandbox, list.warehouse, { resources })
    await expectFound({ status: 'equal' })
    names('Gift card', 'Check', 'Fleet')
    const counts = { missing: 0, extra: 0, newer: 2, gone: 1 }
    await expectFound({ status: 'equal', ...counts })
    await list.write({ last_success_at: longAgo }, undefined, 'sync_cursors')
    await expectFound({ status: 'differs', ...counts, extra: 1, gone: 0 })
  })
})
