/*
 * Lists that bring nothing although they usually do: a source that serves an old copy answers every poll, so every run is
 * green. It is a suspicion, since a shop may be closed: `status` shows it, and only rules that name `quiet` report it.
 */
import type { Int64 } from '../../../schema/resource.js'
import { count, plural } from '../../engine/base/format.js'
import { addMicros, fromMicros, toMillis } from '../../engine/base/timestamp.js'
import { memoryHours } from '../../engine/run/polls.js'
import { type Db, readerOf } from '../../engine/warehouse/database.js'
import { type Cursor, listCursors, type WantedCursors } from '../../engine/warehouse/state/cursors.js'
import type { Warehouse } from '../../engine/warehouse/warehouse.js'

/** A list that is quiet: an entry of `quiet` in the document of `shopsync status`. */
export interface QuietList {
  readonly tenant_id: Int64
  readonly resource: string
  /** When the last poll began that found something. */
  readonly quiet_since: string
  /** From when on that is unusual. */
  readonly since: string
  /** How long it had brought nothing when it was last polled. */
  readonly hours: number
  /** Polls that found nothing, all of them complete. */
  readonly polls: number
  /** New and changed records a day, until then. */
  readonly usual_a_day: number
}

const hourMicros = 3_600_000_000n
/** No shorter: the weekend of a shop that closes on Friday and opens on Monday isn't quiet. */
const leastHours = 72
const leastPolls = 3
/** How many new or changed records should have come. */
const leastNews = 40

/**
 * How many new and changed records a list should have brought in so many hours. What it usually brings fades while nothing
 * comes, as its count does: otherwise two weeks after every import its list would be called quiet.
 */
const expected = (usualADay: number, hours: number): number =>
  (usualADay / 24) * hours * Math.exp(-hours / memoryHours)

/** The least that a list must usually bring, so that enough is ever expected of it. */
const leastUsual = (24 * leastNews * Math.E) / memoryHours

/** After how many hours without anything new a list is quiet; undefined if it is never called so. */
export function quietAfter(usualADay: number): number | undefined {
  if (usualADay < leastUsual) return undefined
  for (let hours = leastHours; hours <= memoryHours; hours++)
    if (expected(usualADay, hours) >= leastNews) return hours
  return undefined
}

/** undefined if the list isn't quiet. Time in which no poll succeeded says nothing, so the last poll's counts. */
export function quietList({
  tenant_id,
  resource,
  polled_at: polledAt,
  quiet_since,
  quiet_polls,
  usual_news,
}: Pick<Cursor, 'tenant_id' | 'resource' | 'polled_at' | 'quiet_since' | 'quiet_polls' | 'usual_news'>):
  | QuietList
  | undefined {
  const [polls, usual] = [Number(quiet_polls ?? 0), Number(usual_news ?? 0)]
  const after = quietAfter(usual)
  if (polledAt === null || quiet_since === null || after === undefined || polls < leastPolls) return undefined
  const hours = (toMillis(polledAt) - toMillis(quiet_since)) / 3_600_000
  if (hours < after) return undefined
  const since = addMicros(quiet_since, BigInt(after) * hourMicros)
  return { tenant_id, resource, quiet_since, since, hours, polls, usual_a_day: Math.round(usual) }
}

/** The quiet lists, those that usually bring most first. */
export async function quietLists(
  warehouse: Pick<Warehouse, 'has'>,
  db: Db,
  wanted: WantedCursors,
  nowMicros: bigint,
): Promise<QuietList[]> {
  // Nothing has counted for them in a warehouse that no run of this version has written yet.
  if (!(await warehouse.has('sync_cursors.usual_news'))) return []
  const rows = await listCursors(readerOf(db), ['polled_at', 'quiet_since', 'quiet_polls', 'usual_news'], {
    wanted,
    where: (eb) =>
      eb.and([
        eb('usual_news', '>=', leastUsual),
        eb('quiet_polls', '>=', leastPolls),
        eb('quiet_since', '<=', fromMicros(nowMicros - BigInt(leastHours) * hourMicros)),
      ]),
  })
  return rows.flatMap((row) => quietList(row) ?? []).toSorted((a, b) => b.usual_a_day - a.usual_a_day)
}

/** What people read about such a list. */
export const quietWords = ({ hours, usual_a_day }: Pick<QuietList, 'hours' | 'usual_a_day'>): string =>
  `nothing new for ${plural(Math.floor(hours / 24), 'day')}; usually ${count(usual_a_day)} a day`

/** Whose list it is, by the name of its shop if `report.tenantNames` has one. */
export const listName = (
  { tenant_id, resource }: { readonly tenant_id: Int64 | null; readonly resource: string | null },
  names: Readonly<Record<string, string>> = {},
): string => `${resource} of ${names[String(tenant_id)] ?? `tenant ${tenant_id}`}`

const shown = 5

/** The quiet lists for people. */
export const quietText = (
  lists: readonly QuietList[] = [],
  names: Readonly<Record<string, string>> = {},
): string => {
  const lines = lists.slice(0, shown).map((list) => `! ${listName(list, names)}: ${quietWords(list)}`)
  const more = lists.length - lines.length
  return [
    ...lines,
    ...(more > 0 ? [`… and ${plural(more, 'more quiet list')}: shopsync status --json`] : []),
  ].join('\n')
}
