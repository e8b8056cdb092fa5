import { Stop } from '../../errors.js'
import { type Command, choiceOptions, type Invocation } from '../command.js'
import type { CommandContext } from '../context.js'

export const quarantineCommand: Command = {
  name: 'quarantine',
  summary: 'what could not be stored and why; fetches it again and tries once more',
  help: `
  shopsync quarantine list      every value, item and record that could not be stored as it came
  shopsync quarantine replay    asks the API for those records again, one request each, and stores what fits by now

Exits with 1 when replay leaves something in quarantine.`,
  argument: { name: 'action', description: 'list or replay' },
  options: choiceOptions,
  run: async (invocation) => {
    const { argument = '' } = invocation
    if (argument !== 'list' && argument !== 'replay')
      throw new Stop(`Found quarantine ${argument}, expected list or replay`, {
        exitCode: 2,
        hint: 'Type shopsync quarantine list',
      })
    const { withContext } = await import('../context.js')
    return withContext(invocation, (context) => (argument === 'list' ? list : replay)(invocation, context))
  },
}

async function list({ options, out }: Invocation, context: CommandContext): Promise<number> {
  const [{ chosenByFlags }, { listQuarantine }, { table }] = await Promise.all([
    import('../choice.js'),
    import('../../sync/ask/quarantine.js'),
    import('../../format.js'),
  ])
  const entries = await listQuarantine(await context.readyWarehouse(), chosenByFlags(context.config, options))
  if (out.json) await out.document(entries)
  else if (entries.length === 0) out.print('Nothing is in quarantine.')
  else
    out.print(
      table(
        ['tenant', 'resource', 'record', 'path', 'reason', 'value', 'last seen'].map((title) => ({ title })),
        entries.map((entry) => [
          String(entry.tenant_id),
          entry.resource,
          entry.record_id,
          entry.path === '' ? '(the record)' : entry.path,
          entry.reason ?? '',
          shortened(entry.value ?? ''),
          entry.last_seen_at ?? '',
        ]),
      ),
    )
  return 0
}

const shortened = (text: string): string => (text.length > 40 ? `${text.slice(0, 39)}…` : text)

async function replay({ options, out, signals }: Invocation, context: CommandContext): Promise<number> {
  const [{ chosenByFlags }, { replayQuarantine }, { plural, table }] = await Promise.all([
    import('../choice.js'),
    import('../../sync/ask/quarantine.js'),
    import('../../format.js'),
  ])
  const { config, model, clock, log } = context
  const warehouse = await context.readyWarehouse()
  const stamps = await context.stamps(warehouse)
  const source = await context.source(stamps)
  const observer = { notice: (message: string, fields: object) => log.warn(fields, message) }
  const deps = { config, model, warehouse, source, clock, stamps, observer, signal: signals.signal }
  const outcomes = await replayQuarantine(deps, chosenByFlags(config, options))
  const left = outcomes.filter((one) => one.outcome !== 'stored')
  if (out.json) await out.document(outcomes)
  else if (outcomes.length === 0) out.print('Nothing is in quarantine.')
  else
    out.print(
      `${table(
        ['tenant', 'resource', 'record', 'outcome', 'detail'].map((title) => ({ title })),
        outcomes.map((one) => [
          String(one.tenant_id),
          one.resource,
          one.record_id,
          one.outcome,
          one.detail ?? '',
        ]),
      )}\n\n${plural(outcomes.length, 'record')} tried, ${outcomes.length - left.length} stored.`,
    )
  return left.length === 0 ? 0 : 1
}
