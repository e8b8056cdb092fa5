/** What a list shows is live here, whatever a deletion mark says about the future. */
import { describe, expect, it } from 'vitest'
import { fromMicros } from '../../../src/engine/base/timestamp.js'
import type { Source } from '../../../src/engine/source/source.js'
import type { Warehouse } from '../../../src/engine/warehouse/warehouse.js'
import { runVerify } from '../../../src/features/verify/work.js'
import { Between } from '../../support/between.js'
import { HandClock } from '../../support/clocks.js'
import { atSource, fill, liveIds, only, reconcile } from '../../support/notes.js'
import { randomFrom } from '../../support/random.js'
import { depsOf, sync } from '../../support/run.js'
import { sandboxOfFile } from '../../support/sandbox.js'
import { open, warehouses } from '../../support/warehouse.js'

const sandbox = await sandboxOfFile()
const yearsAhead = '2099-03-01T13:00:00.000000Z'

describe.each(warehouses())('$name', (kind) => {
  const clock = new HandClock('2026-03-01T12:00:00Z', 10n)

  /** A warehouse in which a row is marked deleted by somebody whose clock is ahead. */
  async function marked(count: number, id: number, at = yearsAhead): Promise<Warehouse> {
    sandbox.reset()
    sandbox.store.addTenant({ id: 1 })
    fill(sandbox, count)
    const warehouse = await open(kind)
    await sync(sandbox, warehouse, { resources: ['notes'], clock })
    await mark(warehouse, id, at)
    return warehouse
  }

  const mark = (warehouse: Warehouse, id: number, at: string): Promise<unknown> =>
    warehouse.write([
      warehouse.db
        .updateTable('notes')
        .set({ _deleted_at: at, _synced_at: at })
        .where('tenant_id', '=', 1)
        .where('id', '=', id)
        .compile(),
    ])

  async function verify(warehouse: Warehouse, full: boolean) {
    const { deps, close } = await depsOf(sandbox, warehouse, { clock })
    const choice = { tenants: null, resources: ['notes'] }
    try {
      return await runVerify({ ...deps, random: randomFrom(3) }, choice, { full, sample: 0 })
    } finally {
      await close()
    }
  }

  it.each([
    [80, 75, false],
    [80, 20, true],
    [900, 300, false],
    [900, 300, true],
    [900, 899, true],
  ])(
    'of %i, a row that is marked deleted ahead of the clocks (%i) is one again (full: %s)',
    async (count, id, full) => {
      const warehouse = await marked(count, id)
      expect((await verify(warehouse, full)).cursors[0]).toMatchObject({ status: 'differs', missing: 1 })
      const report = await reconcile(sandbox, warehouse, { clock, full })
      expect(only(report)).toMatchObject({
        status: 'ok',
        reconciled: { stored: 1, source: count, warehouse: count },
      })
      expect(await liveIds(warehouse)).toEqual(atSource(sandbox))
      expect((await verify(warehouse, true)).status).toBe('equal')
      await warehouse.close()
    },
  )

  it('a row that is marked while the list is read is one again, if the source has it', async () => {
    sandbox.reset()
    sandbox.store.addTenant({ id: 1 })
    fill(sandbox, 900)
    const warehouse = await open(kind)
    await sync(sandbox, warehouse, { resources: ['notes'], clock })
    const around = (source: Source): Source =>
      new Between(source, async ({ page }, ask) => {
        const answer = await ask()
        if (page === 9) await mark(warehouse, 899, fromMicros(clock.nowMicros()))
        return answer
      })
    expect(only(await reconcile(sandbox, warehouse, { clock, full: true, around }))?.status).toBe('ok')
    expect(await liveIds(warehouse)).toEqual(atSource(sandbox))
    await warehouse.close()
  })
})
