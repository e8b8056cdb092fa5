import { Stop } from '../../engine/base/errors.js'
import type { Command, CommandContext } from '../../shell/command.js'
import { besidesOf } from '../../shell/features.js'
import { listOf } from '../../shell/flags.js'
import type { CopiedPart } from './copiedtables.js'

/** What --tenant and --personal choose. undefined: the whole warehouse. */
async function partOf(context: CommandContext): Promise<CopiedPart | undefined> {
  const { options } = context.invocation
  const isChosen = listOf(options.tenant).length > 0
  if (!isChosen && options.personal === true)
    throw new Stop('Found --personal without --tenant, expected both: a whole copy has everything', {
      exitCode: 2,
      hint: 'Type shopsync copy --tenant ID --personal --to sqlite:FILE',
    })
  if (!isChosen) return undefined
  await context.refuseUnknown()
  const tenants = new Set((context.choice.tenants ?? []).map(String))
  return { tenants, isPersonal: options.personal === true }
}

export const copyCommand: Command = {
  name: 'copy',
  group: 'Move it',
  summary: 'copy the whole warehouse into an empty one, SQLite or Postgres, and compare',
  help: `
Copies every row, including deleted ones, watermarks, histories and state, so the next sync on the copy continues where
the original is. Changes nothing in the configured warehouse; no other run may write to either side meanwhile (exit 4).
Then reads both sides again and compares them value by value (exit 1 if they differ). To resume a copy that was cut short,
give the same command again; until it is finished, no command uses the copy. What the other side cannot hold, such as
digits beyond a double in SQLite, goes to quarantine there and is reported (docs/warehouse.md). Sends no request.

With --tenant, the copy has the tables and views of these tenants and nothing of any other: no history, no quarantine, and
without --personal no names, addresses, numbers and free text. It can only be read (docs/readers.md).`,
  examples: [
    ['shopsync copy --to sqlite:./copy.db', 'into a file'],
    [
      `shopsync copy --to 'postgres://shopsync:\${PGPASSWORD}@db.example.com/warehouse'`,
      'with a password from the environment',
    ],
    ['shopsync copy --tenant 101 --to sqlite:./101.db', 'one tenant, for its owner'],
    ['shopsync copy --to postgres://localhost/warehouse --to-schema shopsync_new', 'into another schema'],
  ],
  options: [
    { flags: '--to <url>', description: `where the copy goes; \${NAME} is taken from the environment` },
    {
      flags: '--tenant <id>',
      description: 'only this tenant, for somebody who may see it; may be repeated',
      repeatable: true,
    },
    { flags: '--personal', description: 'with --tenant: also columns that say something about a person' },
    { flags: '--to-schema <name>', description: 'its Postgres schema (default: warehouse.schema)' },
  ],
  readsAnyEncoding: true,
  run: async (invocation) => {
    const [
      { withContext },
      { copyWarehouse },
      { copyResumption, copyStep, copyText },
      { copyPlace },
      { openWarehouse },
      { variablesOf },
      { shown },
      { reportSettings },
    ] = await Promise.all([
      import('../../shell/commandcontext.js'),
      import('./work.js'),
      import('./words.js'),
      import('./place.js'),
      import('../../engine/warehouse/openwarehouse.js'),
      import('../../shell/configuration.js'),
      import('../../shell/progress.js'),
      import('../../engine/config/reportsection.js'),
    ])
    return withContext(invocation, async (context) => {
      const { options, out, signals, io } = invocation
      const { url, schema, pooler } = context.config.warehouse
      const { signal } = signals
      const around = { ...io, environment: variablesOf(invocation) }
      const views = reportSettings(context.config).schema ?? `${schema}_analytics`
      const to = copyPlace({ to: options.to, schema: options.toSchema }, { schema, views }, around)
      const { model, clock } = context
      const part = await partOf(context)
      const file = part && (await import('./place.js')).partFile(to.url.reveal())
      const open = async (where: { url: string; schema: string; existing: boolean }) => {
        const warehouse = await openWarehouse({ model, clock, signal, pooler, ...where })
        io.collectAt(warehouse.dialect.bulk.heapGrowth)
        return warehouse
      }
      let last: Parameters<typeof copyStep>[0] | undefined
      signals.resumesAt = () => copyResumption(last)
      const began = performance.now()
      const besides = await besidesOf(invocation.features)
      const done = await shown(context, { what: 'looking at both sides' }, (observer) =>
        copyWarehouse({
          model,
          clock,
          signal,
          besides,
          openSource: () => open({ url: url.reveal(), schema, existing: true }),
          part,
          makeViews: async (target) =>
            (await import('../analytics/work.js')).makeViewsOfPart(context, target),
          openTarget: (how) => {
            if (!how.existing) file?.begin()
            return open({ url: file?.url ?? to.url.reveal(), schema: to.schema, ...how })
          },
          onProgress: (progress) => {
            last = progress
            observer.step?.(copyStep(progress, performance.now() - began), progress.rows, progress.allRows)
          },
        }),
      )
      const report = done.status === 'ok' && file ? { ...done, to: file.finish() } : done
      const { tables, ...totals } = report
      context.log.info({ ...totals, tables: tables.length }, 'Copy ended')
      await out.answer(report, copyText(report, part !== undefined))
      if (report.status === 'ok') return 0
      out.complain([`${report.to} differs from ${report.from}: type the same command again`])
      return 1
    })
  },
}
