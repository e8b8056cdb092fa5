/** Readers see the views of their tenants and nothing else, whatever they type. */
import { randomBytes } from 'node:crypto'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { shopsync } from '../../support/call.js'
import { type Address, configure } from '../../support/place.js'
import { sandboxOfFile } from '../../support/sandbox.js'
import { dialectWarehouses, type Kind } from '../../support/warehouse.js'

const sandbox = await sandboxOfFile({ tenants: 2, repairOrders: 30, seed: 3 })
const [first = 0, second = 0] = sandbox.tenantIds

describe.each(dialectWarehouses().filter(({ name }) => name === 'postgres'))('$name', (kind: Kind) => {
  const role = `Reader "${randomBytes(4).toString('hex')}"`
  const name = pg.escapeIdentifier(role)
  let address: Address
  let config = ''
  let owner: pg.Client
  let reader: pg.Client

  const rowsOf = async (client: pg.Client, query: string): Promise<unknown[]> =>
    (await client.query(query)).rows

  beforeAll(async () => {
    address = kind.address()
    config = configure(sandbox, address, ['customers', 'staffs', 'repair_orders', 'payments', 'shops'])
    const synced = await shopsync(['sync', '--config', config])
    expect(synced.code, synced.stderr).toBe(0)
    owner = new pg.Client(address.url)
    await owner.connect()
    await owner.query(`create role ${name} login password 'reader'`)
    const granted = await shopsync(['grant', '--role', role, '--tenant', String(first), '--config', config])
    expect(granted.code, granted.stderr).toBe(0)
    const url = new URL(address.url)
    reader = new pg.Client({
      host: url.hostname,
      port: Number(url.port),
      database: url.pathname.slice(1),
      user: role,
      password: 'reader',
    })
    await reader.connect()
  })
  afterAll(async () => {
    await reader?.end()
    await shopsync(['revoke', '--role', role, '--config', config])
    await owner?.query(`drop role ${name}`)
    await owner?.end()
  })

  const grantTo = (to: string, ...tenants: readonly number[]) =>
    shopsync([
      'grant',
      '--role',
      to,
      ...tenants.flatMap((id) => ['--tenant', String(id)]),
      '--config',
      config,
    ])

  it('sees the rows of its tenant in every view, and those of no other', async () => {
    const views = (await owner.query(
      `select table_name from information_schema.views where table_schema = $1`,
      [`${address.schema}_analytics`],
    )) as { rows: { table_name: string }[] }
    expect(views.rows.length).toBeGreaterThan(30)
    for (const { table_name: view } of views.rows) {
      const all = `${address.schema}_analytics.${view}`
      const mine = await rowsOf(reader, `select count(*)::int as n from ${view}`)
      const where = view === 'dim_days' ? '' : `where tenant_id = ${first}`
      expect(mine, view).toEqual(await rowsOf(owner, `select count(*)::int as n from ${all} ${where}`))
    }
    expect(await rowsOf(reader, 'select distinct tenant_id::int from orders')).toEqual([{ tenant_id: first }])
  })

  it('sees no name of a person without --personal, and dashboards keep working', async () => {
    const [row] = (await rowsOf(
      reader,
      'select customer_name, customer_id, first_name, email from dim_customers order by customer_id limit 1',
    )) as { customer_name: string; customer_id: string; first_name: null; email: null }[]
    expect(row).toMatchObject({
      customer_name: `customer ${row?.customer_id}`,
      first_name: null,
      email: null,
    })
    expect(
      (await shopsync(['grant', '--role', role, '--tenant', String(first), '--personal', '--config', config]))
        .code,
    ).toBe(0)
    const [named] = (await rowsOf(
      reader,
      'select customer_name from dim_customers order by customer_id limit 1',
    )) as {
      customer_name: string
    }[]
    expect(named?.customer_name).not.toMatch(/^customer \d+$/)
  })

  it.each([
    ['tables', (schema: string) => `select * from ${schema}.repair_orders`],
    ['the views of all', (schema: string) => `select * from ${schema}_analytics.orders`],
    ['state tables', (schema: string) => `select * from ${schema}.sync_cursors`],
    ['tables as XML', (schema: string) => `select table_to_xml('${schema}.repair_orders', true, true, '')`],
    [
      'statistics',
      (schema: string) => `select * from pg_statistic where starelid = '${schema}.repair_orders'::regclass`,
    ],
    ['another role', () => 'set role postgres'],
    ['another session', () => 'set session authorization postgres'],
    ['a program', () => `copy (select 1) to program 'cat'`],
  ])('is refused %s', async (_, query) => {
    await expect(reader.query(query(address.schema))).rejects.toThrow(/permission denied|must be/)
  })

  it('a cheap function that leaks its arguments is never called with rows of others', async () => {
    await reader.query('create temp table seen (tenant bigint)')
    await reader.query(`create function pg_temp.leak(bigint) returns boolean language plpgsql cost 0.0000001 as
      $$ begin raise notice 'tenant %', $1; return true; end $$`)
    const notices: string[] = []
    const hear = ({ message = '' }: { message?: string | undefined }): void => void notices.push(message)
    reader.on('notice', hear)
    await reader.query('select count(*) from orders where pg_temp.leak(tenant_id)')
    reader.off('notice', hear)
    expect(new Set(notices)).toEqual(new Set([`tenant ${first}`]))
  })

  it('a role that sees everything by other means is refused, with what to revoke', async () => {
    const other = pg.escapeIdentifier(`${role} 2`)
    await owner.query(`create role ${other}`)
    const ask = () =>
      shopsync(['grant', '--role', `${role} 2`, '--tenant', String(second), '--config', config])
    await owner.query(`grant pg_read_all_data to ${other}`)
    expect((await ask()).stderr).toContain('revoke pg_read_all_data from')
    await owner.query(`revoke pg_read_all_data from ${other}`)
    await owner.query(`grant select on ${address.schema}.customers to public`)
    const refused = await ask()
    expect(refused.code).toBe(2)
    expect(refused.stderr).toContain(`revoke all on table ${address.schema}.customers from public`)
    await owner.query(`revoke select on ${address.schema}.customers from public`)
    await owner.query(`create schema ${other}`)
    expect((await ask()).stderr).toContain('which shopsync did not make')
    await owner.query(`drop schema ${other}; drop role ${other}`)
    expect((await ask()).stderr).toContain('There is no role')
  })

  it('a prepared statement sees nothing after a revoke', async () => {
    await reader.query('prepare mine as select count(*)::int as n from orders')
    expect((await shopsync(['revoke', '--role', role, '--config', config])).code).toBe(0)
    await expect(reader.query('execute mine')).rejects.toThrow(/does not exist|permission denied/)
    const { stdout } = await shopsync(['grants', '--json', '--config', config])
    expect(JSON.parse(stdout)).toEqual({ grants: [] })
  })

  it('its views are made again with ours', async () => {
    expect((await grantTo(role, first)).code).toBe(0)
    await owner.query(`drop view ${address.schema}_analytics.orders cascade`)
    await expect(reader.query('select * from orders')).rejects.toThrow(/does not exist/)
    const migrated = await shopsync(['migrate', '--config', config])
    expect(migrated.code, migrated.stderr).toBe(0)
    expect(await rowsOf(reader, 'select distinct tenant_id::int from orders')).toEqual([{ tenant_id: first }])
  })

  it('what it may see of a column follows the program', async () => {
    // As an older program left it, which showed more.
    await owner.query(`create or replace view ${name}.dim_customers with (security_barrier)
      as select * from ${address.schema}_analytics.dim_customers where tenant_id in (${first})`)
    await owner.query(
      `comment on schema ${name} is 'shopsync reader of ${address.schema}, views 0123456789ab'`,
    )
    expect(await rowsOf(reader, 'select * from dim_customers where first_name is not null')).not.toEqual([])
    expect((await shopsync(['migrate', '--config', config])).code).toBe(0)
    expect(await rowsOf(reader, 'select * from dim_customers where first_name is not null')).toEqual([])
  })

  it('check tells of rights that it was given since', async () => {
    const found = async () => {
      const { stdout } = await shopsync(['check', '--json', '--config', config])
      const { checks } = JSON.parse(stdout) as { checks: { what: string; ok: boolean; hint: string }[] }
      return checks.filter(({ what }) => what === `reader ${role}`)
    }
    expect(await found()).toEqual([])
    await owner.query(`grant select on ${address.schema}.customers to ${name}`)
    expect(await found()).toMatchObject([
      { ok: false, hint: expect.stringContaining(`revoke all on table ${address.schema}.customers from`) },
    ])
    await owner.query(`revoke select on ${address.schema}.customers from ${name}`)
  })

  it('a tenant that is forgotten is in nobody’s views', async () => {
    expect((await grantTo(role, first, second)).code).toBe(0)
    const forgotten = await shopsync(['forget', '--tenant', String(second), '--yes', '--config', config])
    expect(forgotten.code, forgotten.stderr).toBe(0)
    const { stdout } = await shopsync(['grants', '--json', '--config', config])
    expect(JSON.parse(stdout)).toMatchObject({ grants: [{ role, tenants: [first] }] })
    const texts = await rowsOf(owner, `select definition from pg_views where schemaname = '${role}'`)
    expect(texts.length).toBeGreaterThan(30)
    expect(JSON.stringify(texts)).not.toContain(String(second))
  })

  it('a schema that somebody put in the place of ours is left alone', async () => {
    await owner.query(
      `drop schema ${name} cascade; create schema ${name}; create table ${name}.theirs (id int)`,
    )
    expect((await shopsync(['revoke', '--role', role, '--config', config])).code).toBe(0)
    expect(await rowsOf(owner, `select count(*)::int as n from ${name}.theirs`)).toEqual([{ n: 0 }])
    await owner.query(`drop schema ${name} cascade`)
  })
})
