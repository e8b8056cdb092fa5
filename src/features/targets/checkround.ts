/* The round of a `reconcile` step with "due": true: it checks deletions. */
import { fromMicros, toMillis } from '../../engine/base/timestamp.js'
import type { ChooseRound } from '../../engine/run/chosenround.js'
import type { WritingRun } from '../../engine/run/runcontext.js'
import type { CursorChoice } from '../../engine/run/runreport.js'
import { cursorName } from '../../engine/warehouse/cursors.js'
import type { CommandContext, RoundPlace } from '../../shell/command.js'
import { checkDueSince, DueChecks } from './deletechecks.js'
import { restingLists } from './restinglists.js'
import { lastsOf, nowOf, roundOf, settingsFor, type WantedLists, wantedLists } from './roundnow.js'
import { type FreshnessSettings, timesOf } from './settings.js'
import { type CheckRow, uncheckedLists } from './sql.js'
import { afterPolls, reservedForChecks } from './windowbudget.js'

/** The checks of deletions that are due. */
export async function dueChecks(
  { source, warehouse }: Pick<WritingRun, 'source' | 'warehouse'>,
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
  const rests = async ({ tenant_id: tenantId, resource, status }: CheckRow): Promise<boolean> => {
    if (status !== 'failed') return false
    resting ??= await restingLists(warehouse, now, {
      atLeast: settings.atLeast,
      targetOf: timesOf(settings),
    })
    return resting.has(cursorName({ tenantId, resource }))
  }
  for await (const rows of uncheckedLists(warehouse, since))
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
    const round = await roundOf(run, place, { now: began, used, reserve })
    const { budget, endsAt } = round
    const wanted = wantedLists(run, choice, granted)
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
