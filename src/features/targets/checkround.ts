/* The round of a `reconcile` step with "due": true: it checks deletions. */
import { fromMicros, toMillis } from '../../engine/base/timestamp.js'
import { quietCost } from '../../engine/compare/comparisoncost.js'
import { type FreshnessSettings, timesOf } from '../../engine/config/targetsection.js'
import { memoryOf, usualPage } from '../../engine/list/memory.js'
import type { ChooseRound } from '../../engine/run/chosenround.js'
import type { WritingRun } from '../../engine/run/runcontext.js'
import type { CursorChoice } from '../../engine/run/runreport.js'
import { type CursorPart, cursorParts, rowName } from '../../engine/warehouse/state/cursors.js'
import type { CommandContext, RoundPlace } from '../../shell/command.js'
import { Highest } from './highest.js'
import { restingLists } from './restinglists.js'
import { lastsOf, nowOf, roundOf, settingsFor, type WantedLists, wantedLists } from './roundnow.js'
import { afterPolls, reservedForChecks } from './windowbudget.js'

const checkColumns = ['status', 'deletes_checked_at', 'remembered', 'live_rows'] as const
type CheckRow = CursorPart<(typeof checkColumns)[number]>

/** The checks of deletions that are due. */
export async function dueChecks(
  { source, warehouse, shard }: Pick<WritingRun, 'source' | 'warehouse' | 'shard'>,
  { resources, tenants }: WantedLists,
  {
    now,
    settings,
    most,
  }: {
    /** In milliseconds since the epoch. */
    readonly now: number
    readonly settings: FreshnessSettings
    /** How many may be chosen. */
    readonly most: number
  },
): Promise<DueChecks<CheckRow>> {
  const names = new Set(resources.map(({ name }) => name))
  const isWanted = new Set(tenants)
  const times = { now, deletes: settings.deletes, pageSize: source.pageSize }
  const checks = new DueChecks<CheckRow>(times, most)
  const since = fromMicros(BigInt(Math.round(checkDueSince(times))) * 1000n)
  // Read only if a list has failed: rounds come every few minutes, and seldom has one.
  let resting: ReadonlySet<string> | undefined
  const rests = async (row: CheckRow): Promise<boolean> => {
    if (row.status !== 'failed') return false
    resting ??= await restingLists(warehouse, now, {
      atLeast: settings.atLeast,
      targetOf: timesOf(settings),
      shard,
    })
    return resting.has(rowName(row))
  }
  // The lists that have been read, and whose deletions were not checked since then.
  const unchecked = cursorParts(warehouse, checkColumns, {
    shard,
    where: (eb) =>
      eb.and([
        eb(eb.fn.coalesce('polled_at', 'last_success_at'), 'is not', null),
        eb.or([eb('deletes_checked_at', 'is', null), eb('deletes_checked_at', '<=', since)]),
      ]),
  })
  for await (const rows of unchecked)
    for (const row of rows) {
      if (row.status === 'unavailable' || !names.has(row.resource) || !isWanted.has(row.tenant_id)) continue
      if (!(await rests(row))) checks.take(row)
    }
  return checks
}

/** The lists whose deletions were not checked for longest. */
export function checkRound(
  context: CommandContext,
  choice: CursorChoice,
  place: RoundPlace = {},
): ChooseRound {
  const settings = settingsFor(context)
  const reserve = context.config.api.rateReserve
  return async (run, granted, done) => {
    const polls = place.isAfterPolls ? done.findLast(({ mode }) => mode === 'sync') : undefined
    const used = polls ? polls.requests + run.source.stats().requests : 0
    const began = polls ? toMillis(polls.started_at) : nowOf(run)
    const wanted = wantedLists(run, choice, granted)
    const round = await roundOf(run, place, { now: began, used, reserve, share: wanted.share })
    const { budget, endsAt } = round
    const most = budget ?? Number.POSITIVE_INFINITY
    const checks = await dueChecks(run, wanted, { now: nowOf(run), settings, most })
    const { anHour, isLate } = checks.need
    const needed = anHour * lastsOf(round)
    const left =
      budget !== undefined && polls
        ? afterPolls(budget, used, reservedForChecks(budget, { needed, isLate }))
        : budget
    const byName = new Map(wanted.resources.map((resource) => [resource.name, resource]))
    const tasks = checks.chosen(left).flatMap(({ tenant_id, resource }) => {
      const model = byName.get(resource)
      return model ? [{ tenantId: tenant_id, resource: model }] : []
    })
    return { tasks, endsAt, targetOf: timesOf(settings) }
  }
}

