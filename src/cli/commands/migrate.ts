import type { Command } from '../command.js'

export const migrateCommand: Command = {
  name: 'migrate',
  summary: "bring the warehouse's tables up to date",
  help: `
Only adds: tables, columns, indexes. Commands that write do it by themselves, unless warehouse.autoMigrate is false.`,
  run: async (invocation) => {
    const { withContext } = await import('../context.js')
    return withContext(invocation, async (context) => {
      const { out } = invocation
      const warehouse = await context.warehouse()
      const changes = await warehouse.migrate()
      const list = changes.map(({ table, what }) => ({ table, what }))
      if (out.json) await out.document({ warehouse: context.config.warehouse.label, changes: list })
      for (const { table, what } of list) out.print(`${table}: ${what}`)
      const tables = new Set(list.map(({ table }) => table)).size
      const outcome = list.length === 0 ? 'up to date' : `${list.length} changes in ${tables} tables`
      out.print(`${warehouse.where}: ${outcome}`)
      return 0
    })
  },
}
