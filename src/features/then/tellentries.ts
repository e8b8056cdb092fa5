/*
 * Tells the entries of `then`, one after the other, what has changed: after a run (following.ts), and after what a
 * listener rang (listening.ts).
 */
import { describeError } from '../../engine/base/errors.js'
import { toJson } from '../../engine/base/printjson.js'
import { fromMicros } from '../../engine/base/timestamp.js'
import type { ThenEntry } from '../../engine/config/thensection.js'
import type { RunReport } from '../../engine/run/runreport.js'
import { changesThrough } from '../../engine/warehouse/state/changesthrough.js'
import type { Warehouse, Writer } from '../../engine/warehouse/warehouse.js'
import { programsOf } from '../../shell/callcommand.js'
import type { CommandContext } from '../../shell/command.js'
import { deliverTo, messageId, receiverIds } from '../../shell/deliverto.js'
import { secretsOf } from '../../shell/log.js'
import { type Changes, readChanges } from './changes.js'
import { inTurn } from './tellingturn.js'
import { dropFailures, type Rung, readTold, storeAccepted, storeFailed } from './told.js'

/** For how long a webhook is tried, in milliseconds: as for alerts, nobody should wait long for another's server. */
const webhookMs = 30_000

/**
 * For how many milliseconds a run waits for another that is telling, beyond the time that its own entries may take: a
 * process that died on another machine keeps its turn for a minute.
 */
const leastPatience = 90_000

/** In the environment of what runs after a run. */
const nestedVariable = 'SHOPSYNC_THEN'

/** Whether this shopsync was started by what runs after a run: it tells nobody, or there would be no end. */
export const isNested = ({ invocation }: Pick<CommandContext, 'invocation'>): boolean =>
  invocation.io.environment[nestedVariable] === '1'

export interface Occasion {
  /** The run that is told, as in the document. */
  readonly run: Pick<RunReport, 'job' | 'started_at' | 'finished_at' | 'status'> & {
    readonly run_id: string | null
  }
  readonly entries: readonly ThenEntry[]
  /** Whose own entries they are; null: the configuration's. */
  readonly scope: string | null
  /** Whether an entry is told. */
  readonly isFor: (on: ThenEntry['on'], changes: Changes) => boolean
}

interface Named {
  readonly id: string
  /** What people call it: its position, never its address. */
  readonly name: string
  readonly entry: ThenEntry
}

/** What one entry is told. */
interface News {
  readonly changes: Changes
  /** `changes_from` and `changes_through`. */
  readonly from: string | null
  readonly through: string
  readonly rung: Rung | undefined
}

/** Resolves to 1 if an entry failed, else to 0. Entries that need not be told cost a few queries. */
export async function tellEntries(
  context: CommandContext,
  warehouse: Writer,
  occasion: Occasion,
): Promise<0 | 1> {
  const { entries, scope } = occasion
  const ids = receiverIds(entries)
  const named = entries.map((entry, i): Named => {
    const what = entry.webhook === undefined ? `command ${entry.command?.[0]}` : 'webhook'
    return { id: ids[i] ?? '', name: `then[${i}]${scope === null ? '' : ` of ${scope}`} (${what})`, entry }
  })
  await dropFailures(warehouse, await readTold(warehouse), scope, ids)
  // A run that has nothing to tell need not wait for one that has.
  const isAnyDue = async (): Promise<boolean> => {
    for (const one of named) if (await newsFor(warehouse, occasion, one)) return true
    return false
  }
  if (!(await isAnyDue())) return 0
  const patience = entries.reduce((sum, { timeout }) => sum + timeout, leastPatience)
  const exitCode = await inTurn(context, warehouse, patience, () =>
    tellAll(context, warehouse, { ...occasion, named }),
  )
  if (exitCode === undefined && !context.invocation.signals.signal.aborted)
    context.log.warn({}, 'Another run still tells what has changed; the next run tells what this one changed')
  return exitCode ?? 0
}

async function tellAll(
  context: CommandContext,
  warehouse: Writer,
  { named, ...occasion }: Occasion & { readonly named: readonly Named[] },
): Promise<0 | 1> {
  let exitCode: 0 | 1 = 0
  for (const one of named) {
    if (context.invocation.signals.signal.aborted) break
    const news = await newsFor(warehouse, occasion, one)
    if (news && !(await tell(context, warehouse, { occasion, named: one, news }))) exitCode = 1
  }
  return exitCode
}

