/** The stories of stamps.txt. */
import { addMicros } from '../../../src/engine/base/timestamp.js'
import { rowsOf } from '../../support/harness/warehouse.js'
import { later, timedStories } from '../../support/world/timedstories.js'

await timedStories('test/engine/run/stamps.txt', { overlapMs: 60_000 }, (clock) => ({
  'N milliseconds later': (_, milliseconds) => clock.pass(Number(milliseconds)),
  'a year back': () => clock.pass(-365 * 86_400_000),
  'put a page and more ahead': ({ list }) => {
    for (let id = 100; id < 350; id++) list.put(id, later(3600 + id))
  },
  '150 come a minute later at page 3': ({ list }) => {
    const off = list.onList((_, page) => {
      if (page !== 3) return
      off()
      clock.pass(60_000)
      for (let id = 1000; id < 1150; id++) list.put(id, addMicros(later(30), BigInt(id)))
    })
  },
  'exact watermark': async ({ list }) => String((await list.cursor()).watermark),
  // As left by a version that believed every stamp.
  believed: async ({ list }) => {
    await list.write({ watermark: '2099-01-01T00:00:00.000000Z' }, undefined, 'sync_cursors')
  },
  'the last run recorded later N': async ({ list: { warehouse } }, seconds) => {
    const last = String((await rowsOf(warehouse, 'sync_runs')).at(-1)?.run_id)
    const recorded = warehouse.db.updateTable('sync_run_cursors').set({ watermark: later(Number(seconds)) })
    await warehouse.write([recorded.where('run_id', '=', last).compile()])
  },
}))
