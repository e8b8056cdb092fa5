/*
 * How long a window of the rate limit lasts, remembered from run to run. The source tells when a window ends, and not how
 * long it is: a run that begins late in a window would take it for a short one, and expect several times as many requests.
 */
import type { ReadingWarehouse, Writer } from '../../engine/warehouse/writer.js'
import type { Rate } from './forecast.js'

/** In sync_meta. */
const markName = 'rate window'

/** The longest window seen under this limit. */
interface SeenWindow {
  readonly limit: number
  readonly seconds: number
}

async function readSeen(warehouse: ReadingWarehouse): Promise<SeenWindow | undefined> {
  if (!(await warehouse.has('sync_meta'))) return undefined
  const row = await warehouse.read((db) =>
    db.selectFrom('sync_meta').select('value').where('name', '=', markName).executeTakeFirst(),
  )
  return row?.value == null ? undefined : (JSON.parse(row.value) as SeenWindow)
}

const lengthened = (rate: Rate, seen: SeenWindow | undefined): Rate =>
  rate.window_known || seen?.limit !== rate.limit || seen.seconds <= rate.window_seconds
    ? rate
    : { ...rate, window_seconds: seen.seconds }

/** The rate limit, with the longest window that any run has seen under it. */
export const withSeenLength = async (warehouse: ReadingWarehouse, rate: Rate): Promise<Rate> =>
  lengthened(rate, await readSeen(warehouse))

/** The same; and stores the length for later runs if this one knows better. */
export async function keepSeenLength(warehouse: Writer, rate: Rate): Promise<Rate> {
  const seen = await readSeen(warehouse)
  const now = lengthened(rate, seen)
  if (seen?.limit === now.limit && seen.seconds === now.window_seconds) return now
  const value = JSON.stringify({ limit: now.limit, seconds: now.window_seconds } satisfies SeenWindow)
  const statement = warehouse.db
    .insertInto('sync_meta')
    .values({ name: markName, value })
    .onConflict((conflict) => conflict.column('name').doUpdateSet({ value }))
  await warehouse.write([statement.compile()])
  return now
}
