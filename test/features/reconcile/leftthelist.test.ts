/** Records that leave their list and its total and can still be read by id: archived ones. */
import { describe, expect, it } from 'vitest'
import { template } from '../../../src/sandbox/index.js'
import { adoptBy, plan } from '../../support/harness/commands.js'
import { known } from '../../support/harness/runs.js'
import { sandboxOfFile } from '../../support/harness/sandbox.js'
import { sized } from '../../support/harness/size.js'
import { reopen, rowsOf, warehouses } from '../../support/harness/warehouse.js'
import { copyInto } from '../../support/world/copying.js'
import { at, reconcile, timeOf } from '../../support/world/notes.js'
import { day, OneList, proven, repaired, unproven } from '../../support/world/onelist.js'

const sandbox = await sandboxOfFile()
/** As many as are compared by counting. */
const many = sized(850, 1500)
const last = many - 100

describe.each(warehouses())('$name', (kind) => {
  const list = new OneList(sandbox, kind)
  const left = { ...repaired, reason: 'left_the_list' } as const

  const archive = (...ids: readonly number[]): void => {
    for (const id of ids) list.odd.archived.add(id)
  }
  const nextDay = (): void => list.clock.pass(day)
  const expectUnlisted = async (...ids: readonly number[]): Promise<void> => {
    const rows = (await rowsOf(list.warehouse, 'notes')).filter((row) => row._unlisted_at !== null)
    expect(rows.map(({ id }) => Number(id)).sort((a, b) => a - b)).toEqual(ids)
  }

  /** Two of many are archived, and a person has confirmed it. */
  async function confirmed(): Promise<void> {
    await list.loaded(many)
    archive(20, last)
    await list.reconcile(left, { full: true })
    await expectUnlisted(20, last)
  }

  it.each([80, 350, many])(
    'of %i: unproven the first time, repaired on another day, with the rows live',
    async (count) => {
      await list.loaded(count)
      archive(20, 30, count - 5)
      nextDay()
      const counts = { left_the_list: 3, source: count - 3, warehouse: count - 3 }
      await list.reconcile({
        ...unproven,
        reason: 'left_the_list',
        error: expect.stringContaining('3 records (20, 30,'),
        reconciled: { ...counts, left_ids: [20, 30, count - 5], deleted: 0 },
      })
      await expectUnlisted(20, 30, count - 5)
      // Everything that the list shows was compared, so deletions are known.
      expect((await list.cursor()).deletes_checked_at).toMatch(/^2026-03-02/)
      // A sync is as without them.
      await list.sync(proven)
      nextDay()
      await list.reconcile({ ...left, error: null, reconciled: { left_the_list: 3 } })
      expect((await list.cursor()).deletes_checked_at).toMatch(/^2026-03-03/)
    },
  )

  it('a reconcile --full confirms it at once, and for good', async () => {
    await confirmed()
    await list.reconcile(left)
    // Another one isn't confirmed by that.
    archive(500)
    await list.reconcile({ status: 'failed', reason: 'left_the_list' })
  })

  it('costs one request for each, once it is known, as plan says, and none where there are none', async () => {
    await list.loaded(many)
    const requests = async (): Promise<number> => {
      await list.reconcile({ status: 'ok' })
      return sandbox.requests.length
    }
    const without = await requests()
    archive(20, last)
    await list.reconcile(left, { full: true })
    const planned = await plan(sandbox, list.warehouse, { mode: 'reconcile', clock: list.clock })
    expect([await requests(), planned.requests]).toEqual([without + 2, without + 2])
    list.odd.heal()
    await list.reconcile(proven, { full: true })
    expect(await requests()).toBe(without)
  })

  it('a change of such a record arrives with reconcile, and verify tells it apart', async () => {
    await confirmed()
    list.put(last, at(last * 7 + 3), { description: 'later' })
    await list.verify({ status: 'differs', missing: 0, outdated: 1, extra: 0, left_the_list: 2 })
    const reconciled = { stored: 1, left_the_list: 2, source: many - 2, warehouse: many - 2 }
    await list.reconcile({ ...left, reconciled })
    expect((await list.live()).get(last)).toBe(at(last * 7 + 3))
    await expectUnlisted(20, last)
    // Being gone ends it: the row is marked deleted.
    list.remove(last)
    await list.verify({ gone: 1, left_the_list: 1 })
    await list.reconcile({ status: 'ok', reconciled: { deleted: 1, left_the_list: 1 } })
    await expectUnlisted(20)
  })

  it.each([false, true])('verify compares without them, and names them (full: %s)', async (full) => {
    await list.loaded(many)
    archive(20, last)
    const none = { missing: 0, outdated: 0, extra: 0, gone: 0, source: many - 2 }
    const named = { reason: 'left_the_list', left_the_list: 2, left_ids: [20, last] }
    await list.verify({ status: 'equal', ...none, ...named }, { full })
    await expectUnlisted()
    await list.reconcile(left, { full: true })
    await list.verify({ status: 'equal', ...none, ...named, warehouse: many - 2 }, { full })
  })

  it.each([350, many])(
    'of %i, being listed again ends it: a walk that shows the record, or reconcile',
    async (count) => {
      await list.loaded(count)
      archive(20, 30, count - 2)
      await list.reconcile(left, { full: true })
      list.odd.heal([20, count - 2])
      await list.sync({ completeness: 'proven' })
      await expectUnlisted(20, 30)
      await list.verify({ status: 'equal', left_the_list: 1 })
      await list.reconcile({ status: 'ok', reconciled: { left_the_list: 1, stored: 0 } })
      await expectUnlisted(30)
      list.odd.heal()
      await list.reconcile(proven)
      await expectUnlisted()
      await list.remembers(null)
    },
  )

  it.each(warehouses())('a copy into $name knows them, too', async (other) => {
    await list.loaded(350)
    archive(20, 30)
    await list.reconcile(left, { full: true })
    const to = other.address()
    expect(await copyInto(list.address, to, { model: known })).toMatchObject({ status: 'ok' })
    list.warehouse = await reopen(to)
    await expectUnlisted(20, 30)
    await list.verify({ status: 'equal', left_the_list: 2 })
    await list.reconcile({ ...left, reconciled: { left_the_list: 2, stored: 0, deleted: 0 } })
    await list.warehouse.close()
  })

  it("another source's list says nothing about these records: adopt drops the marks, and reconcile looks again", async () => {
    await list.loaded(350)
    archive(20, 30)
    await list.reconcile(left, { full: true })
    await adoptBy(sandbox, list.warehouse, { partnerId: '43' })
    await expectUnlisted()
    expect(await list.cursor()).toBeUndefined()
    await adoptBy(sandbox, list.warehouse)
    await list.sync({})
    const reconciled = { left_ids: [20, 30], deleted: 0 }
    await list.reconcile({ status: 'failed', reason: 'left_the_list', reconciled })
  })

  it('is found beside deleted, missing and changed records, and a row that vanished is fetched again', async () => {
    await confirmed()
    archive(21, 600)
    list.remove(22, 601)
    await list.lose(20, 500, 501)
    nextDay()
    await list.reconcile({})
    await expectUnlisted(20, 21, 600, last)
    nextDay()
    await list.reconcile(left)
  })

  it("isn't said of a record that a second answer by id no longer has, or that the total still counts", async () => {
    await list.loaded(350)
    archive(20)
    let asked = 0
    const off = sandbox.onRequest(({ id }) => {
      if (id === 20 && ++asked === 2) list.remove(20)
    })
    await list.reconcile({ reconciled: { left_the_list: 0 } }, { full: true, lacks: null })
    off()
    list.odd.hidden.add(40)
    await list.reconcile({ reason: 'counted_not_shown' }, { full: true })
    await expectUnlisted()
  })

  it("isn't said of a record whose answer by id is another one, into which it was merged", async () => {
    await list.loaded(350)
    archive(20, 30)
    const merged = { id: 9, updated_at: timeOf(9), description: 'the one that is left' }
    const merge = (id: number): void =>
      sandbox.script([
        { when: { kind: 'item', id }, fault: { kind: 'status', status: 200, body: JSON.stringify(merged) } },
      ])
    merge(30)
    const error = expect.stringContaining('30 (found record 9)')
    await list.reconcile({ reason: 'answers_differ', error, rows_deleted: 0 })
    await expectUnlisted(20)
    // One that had left the list is in doubt once it is merged, and keeps its mark.
    sandbox.script([])
    nextDay()
    await list.reconcile({ reason: 'left_the_list' })
    await expectUnlisted(20, 30)
    merge(20)
    await list.reconcile({ reason: 'answers_differ', rows_deleted: 0 })
    await expectUnlisted(20, 30)
    expect((await list.row(9))?.description).not.toBe(merged.description)
  })
})

describe.each(warehouses())('orders on $name', (kind) => {
  const list = new OneList(sandbox, kind, {}, 'repair_orders')

  it('that left the list keep their totals, which know it, too', async () => {
    await list.loaded(40)
    const expectTotals = async (unlistedAt: unknown): Promise<void> => {
      const totals = await rowsOf(list.warehouse, 'repair_order_totals')
      expect(totals.find((row) => row.repair_order_id === 7)).toMatchObject({
        _unlisted_at: unlistedAt,
        _deleted_at: null,
      })
    }
    list.odd.archived.add(7)
    await list.reconcile({}, { full: true })
    await expectTotals(expect.any(String))
    sandbox.store.put(1, 'repair_orders', template('repair_orders', 7, at(55)))
    await list.reconcile({})
    await expectTotals(expect.any(String))
    list.odd.heal()
    await reconcile(sandbox, list.warehouse, { resources: ['repair_orders'], clock: list.clock })
    await expectTotals(null)
  })
})
