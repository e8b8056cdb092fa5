import type { Command } from '../command.js'

export const migrateCommand: Command = {
  name: 'migrate',
  summary: "bring the warehouse's tables up to date",
  help: `
Only adds: tables, columns, indexes; and moves the values of fields that resources.NAME.columns names, or no longer
names, between _extra and their columns; and computes tables that follow from others, such as the totals of repair
orders, anew where their rule or settings have changed. What has to be created under rows that are there is filled by the next sync,
which reads the lists concerned whole. Commands that write migrate by themselves, unless warehouse.autoMigrate is false.`,
  examples: [
    ['shopsync plan', 'first: which changes there would be'],
    ['shopsync migrate', 'makes them'],
  ],
  run: async (invocation) => {
    const [{ withContext }, { migrateText, movedWhat, rederivedWhat }, { settleAlone }, { shown }] =
      await Promise.all([
        import('../context.js'),
        import('../text/tables.js'),
        import('../../sync/run/settle.js'),
        import('../display.js'),
      ])
    return withContext(invocation, async (context) => {
      const warehouse = await context.warehouse()
      const made = (await warehouse.migrate()).map(({ table, what }) => ({ table, what }))
      const { clock, model } = context
      const views = await context.makeViews(warehouse)
      await context.refreshAnalytics(warehouse)
      const { signal } = invocation.signals
      const { moved, rederived } = await shown(context, { what: 'looking at what is stored' }, ({ step }) =>
        settleAlone({ warehouse, model, clock, signal, observer: step ? { step } : {} }),
      )
      const changes = [
        ...made,
        ...views.made,
        ...moved.map((column) => ({ table: column.table, what: movedWhat(column) })),
        ...rederived.map((one) => ({ table: one.table, what: rederivedWhat(one) })),
      ]
      const document = { warehouse: context.config.warehouse.label, changes }
      await invocation.out.answer(document, migrateText(warehouse.where, changes))
      return 0
    })
  },
}
