import { Stop } from '../../errors.js'
import type { VerifyOptions } from '../../sync/reconcile/verify.js'
import type { VerifyReport } from '../../sync/reconcile/verifyrun.js'
import type { CursorChoice } from '../../sync/run/report.js'
import { type Command, choiceOptions } from '../command.js'
import type { CommandContext } from '../context.js'

export const verifyCommand: Command = {
  name: 'verify',
  summary: 'compare the warehouse with the source and only report: exit 0 when equal, 1 when not',
  help: `
As reconcile, but nothing is written. --sample N also compares N records of each tenant and resource, drawn at random,
field by field, at the cost of one request each.`,
  options: [
    ...choiceOptions,
    { flags: '--full', description: 'list every id instead of counting' },
    {
      flags: '--sample <n>',
      description: 'compare the content of so many records of each cursor; default 0',
    },
  ],
  run: async (invocation) => {
    const [{ withContext }, { chosenByFlags }] = await Promise.all([
      import('../context.js'),
      import('../choice.js'),
    ])
    const { options, out } = invocation
    const sample = wholeNumber(options.sample)
    return withContext(invocation, async (context) => {
      const choice = chosenByFlags(context.config, options)
      const report = await compare(context, choice, { full: options.full === true, sample })
      if (out.json) await out.document(report)
      else out.print(await verifySummary(report))
      return report.status === 'equal' ? 0 : 1
    })
  },
}

/** Compares what is chosen with the source. */
export async function compare(
  context: CommandContext,
  choice: CursorChoice,
  options: VerifyOptions,
): Promise<VerifyReport> {
  const { config, model, clock, log, invocation } = context
  const { runVerify } = await import('../../sync/reconcile/verifyrun.js')
  const warehouse = await context.warehouse()
  const stamps = await context.stamps(warehouse)
  // Its own share of the source: the next step of a job must not count this one's requests again.
  const source = (await context.source(stamps)).tagged()
  const observer = { notice: (message: string, fields: object) => log.warn(fields, message) }
  const { signal } = invocation.signals
  return runVerify({ config, model, warehouse, source, clock, stamps, observer, signal }, choice, options)
}

function wholeNumber(text: unknown): number {
  if (text === undefined) return 0
  const value = Number(text)
  if (Number.isInteger(value) && value >= 0 && text !== '') return value
  throw new Stop(`Found --sample "${String(text)}", expected a whole number`, {
    exitCode: 2,
    hint: 'Type for example --sample 10',
  })
}

export async function verifySummary(report: VerifyReport): Promise<string> {
  const { count, plural, table } = await import('../../format.js')
  const differing = report.cursors.filter(
    (cursor) => cursor.status !== 'equal' && cursor.status !== 'unavailable',
  )
  const equal = report.cursors.filter((cursor) => cursor.status === 'equal')
  const live = equal.reduce((sum, cursor) => sum + (cursor.warehouse ?? 0), 0)
  const lines = [
    `verify: ${report.status} after ${plural(report.requests, 'request')}: ${plural(equal.length, 'cursor')} equal, with ${plural(live, 'record')}`,
  ]
  if (differing.length > 0)
    lines.push(
      '',
      table(
        ['tenant', 'resource', 'missing', 'outdated', 'extra', 'fields', 'why'].map((title) => ({ title })),
        differing.map((cursor) => [
          String(cursor.tenant_id),
          cursor.resource,
          count(cursor.missing ?? 0),
          count(cursor.outdated ?? 0),
          count(cursor.extra ?? 0),
          count(cursor.differences?.length ?? 0),
          cursor.error ?? '',
        ]),
      ),
      '',
      'missing and outdated: the source has them; extra: the source has them no longer. Type shopsync reconcile to repair.',
    )
  return lines.join('\n')
}