interface CheckedList {
  readonly deletes_checked_at: string | null
  readonly live_rows: number | bigint | null
  readonly remembered?: unknown
}

const hourMs = 3_600_000
/**
 * A check is due from half of the interval on. If it fails, or finds no request left, there is time for another try.
 */
const dueFrom = 0.5
/** From here on it doesn't depend on what polls leave. */
const lateFrom = 0.75
/** Since when a list must not have been checked for a check to be due, in milliseconds since the epoch. */
const checkDueSince = ({ now, deletes }: { readonly now: number; readonly deletes: number }): number =>
  now - dueFrom * deletes
/** The assumed rows of a list of unknown size. */
const usualRows = 1000
/** How finely the times that are left are told apart. */
const parts = 100
/** The share of the interval that is left for checks that fail or take more requests than expected. */
const spare = 0.05

/** Requests of a check that finds nothing: the walk before it, and the comparison. */
const costOf = ({ live_rows, remembered }: CheckedList, pageSize: number): number =>
  1 + quietCost(Number(live_rows ?? usualRows), usualPage(memoryOf(remembered ?? null), pageSize))

/**
 * The checks that are due, taken one by one: of the lists not checked for longest, as many as the round's requests
 * suffice for. And how many requests that takes, so that each list is checked within `polling.deletes`.
 */
export class DueChecks<L extends CheckedList> {
  /** Requests by the time left; the first are overdue. */
  readonly #load = new Array<number>(parts).fill(0)
  readonly #longest: Highest<{ readonly list: L; readonly share: number }>

  /** `most`: how many may be chosen. */
  constructor(
    private readonly times: {
      /** In milliseconds since the epoch. */
      readonly now: number
      /** `polling.deletes`, in milliseconds. */
      readonly deletes: number
      /** The most records to request at once. */
      readonly pageSize: number
    },
    most: number,
  ) {
    this.#longest = new Highest(most, ({ share }) => share)
  }

  take(list: L): void {
    const { now, deletes } = this.times
    const at = list.deletes_checked_at
    const share = at === null ? 1 : (now - toMillis(at)) / deletes
    if (share < dueFrom) return
    this.#longest.take({ list, share })
    // A list that was never checked comes first, but nothing was promised of it yet.
    const left = at === null ? dueFrom : Math.max(0, 1 - share)
    const part = Math.min(parts - 1, Math.floor((left / (1 - dueFrom)) * parts))
    this.#load[part] = (this.#load[part] ?? 0) + costOf(list, this.times.pageSize)
  }

  /**
   * Requests an hour that suffice to check each list in time. `isLate`: a list has waited for most of its interval, so
   * that its check shouldn't depend on what polls leave.
   */
  get need(): { readonly anHour: number; readonly isLate: boolean } {
    let sum = 0
    let needed = 0
    for (const [part, load] of this.#load.entries()) {
      sum += load
      const left = ((part / parts) * (1 - dueFrom) - spare) * this.times.deletes
      if (load > 0) needed = Math.max(needed, sum / Math.max(1, left / hourMs))
    }
    const late = this.#load.slice(0, Math.floor((parts * (1 - lateFrom)) / (1 - dueFrom)))
    return { anHour: needed, isLate: late.some((load) => load > 0) }
  }

  /** The longest unchecked first. The first one always fits. */
  chosen(budget = Number.POSITIVE_INFINITY): L[] {
    let left = budget
    const chosen: L[] = []
    for (const { list } of this.#longest.end()) {
      if (left <= 0) break
      left -= costOf(list, this.times.pageSize)
      if (left >= 0 || chosen.length === 0) chosen.push(list)
    }
    return chosen
  }
}
