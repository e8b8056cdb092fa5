/** The stories of history.txt. */
import { why } from '../../support/harness/commands.js'
import { rowsOf } from '../../support/harness/warehouse.js'
import type { OneList } from '../../support/world/onelist.js'
import { idsOf } from '../../support/world/stories.js'
import { later, timedStories } from '../../support/world/timedstories.js'

const ago = (days: number, hour: number): string => later((hour - 24 * days) * 3600)

/** A run as if it had happened, with this many lists that stored this many rows. */
async function past(
  { warehouse }: OneList,
  days: number,
  hour: number,
  lists: number,
  more: { status: string; rows_upserted: number },
) {
  const at = ago(days, hour)
  const ran = { run_id: `past-${days}-${hour}`, started_at: at, finished_at: at, ...more }
  const ends = Array.from({ length: lists }, (_, i) => {
    return { ...ran, tenant_id: 1, resource: `r${i}`, step: 1, requests: 1, rows_deleted: 0 }
  })
  await warehouse.write([
    warehouse.db
      .insertInto('sync_runs')
      .values({ ...ran, mode: 'sync' })
      .compile(),
    warehouse.db.insertInto('sync_run_cursors').values(ends).compile(),
  ])
}

await timedStories('test/engine/run/history.txt', {}, () => ({
  // Of two lists each, unless it says otherwise.
  'ran N days ago at IDS(?:, of N lists)?(?:, storing N rows)?(, and failed)?': async (
    { list },
    days,
    hours,
    lists = '2',
    rows = '0',
    failed,
  ) => {
    const more = { rows_upserted: Number(rows), status: failed ? 'failed' : 'ok' }
    for (const hour of idsOf(hours!)) await past(list, Number(days), hour, Number(lists), more)
  },
  'a request N days ago': async ({ list: { warehouse } }, days) => {
    const request = { tenant_id: 1, resource: 'notes', run_id: 'past', way: 'walk', rows_written: 1 }
    const row = { ...request, synced_at: ago(Number(days), 3) }
    await warehouse.write([warehouse.db.insertInto('sync_requests').values(row).compile()])
  },
  // A run removes once a day what is too old.
  'the next day': ({ list: { warehouse } }) =>
    warehouse.write([warehouse.db.deleteFrom('sync_meta').where('name', '=', 'history_pruned_on').compile()]),
  past: async ({ list: { warehouse } }) => {
    const runs = (await rowsOf(warehouse, 'sync_runs')).map(({ run_id }) => String(run_id))
    const lists = (await rowsOf(warehouse, 'sync_run_cursors')).map(({ run_id }) => String(run_id))
    const own = runs.filter((id) => id.startsWith('past-'))
    const counts = own.map((id) => `${id.slice(5)} (${lists.filter((one) => one === id).length})`)
    return `${counts.join(', ') || 'no runs'}; lists: ${lists.filter((id) => id.startsWith('past')).length}`
  },
  'nothing is known of the past': ({ list: { warehouse } }) => {
    const histories = ['sync_runs', 'sync_run_cursors', 'sync_requests'] as const
    return warehouse.write(histories.map((table) => warehouse.db.deleteFrom(table).compile()))
  },
  why: async ({ list }) => {
    const { known_since, rows } = await why(list.sandbox, list.warehouse, { id: 1 })
    return `known since ${known_since}, rows in ${rows.map(({ table }) => table).join(' ')}`
  },
}))
