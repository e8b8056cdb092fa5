/** A source that was restored from a backup: records are older than their rows, and reconcile follows what it shows. */
import { describe, expect, it } from 'vitest'
import { sandboxOfFile } from '../../support/harness/sandbox.js'
import { isWhole, sample, someOf } from '../../support/harness/size.js'
import { warehouses } from '../../support/harness/warehouse.js'
import { at, timeOf } from '../../support/world/notes.js'
import { OneList, proven, repaired, unproven } from '../../support/world/onelist.js'

const sandbox = await sandboxOfFile()
/** As many as are compared by counting. */
const many = isWhole() ? 3000 : 1000

describe.each(warehouses())('$name', (kind) => {
  const list = new OneList(sandbox, kind)
  const followed = { ...repaired, reason: 'source_went_back' }
  const doubtful = { ...unproven, reason: 'answers_differ' }

  const older = (id: number): void => list.put(id, timeOf(id))
  const newer = (id: number): void => list.put(id, timeOf(id + 500), { description: 'newer' })

  async function restored(count: number): Promise<void> {
    let restore = (): void => {}
    await list.loaded(count, () => {
      const backup = list.collection.backup()
      restore = () => list.collection.restore(backup)
      for (const id of [count - 20, 30, 31]) newer(id)
      list.put(count + 1, timeOf(count + 600))
    })
    restore()
  }

  const countsAndWays = sample(
    [
      [many, true],
      [many, false],
      [350, false],
    ] as const,
    2,
  )
  it.each(countsAndWays)(
    'is followed, of %i records (full: %s), reported and counted',
    async (count, full) => {
      await restored(count)
      await list.verify({ status: 'differs', outdated: 3, gone: 1 }, { full })
      await list.reconcile({ ...followed, reconciled: { went_back: 3, deleted: 1 } }, { full })
      expect((await list.live()).get(30)).toBe(timeOf(30))
      expect((await list.row(30))?.description).toBe(sandbox.store.get(1, 'notes', 30)?.description)
      await list.verify({ status: 'equal' }, { full: true })
      await list.reconcile(proven, { full })
    },
  )

  /** Ten records are edited and then revert, while none is missing and no count differs. */
  async function tenRestored(count: number, place = 0): Promise<void> {
    const last = Array.from({ length: 10 }, (_, i) => count - place - i)
    await list.loaded(count, () => {
      for (const id of last) list.put(id, at(7 * id + 2), { description: 'edited' })
    })
    for (const id of last) list.put(id, timeOf(id), { description: 'as it was' })
  }

  const told = [
    expect.stringContaining('older versions than the warehouse has'),
    { tenant_id: 1, resource: 'notes', records: 10 },
  ]
  const places = [
    ['the only page', 80, 0, 0],
    ['the only page, which the catching-up walk reads', 80, 3_600_000, 0],
    ['the top of a long list', many, 0, 0],
    ['the top of a long list, which the catching-up walk reads', many, 3_600_000, 0],
    ['what the catching-up walk alone reads', many, 3_600_000, 150],
  ] as const
  it.each(someOf(2, places))(
    'is followed by a plain reconcile on %s, with no record missing',
    async (_, count, overlapMs, place) => {
      await tenRestored(count, place)
      // A sync counts and reports them, and requests nothing.
      await list.sync({}, { overlapMs })
      expect(list.byId).toBe(0)
      if (overlapMs > 0) expect(list.notices).toContainEqual(told)
      // So does a backfill.
      const ranges = [{ from: at(0), to: at(10_000) }]
      if (count === 80) {
        await list.sync({ status: 'ok' }, { mode: 'backfill', ranges })
        expect(list.notices).toContainEqual(told)
      }
      expect(list.byId).toBe(0)
      await list.verify({ status: 'differs', missing: 0, outdated: 10, extra: 0 }, { overlapMs })
      const asked: bigint[] = []
      const off = sandbox.onRequest(({ id }) => {
        if (id === count - place) asked.push(list.clock.nowMicros())
      })
      await list.reconcile({ ...followed, reconciled: { went_back: 10 } }, { overlapMs })
      off()
      expect(asked).toHaveLength(2)
      expect(asked[1]! - asked[0]!).toBeGreaterThanOrEqual(5_000_000n)
      expect((await list.row(count - place))?.description).toBe('as it was')
      await list.verify({ status: 'equal' }, { full: true, overlapMs })
      await list.reconcile(proven, { overlapMs })
    },
  )

  it('verify requests twice, too: if the answers differ, it neither calls the list equal nor counts a difference', async () => {
    await tenRestored(80)
    let asked = 0
    const off = sandbox.onRequest(({ id }) => {
      if (id === 80 && ++asked === 2) list.put(80, at(563), { description: 'new' })
    })
    await list.verify({ status: 'failed', reason: 'answers_differ' })
    off()
    expect(asked).toBe(2)
  })

  it('sync --full keeps what it has, proves nothing of it, and refers to reconcile', async () => {
    await restored(350)
    const error = expect.stringContaining('an older version of 3 records')
    await list.full({ ...unproven, reason: 'source_went_back', error }, { lacks: null })
    expect(list.notices).toContainEqual([
      expect.stringContaining('type shopsync reconcile'),
      { tenant_id: 1, resource: 'notes', records: 3 },
    ])
    expect((await list.live()).get(30)).toBe(timeOf(530))
  })

  it.each([
    ['two answers differ', newer, 2],
    ['the first answer is current', older, 1],
  ])("isn't followed if %s: nothing is written, and the next reconcile asks again", async (_, then, nth) => {
    await restored(350)
    const asked: bigint[] = []
    const off = sandbox.onRequest(({ id }) => {
      if (id !== 30) return
      asked.push(list.clock.nowMicros())
      if (asked.length === nth) newer(30)
      else if (asked.length > 1) then(30)
    })
    await list.reconcile({ ...doubtful, reconciled: { went_back: 2 } })
    off()
    expect(asked[1]! - asked[0]!).toBeGreaterThanOrEqual(5_000_000n)
    expect((await list.live()).get(30)).toBe(timeOf(530))
    if (nth === 2) await list.reconcile({ status: 'ok', reason: null })
  })

  it('is distinguished from a list that lags behind its answers by id: nothing is written or checked', async () => {
    await list.loaded(350, () => newer(30))
    const before = await list.cursor()
    sandbox.onRequest(({ id }) => (id === null ? older(30) : newer(30)))
    for (const full of [false, true]) {
      await list.reconcile(doubtful, { full })
      await list.verify({ status: 'failed', reason: 'answers_differ' }, { full })
    }
    expect((await list.live()).get(30)).toBe(timeOf(530))
    expect((await list.cursor()).deletes_checked_at).toBe(before.deletes_checked_at)
  })

  it("isn't followed if the source doesn't answer by id, and the message says so", async () => {
    await restored(350)
    sandbox.script([{ when: { kind: 'item' }, fault: { kind: 'status', status: 404 } }])
    const error = expect.stringMatching(/3 records in an older version .* does not answer by id/)
    await list.reconcile({ reason: 'answers_differ', error })
    await list.verify({ reason: 'answers_differ', error })
    expect((await list.live()).get(30)).toBe(timeOf(530))
  })

  it('leaves a row alone if it has another version by now', async () => {
    await restored(350)
    let asked = 0
    sandbox.onRequest(async ({ id }) => {
      if (id === 30 && ++asked === 2) await list.write({ updated_at: timeOf(900) }, 30)
    })
    // What is counted is what was stored.
    await list.reconcile({ reconciled: { went_back: 2 } })
    expect((await list.live()).get(30)).toBe(timeOf(900))
  })

  it('brings back a record whose row is a tombstone of a later version', async () => {
    await restored(350)
    await list.write({ _deleted_at: at(1) }, 30)
    await list.reconcile({ status: 'ok', reason: 'source_went_back' }, { full: true })
    expect((await list.live()).get(30)).toBe(timeOf(30))
  })
})
