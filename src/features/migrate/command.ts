import type { Command } from '../../shell/command.js'

export const migrateCommand: Command = {
  name: 'migrate',
  group: 'Set it up',
  summary: "bring the warehouse's tables up to date",
  help: `
Adds tables, columns and indexes. Recomputes derived tables, such as the totals of repair orders, if their rule or settings
have changed. The next sync fills what was added to existing rows, or what resources.NAME.columns no longer names: it reads
those lists in full once. Commands that write migrate automatically, unless warehouse.autoMigrate is false.

If privacy hides more, it hides what is stored. What privacy hides no longer comes back only with --loosen-privacy, and
from the source: rows that it doesn't list any more stay hidden.`,
  examples: [
    ['shopsync plan', 'first, to see the changes'],
    ['shopsync migrate', 'makes them'],
    ['shopsync migrate --loosen-privacy', 'after privacy hides less: the next sync reads those lists whole'],
  ],
  options: [
    {
      flags: '--loosen-privacy',
      description: 'let this configuration store what the warehouse has hidden so far',
    },
  ],
  run: async (invocation) => {
    const [
      { tellMade, withContext },
      { hiddenWhat, loosenedWhat, migrateText, recomputedWhat, rewrittenWhat },
      { migrate },
      { loosenPrivacy, migrateStored },
      { shown },
      { makeViewsOf, refreshNow },
    ] = await Promise.all([
      import('../../shell/commandcontext.js'),
      import('../../shell/tablechanges.js'),
      import('../../engine/warehouse/layout/migrate.js'),
      import('../../engine/run/catchup.js'),
      import('../../shell/progress.js'),
      import('../analytics/work.js'),
    ])
    return withContext(invocation, async (context) => {
      const warehouse = await context.open('create', { tables: 'as they are' })
      const made = await shown(context, { what: 'looking at the tables' }, async ({ step }) => {
        const changes = await migrate(warehouse, ({ table, what }) => step?.(`${table}: ${what}`, 0, 0))
        return changes.map(({ table, what }) => ({ table, what }))
      })
      const { madeAs: warehouse_made } = warehouse
      if (warehouse_made !== undefined) tellMade(context, warehouse_made)
      const { clock } = context
      const { signal } = invocation.signals
      const views = await makeViewsOf(context, warehouse)
      await refreshNow(context, warehouse)
      const loose =
        invocation.options.loosenPrivacy === true ? await loosenPrivacy({ warehouse, clock, signal }) : []
      const { rewritten, recomputed, hidden } = await shown(
        context,
        { what: 'looking at what is stored' },
        ({ step }) => migrateStored({ warehouse, clock, signal, observer: step ? { step } : {} }),
      )
      const later = views.isPostponed ? (await makeViewsOf(context, warehouse)).made : []
      // Such as the views of readers, which are made of these.
      for (const feature of invocation.features) await feature.afterMigration?.(context, warehouse)
      const changes = [
        ...made,
        ...views.made,
        ...later,
        ...rewritten.map((one) => ({ table: one.table, what: rewrittenWhat(one) })),
        ...recomputed.map((one) => ({ table: one.table, what: recomputedWhat(one) })),
        ...hidden.done.map((one) => ({ table: one.table, what: hiddenWhat(one) })),
        ...loose.map((one) => ({ table: one.table, what: loosenedWhat(one) })),
      ]
      const document = { warehouse: context.config.warehouse.label, warehouse_made, changes }
      await invocation.out.answer(document, migrateText(warehouse.where, changes))
      if (hidden.left !== null) context.log.warn(hidden.left)
      // Everything else was done.
      const [refusal] = warehouse.interfered.allUnchanged()
      if (refusal) throw refusal
      return 0
    })
  },
}
