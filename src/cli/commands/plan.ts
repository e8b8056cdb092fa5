import { Stop } from '../../errors.js'
import type { RunPlan } from '../../sync/ask/plan.js'
import type { RunRequest } from '../../sync/run/report.js'
import { type Command, choiceOptions, type Invocation } from '../command.js'

const modes = ['sync', 'backfill', 'reconcile'] as const

export const planCommand: Command = {
  name: 'plan',
  summary: 'what a run would cost before it runs: requests, records, minutes, table changes',
  help: `
  shopsync plan                                  of a sync
  shopsync plan sync --full
  shopsync plan reconcile --resource NAME
  shopsync plan backfill --from 2026-01-01T00:00:00Z --to 2026-02-01T00:00:00Z

Asks the source one question for each tenant and resource at most, and writes nothing. Minutes are those at the present
rate limit and api.rateReserve. A reconcile is planned as one that finds nothing: each difference costs some requests
more, and each row that has vanished from the warehouse one. Where answers take so long that many pages will be read
several at a time, the requests that check them are counted too. The length of a rate-limit window is assumed, unless
two of them were seen.`,
  argument: { name: 'command', description: 'sync (default), backfill or reconcile', isOptional: true },
  options: [
    ...choiceOptions,
    { flags: '--full', description: 'as of sync and reconcile' },
    { flags: '--from <time>', description: 'as of backfill', repeatable: true },
    { flags: '--to <time>', description: 'as of backfill', repeatable: true },
  ],
  run: async (invocation) => showPlan(invocation, modeOf(invocation.argument)),
}

function modeOf(word = 'sync'): (typeof modes)[number] {
  const mode = modes.find((name) => name === word)
  if (mode) return mode
  throw new Stop(`Found plan ${word}, expected one of ${modes.join(', ')}`, {
    exitCode: 2,
    hint: 'Type shopsync plan sync',
  })
}

/** Also what `backfill --dry-run` does. */
export async function showPlan(invocation: Invocation, mode: (typeof modes)[number]): Promise<number> {
  const [{ withContext }, { chosenByFlags }, { makePlan }, { parseRanges }, { now }, { Stamps }] =
    await Promise.all([
      import('../context.js'),
      import('../choice.js'),
      import('../../sync/ask/plan.js'),
      import('../../sync/walks/timerange.js'),
      import('../../sync/run/context.js'),
      import('../../clock.js'),
    ])
  const { options, out, signals } = invocation
  return withContext(invocation, async (context) => {
    const { config, model, clock, log } = context
    const full = options.full === true
    const isBackfill = mode === 'backfill'
    const request: RunRequest = {
      mode: mode === 'sync' && full ? 'full' : mode,
      job: null,
      ...chosenByFlags(config, options),
      full,
      ranges: isBackfill ? parseRanges(texts(options.from), texts(options.to), now(context)) : [],
    }
    const warehouse = await context.warehouse()
    // Nothing is stored: stamps need not lie behind those of the warehouse, which may have no tables yet.
    const stamps = new Stamps(clock)
    const source = await context.source(stamps)
    const observer = { notice: (message: string, fields: object) => log.warn(fields, message) }
    const parts = { config, model, warehouse, source, clock, stamps, observer, signal: signals.signal }
    const made = await makePlan(parts, request, config.api.rateReserve)
    if (out.json) await out.document(made)
    else out.result(await planText(made))
    return made.cursors.some((cursor) => cursor.status === 'failed') ? 1 : 0
  })
}

const texts = (value: unknown): string[] => (Array.isArray(value) ? value.map(String) : [])
const right = (title: string) => ({ title, align: 'right' as const })
const shownChanges = 12

async function planText(made: RunPlan): Promise<string> {
  const { count, plural, span, table } = await import('../../format.js')
  const { rate, table_changes: changes } = made
  const limit = rate
    ? `${count(rate.limit)} requests in ${span(rate.window_seconds * 1000)}${rate.window_known ? '' : ' (assumed)'}, of which ${count(rate.remaining)} are left now`
    : 'no rate limit is known'
  const rows = made.cursors
    .filter(({ requests, records }) => requests > 1 || records > 0)
    .toSorted((a, b) => b.requests - a.requests)
    .map((cursor) => [
      String(cursor.tenant_id),
      cursor.resource,
      count(cursor.requests),
      count(cursor.records),
      cursor.status === 'ok' ? '' : (cursor.error ?? cursor.status),
    ])
  const idle = made.cursors.length - rows.length
  const totals = made.tenants.map(
    ({ tenant_id, requests, records }) =>
      `  tenant ${tenant_id}: ${plural(requests, 'request')}, ${plural(records, 'record')}`,
  )
  const parts = [
    `${made.of}: ${plural(made.requests, 'request')}, ${plural(made.records, 'record')}, ${minutesText(made.minutes)} (${limit})`,
    totals.join('\n'),
    rows.length > 0
      ? table(
          [right('tenant'), { title: 'resource' }, right('requests'), right('records'), { title: '' }],
          rows,
        )
      : '',
    idle > 0 ? `${plural(idle, 'cursor')} with nothing new: one request each.` : '',
    changes.length > 0 ? changesText(changes) : 'The tables are up to date.',
    `Nothing was written. This plan has cost ${plural(made.asked, 'request')}.`,
  ]
  return parts.filter((part) => part !== '').join('\n\n')
}

const minutesText = (minutes: number): string =>
  minutes < 1 ? 'less than a minute' : `some ${Math.ceil(minutes)} minutes`

function changesText(changes: RunPlan['table_changes']): string {
  const lines = changes.slice(0, shownChanges).map(({ table, what }) => `  ${table}: ${what}`)
  if (changes.length > shownChanges) lines.push(`  and ${changes.length - shownChanges} more`)
  return `Changes to the tables:\n${lines.join('\n')}`
}
