import type { Command } from '../command.js'

export const migrateCommand: Command = {
  name: 'migrate',
  summary: "bring the warehouse's tables up to date",
  help: `
Only adds: tables, columns, indexes. Commands that write migrate by themselves, unless warehouse.autoMigrate is false.`,
  run: async (invocation) => {
    const [{ withContext }, { migrateText }] = await Promise.all([
      import('../context.js'),
      import('../text/tables.js'),
    ])
    return withContext(invocation, async (context) => {
      const warehouse = await context.warehouse()
      const changes = (await warehouse.migrate()).map(({ table, what }) => ({ table, what }))
      const document = { warehouse: context.config.warehouse.label, changes }
      await invocation.out.answer(document, migrateText(warehouse.where, changes))
      return 0
    })
  },
}