/** undefined: the entry need not be told. */
async function newsFor(
  warehouse: Warehouse,
  { isFor }: Pick<Occasion, 'isFor'>,
  { id, entry }: Named,
): Promise<News | undefined> {
  const told = (await readTold(warehouse))[id]
  // A receiver that has accepted nothing so far is told everything: runs may have been killed before it could be told.
  const from = told?.through ?? null
  // First the end, then the runs: one that ends in between is left for the next range.
  const [through = ''] = [await changesThrough(warehouse), from ?? ''].sort().reverse()
  const changes = await readChanges(warehouse, { from, through, known: told?.rung })
  return isFor(entry.on, changes) ? { changes, from, through, rung: changes.rung ?? told?.rung } : undefined
}

/** false: it failed. */
async function tell(
  context: CommandContext,
  warehouse: Writer,
  {
    occasion: { run, scope },
    named,
    news,
  }: { readonly occasion: Occasion; readonly named: Named; readonly news: News },
): Promise<boolean> {
  const { id, name } = named
  const body = toJson(documentOf(run, news))
  const accepted = await deliver(context, named, body)
  // Interrupted, it has not failed: the next run tells it.
  if (!accepted.delivered && context.invocation.signals.signal.aborted) return true
  if (accepted.delivered) {
    await storeAccepted(warehouse, id, news)
    return true
  }
  const since = fromMicros(context.clock.nowMicros())
  await storeFailed(warehouse, id, { since, job: scope, message: `${name}: ${accepted.found}` })
  return false
}

async function deliver(
  context: CommandContext,
  { id, name, entry }: Named,
  body: string,
): Promise<{ readonly delivered: boolean; readonly found: string }> {
  const { config, clock, log } = context
  const { signals, out } = context.invocation
  const { environment, folder } = programsOf(context)
  const own = [entry.webhook, entry.secret].flatMap((secret) => secret?.reveal() ?? [])
  const done = await deliverTo(
    entry,
    { name: messageId(id, body), body },
    {
      clock,
      goesOn: true,
      signal: signals.signal,
      budgetMs: entry.webhook === undefined ? entry.timeout : Math.min(entry.timeout, webhookMs),
      secrets: [...secretsOf(config), ...own],
      programs: { environment: { ...environment, [nestedVariable]: '1' }, folder },
    },
  )
  const fields = { entry: name, found: done.found, output: done.output }
  if (done.delivered) log.info(fields, 'What runs after the run has ended')
  else if (!signals.signal.aborted) {
    log.warn(fields, 'What runs after the run failed; it runs again after the next one')
    // --quiet silences the log. cron mails this line.
    out.complain([`${name} failed: ${done.found}. It runs again after the next run`])
  }
  return done
}

/** What a receiver gets. It names lists, and holds no row's content. */
function documentOf(
  run: Occasion['run'],
  { from, through, changes: { lists, worst, completeThrough } }: Omit<News, 'rung'>,
) {
  const tables = new Map<string, { name: string; rows_upserted: number; rows_deleted: number }>()
  for (const { resource: name, rows_upserted, rows_deleted } of lists) {
    const sum = tables.get(name)
    tables.set(name, {
      name,
      rows_upserted: rows_upserted + (sum?.rows_upserted ?? 0),
      rows_deleted: rows_deleted + (sum?.rows_deleted ?? 0),
    })
  }
  const tenants = new Map(lists.map(({ tenant_id }) => [String(tenant_id), tenant_id]))
  return {
    ...run,
    tables: [...tables.values()].sort((a, b) => (a.name < b.name ? -1 : 1)),
    tenants: [...tenants.values()].sort((a, b) => Number(BigInt(a) - BigInt(b))),
    worst,
    complete_through: completeThrough,
    changes_from: from,
    changes_through: through,
  }
}

/** What went wrong before anything could be told. */
export function tellTrouble(context: CommandContext, error: unknown): 1 {
  context.survived(error, 'What runs after a run could not be told; the next run tells it')
  const { out } = context.invocation
  out.complain([`then: ${describeError(error)}. The next run tells what this one changed`])
  return 1
}
