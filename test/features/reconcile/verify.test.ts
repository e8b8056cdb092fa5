/** Verify: reports exactly what differs, and writes nothing at all. */
import { describe, expect, it } from 'vitest'
import { Stop } from '../../../src/engine/base/errors.js'
import { createSandbox, serviceTemplate, template } from '../../../src/sandbox/index.js'
import { verify, verifyText } from '../../support/harness/commands.js'
import { type RunOptions, sync } from '../../support/harness/runs.js'
import { sandboxOfFile } from '../../support/harness/sandbox.js'
import { sized } from '../../support/harness/size.js'
import { contents, rowsOf, warehouses } from '../../support/harness/warehouse.js'
import { Between } from '../../support/world/between.js'
import { at } from '../../support/world/notes.js'
import { OneList } from '../../support/world/onelist.js'

const sandbox = await sandboxOfFile()
/** More than the walk that catches up reads, so that ranges are counted. */
const many = sized(1000, 5000)
const longAgo = '2020-01-01T00:00:00.000000Z'
const state = ['tenants', 'sync_cursors', 'sync_runs', 'sync_run_cursors', 'sync_lease', 'sync_quarantine']
const none = { missing: 0, outdated: 0, extra: 0 }
const countsAndWays = [
  [60, false],
  [many, false],
  [many, true],
] as const

describe.each(warehouses())('$name', (kind) => {
  const list = new OneList(sandbox, kind)
  const orders = new OneList(sandbox, kind, {}, 'repair_orders')
  const claim = (columns: object) => list.write(columns, undefined, 'sync_cursors')

  it.each([0, 60, 450, many])('%i equal records are called equal', async (count) => {
    await list.loaded(count)
    await list.verify({ status: 'equal', ...none, source: count, warehouse: count })
  })

  it.each([...countsAndWays, [450, false] as const])(
    'counts what is missing, outdated and extra among %i (full: %s), and writes nothing',
    async (count, full) => {
      const everything = async (): Promise<unknown> => [
        await contents(list.warehouse),
        await Promise.all(state.map((name) => rowsOf(list.warehouse, name))),
      ]
      await list.loaded(count)
      await list.lose(2, 3)
      // Among 60, the catch-up walk also reads record 25, which the warehouse once had.
      list.remove(count - 1, count - 20)
      // One that a sync would fetch, and one that no sync would.
      list.put(11, at(900_000), { description: 'new' })
      await list.write({ updated_at: at(25 * 7 - 3) }, 25)
      const before = await everything()
      await list.verify({ status: 'differs', missing: 2, outdated: 1, extra: 0, newer: 1, gone: 2 }, { full })
      expect(await everything()).toEqual(before)
    },
  )

  describe('--sample', () => {
    it('counts what it compared, and nothing compared is no success', async () => {
      const sample = { sample: 20 }
      await list.loaded(30)
      const unanswered = { when: { kind: 'item' }, fault: { kind: 'status', status: 404 } } as const
      sandbox.script([{ ...unanswered, times: 5 }])
      const some = await list.verify({ status: 'equal', sampled: 20, asked: 20, compared: 15 }, sample)
      expect(verifyText(some)).toContain('15 of 20 sampled records compared field by field')
      await list.write({ description: 'falsified' })
      sandbox.script([unanswered])
      const compared = { asked: 20, compared: 0, other_version: 0, differences: [] }
      const text = verifyText(await list.verify({ status: 'failed', ...compared }, sample))
      expect(text).toMatch(/None of the 20 sampled records .* expected .* Type shopsync verify/)
      expect(text).not.toContain('field by field')
      // A reconcile has found out that the source doesn't answer by id: no record is requested.
      await claim({ by_id_refused_at: String((await list.cursor()).last_success_at) })
      const unasked = await list.verify({ status: 'failed', sampled: 20, asked: 0, compared: 0 }, sample)
      expect(verifyText(unasked)).toMatch(/None of the 20 sampled records .*: none was requested/)
      // Nor is there anything to compare of a record that is gone.
      await list.loaded(1)
      list.remove(1)
      list.put(2, at(900_000), { description: 'new' })
      await list.verify({ status: 'equal', gone: 1, newer: 1, sampled: 0 }, sample)
    })

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

  describe('only checks what a cursor claims', () => {
    it.each(countsAndWays)(
      'of %i records (full: %s), what came, changed and went since is counted separately',
      async (count, full) => {
        await list.loaded(count)
        list.add(3, 900_000)
        list.put(5, at(9_000_000))
        list.remove(7, count - 3)
        const counts = { ...none, newer: 4, gone: 2, differences: [] }
        await list.verify({ status: 'equal', ...counts }, { full, sample: 10 })
        // Deletions that were not checked for long are differences.
        await claim({ deletes_checked_at: longAgo })
        await list.verify({ status: 'differs', ...counts, extra: 2, gone: 0 }, { full })
        // So are they after a first load long ago.
        await claim({ deletes_checked_at: null })
        await list.write({ started_at: longAgo }, undefined, 'sync_run_cursors')
        await list.verify({ extra: 2, gone: 0 }, { full })
      },
    )

    it('a version above complete_through is newer, one below it that the warehouse lacks is missing', async () => {
      await list.loaded(many)
      // If the watermark is far above, no walk finds it.
      await claim({ complete_through: at(7 * (many - 400)) })
      await list.lose(many - 300, many - 500)
      await list.verify({ status: 'differs', missing: 1, newer: 1 })
      await claim({ complete_through: null })
      await list.verify({ status: 'differs', missing: 2, newer: 0 })
    })

    it('a time limit is reported, and no next run that would resume is promised', async () => {
      await list.loaded(60)
      const limit = new AbortController()
      const around: RunOptions['around'] = (source) =>
        new Between(source, (_, ask) => {
          limit.abort(new Stop('time is over', { exitCode: 1, code: 'time_limit' }))
          return ask()
        })
      const error = expect.stringMatching(/time limit ended the run; verify keeps no progress: give it/)
      const skipped = { status: 'skipped', reason: 'time_limit', error }
      await list.verify(skipped, { signal: limit.signal, around })
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
  })

  it('names a record that cannot be stored, which no reconcile repairs', async () => {
    await list.loaded(60)
    const broken = { ...template('notes', 900_000, at(1)), updated_at: null }
    sandbox.store.put(1, 'notes', broken, { key: 900_000, at: at(1) })
    const text = verifyText(
      await list.verify({ status: 'differs', missing: 0, unstorable: 1 }, { full: true }),
    )
    expect(text).toContain('1 record cannot be stored: see shopsync quarantine list')
    expect(text).not.toContain('shopsync reconcile')
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
    await claim({ last_success_at: longAgo })
    await expectFound({ status: 'differs', ...counts, extra: 1, gone: 0 })
  })
})
