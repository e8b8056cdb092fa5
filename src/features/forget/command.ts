import { Stop } from '../../engine/base/errors.js'
import type { Command, CommandContext, Invocation } from '../../shell/command.js'
import { besidesOf } from '../../shell/features.js'
import { listOf } from '../../shell/flags.js'

export const forgetCommand: Command = {
  name: 'forget',
  group: 'Decide who sees what',
  summary: "erase one tenant's rows and state, or what is known about single customers",
  help: `
Without --customer, erases every row of the tenant in every table, including quarantine and history. With --customer,
erases what says something about these customers; orders, payments and totals keep ids and numbers. Either way, what is
left in the database's files goes too. If another program that reads a SQLite file prevents that, the exit code is 1. It
is also 1 if something could not be looked at, such as an appointment that names no order: the receipt lists it. Backups
are not touched.

Tenants and customers stay forgotten until --lift. forgotten.jsonl beside the configuration lists forgotten customers:
after restoring a backup, type shopsync forget --replay forgotten.jsonl. docs/warehouse.md has the details.`,
  examples: [
    ['shopsync forget --tenant 101', 'asks for the id first'],
    ['shopsync forget --tenant 101 --lift', 'lets it back in: the next sync loads it again'],
    ['shopsync forget --tenant 101 --customer 5 --dry-run', 'rows that would be emptied, by table'],
    ['shopsync forget --tenant 101 --customer 5', 'forgets one customer, after you type 101/5'],
    ['shopsync forget --replay forgotten.jsonl', 'after restoring a backup: forgets them again'],
  ],
  options: [
    { flags: '--tenant <id>', description: 'the tenant; cannot be repeated', repeatable: true },
    { flags: '--customer <id>', description: 'forget this customer of the tenant', repeatable: true },
    { flags: '--dry-run', description: 'with --customer: count rows by table; erases nothing' },
    { flags: '--yes', description: 'do not ask for confirmation' },
    { flags: '--lift', description: 'let a forgotten tenant or customer back in; erases nothing' },
    { flags: '--replay <file>', description: 'forget again the customers that this file lists' },
  ],
  run: async (invocation) => {
    const { withContext } = await import('../../shell/commandcontext.js')
    const { options } = invocation
    const isOfCustomers = options.replay !== undefined || listOf(options.customer).length > 0
    return withContext(invocation, (context) =>
      isOfCustomers
        ? import('./customercommand.js').then(({ onCustomers }) => onCustomers(invocation, context))
        : onTenant(invocation, context),
    )
  },
}

async function onTenant(invocation: Invocation, context: CommandContext): Promise<number> {
  const [
    { checkTenant, forgetTenant, liftTenant },
    { forgetQuestion, forgetText, liftText },
    { confirmTyped },
    { farewell },
    { writeMetrics },
    { takeFromReaders },
    { reportSettings },
  ] = await Promise.all([
    import('./work.js'),
    import('./words.js'),
    import('../../shell/confirmation.js'),
    import('../health/alerting.js'),
    import('../health/writemetrics.js'),
    import('../grants/work.js'),
    import('../../engine/config/reportsection.js'),
  ])
  const { options, out, io } = invocation
  if (options.dryRun === true)
    throw new Stop('Found --dry-run without --customer, expected both', {
      exitCode: 2,
      hint: 'Type shopsync forget --tenant ID --customer ID --dry-run',
    })
  const named = listOf(options.tenant).length > 0 ? context.choice.tenants : null
  const [tenantId, ...more] = named ?? []
  if (tenantId === undefined || more.length > 0)
    throw new Stop(`Found ${named ? `${named.length} tenants` : 'no --tenant'}, expected one`, {
      exitCode: 2,
      hint: 'Type shopsync forget --tenant ID',
    })
  const warehouse = await context.open('write')
  if (options.lift === true) {
    const lifted = await liftTenant({ warehouse, clock: context.clock }, tenantId)
    await out.answer(lifted, liftText(lifted))
    return 0
  }
  await checkTenant({ warehouse }, tenantId)
  if (options.yes !== true) {
    const undone = 'Nothing was erased. To erase without being asked, add --yes'
    invocation.signals.resumesAt = () => 'nothing was erased'
    const { signal } = invocation.signals
    await confirmTyped(String(tenantId), { question: forgetQuestion(String(tenantId)), undone, signal, io })
  }
  const { clock, config } = context
  const { signal } = invocation.signals
  invocation.signals.resumesAt = () =>
    'part of the tenant may be erased already; the same command again erases the rest'
  const tellThatItIsOver = await farewell(context, warehouse, tenantId)
  const besides = await besidesOf(invocation.features)
  const store = warehouse.dialect.views(reportSettings(config).schema)
  const gone = await forgetTenant(
    {
      warehouse,
      clock,
      signal,
      besides,
      takeFromReaders: (held, id) => takeFromReaders(held, store, id),
    },
    tenantId,
  )
  await out.answer(gone, forgetText(gone))
  await tellThatItIsOver()
  await writeMetrics(context)
  if (gone.traces_left === null) return 0
  if (out.quiet) out.trouble(gone.traces_left)
  return 1
}
