import { Stop } from '../../engine/base/errors.js'
import type { Warehouse } from '../../engine/warehouse/warehouse.js'
import type { Command, CommandContext, Feature, Invocation } from '../../shell/command.js'
import { listOf } from '../../shell/flags.js'

const roleOption = { flags: '--role <name>', description: 'the role, as Postgres has it' } as const
const tenantOption = {
  flags: '--tenant <id>',
  description: 'a tenant; may be repeated',
  repeatable: true,
} as const

function roleOf({ options, command }: Invocation): string {
  if (typeof options.role === 'string' && options.role !== '') return options.role
  throw new Stop('Found no --role, expected the name of a role', {
    exitCode: 2,
    hint: `Type shopsync ${command} --role NAME --tenant ID`,
  })
}

/** The tenants that were named; null if none was. */
const tenantsOf = ({ options }: Invocation, { choice }: CommandContext) =>
  listOf(options.tenant).length > 0 ? choice.tenants : null

async function storeOf({ config }: CommandContext, warehouse: Warehouse) {
  const { reportSettings } = await import('../../engine/config/reportsection.js')
  return warehouse.dialect.views(reportSettings(config).schema)
}

async function needsOf({ signals: { signal } }: Invocation, context: CommandContext) {
  const warehouse = await context.open('write')
  return { warehouse, clock: context.clock, signal, store: await storeOf(context, warehouse) }
}

const grantCommand: Command = {
  name: 'grant',
  group: 'Decide who sees what',
  summary: 'let a Postgres role see the views of some tenants, and nothing else',
  help: `
Makes a schema that is named like the role, with the views of these tenants, and lets the role read it. The tenants that
it saw before are replaced. Without --personal, names, addresses, numbers and free text are left out. shopsync makes no
roles and no passwords.

A role that would see or do more than that by other means is refused, with what to revoke (docs/readers.md). On SQLite
there are no roles: see shopsync copy.`,
  examples: [
    ['shopsync grant --role main_street --tenant 101', 'without names and addresses'],
    ['shopsync grant --role main_street --tenant 101 --tenant 102 --personal', 'two tenants, with them'],
  ],
  options: [
    roleOption,
    tenantOption,
    { flags: '--personal', description: 'also columns that say something about a person' },
  ],
  run: async (invocation) => {
    const [{ withContext }, { grant, grantText }] = await Promise.all([
      import('../../shell/commandcontext.js'),
      import('./work.js'),
    ])
    return withContext(invocation, async (context) => {
      const role = roleOf(invocation)
      const tenants = tenantsOf(invocation, context)
      if (!tenants)
        throw new Stop('Found no --tenant, expected at least one', {
          exitCode: 2,
          hint: `Type shopsync grant --role ${role} --tenant ID`,
        })
      const personal = invocation.options.personal === true
      const done = await grant(await needsOf(invocation, context), { role, tenants, personal })
      await invocation.out.answer(done, grantText(done))
      return 0
    })
  },
}

const revokeCommand: Command = {
  name: 'revoke',
  group: 'Decide who sees what',
  summary: 'take tenants away from a role that shopsync grant gave them',
  help: `
With --tenant, the role goes on seeing the others. Without, it sees nothing any more, and its schema is dropped. The role
stays. What is taken away is gone at once; if a session of the role is in the way of the rest, the role sees nothing
meanwhile, the session is named, and the exit code is 1.`,
  examples: [
    ['shopsync revoke --role main_street', 'everything'],
    ['shopsync revoke --role main_street --tenant 102', 'one of its tenants'],
  ],
  options: [roleOption, tenantOption],
  run: async (invocation) => {
    const [{ withContext }, { revokeGrant, revokeText }] = await Promise.all([
      import('../../shell/commandcontext.js'),
      import('./work.js'),
    ])
    return withContext(invocation, async (context) => {
      const role = roleOf(invocation)
      const named = tenantsOf(invocation, context) ?? []
      const done = await revokeGrant(await needsOf(invocation, context), role, named)
      await invocation.out.answer(done, revokeText(done))
      return 0
    })
  },
}

const grantsCommand: Command = {
  name: 'grants',
  group: 'Decide who sees what',
  summary: 'which roles see which tenants',
  help: `
Lists the roles that shopsync grant let in, and since when. What else a role may read is not listed: shopsync check tells.`,
  examples: [['shopsync grants', 'one line a role']],
  run: async (invocation) => {
    const [{ withContext }, { grantsText, readGrants }, { absenceText }] = await Promise.all([
      import('../../shell/commandcontext.js'),
      import('./work.js'),
      import('../../engine/warehouse/layout/migrate.js'),
    ])
    return withContext(invocation, async (context) => {
      const { out } = invocation
      const warehouse = await context.open('read')
      const absent = await absenceText(warehouse)
      const grants = absent === undefined ? await readGrants(warehouse) : []
      await out.answer({ grants, warehouse_absent: absent }, absent ?? grantsText(grants, out.terminal))
      return 0
    })
  },
}

export const grants: Feature = {
  command: grantCommand,
  tables: async () => (await import('./tables.js')).grantTables,
  afterMigration: async (context, warehouse) => {
    const { remakeReaders } = await import('./work.js')
    for (const { role, trouble } of await remakeReaders(warehouse, await storeOf(context, warehouse)))
      if (trouble !== null) context.log.warn({ role }, `The views of a reader stay as they were: ${trouble}`)
      else
        context.log.info(
          { role },
          'The views of a reader were made again, since those of all tenants have changed',
        )
  },
}

export const revoke: Feature = { command: revokeCommand }
export const listGrants: Feature = { command: grantsCommand }
