import { type Command, tenantOption } from '../../shell/command.js'

export const whyCommand: Command = {
  name: 'why',
  group: 'Compare with the source',
  summary: 'the history of one row: the request that fetched it, its quarantine, the source now',
  help: `
TABLE is any table whose rows come from a list of the API. ID is the id of a row. A nested row's id is unique only within
its record: ID shows the rows of every record that has it, RECORD/ID the row of one record. If nested rows have no id, ID
is their record's id, and RECORD/POSITION names one row.

Costs one request per row; writes nothing. Exits with 1 if there is no such row.`,
  examples: [
    ['shopsync why customers 17 --tenant 101', 'of one tenant'],
    ['shopsync why repair_order_parts 90012', 'of every order, of any tenant, that has such a row'],
    ['shopsync why repair_order_services 4711/812 --tenant 101', 'of the service 812 of the order 4711'],
  ],
  argument: { name: 'table', description: 'a table with rows of a list, such as customers', names: 'tables' },
  second: { name: 'id', description: 'id of the row, or RECORD/ID of a nested one' },
  options: [tenantOption],
  run: async (invocation) => {
    const [{ withContext }, { tellWhy }, { checkTables }, { whyText }, { reportSettings }] =
      await Promise.all([
        import('../../shell/commandcontext.js'),
        import('./work.js'),
        import('../../engine/warehouse/layout/migrate.js'),
        import('./words.js'),
        import('../../engine/config/reportsection.js'),
      ])
    return withContext(invocation, async (context) => {
      const { out, argument = '', second = '' } = invocation
      const warehouse = await context.open('read')
      await checkTables(warehouse)
      await context.refuseForgotten()
      const question = { table: argument, id: second, tenants: context.choice.tenants }
      const answer = await tellWhy(await context.dependencies(warehouse), question)
      if (out.json) await out.document(answer)
      else out.say(whyText(answer, reportSettings(context.config).tenantNames))
      return answer.rows.length > 0 ? 0 : 1
    })
  },
}
