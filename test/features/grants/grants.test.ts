/** Readers see the views of their tenants and nothing else, whatever they type. */
import { createHash } from 'node:crypto'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { shopsync } from '../../support/harness/call.js'
import { type Address, configure } from '../../support/harness/place.js'
import { Reader, rowsOf } from '../../support/harness/reader.js'
import { sandboxOfFile } from '../../support/harness/sandbox.js'
import { bothWarehouses, type Kind, readMeta, reopen, storeMeta } from '../../support/harness/warehouse.js'

const sandbox = await sandboxOfFile({ tenants: 2, repairOrders: 30, seed: 3 })
const [first = 0, second = 0] = sandbox.tenantIds

describe.each(bothWarehouses().filter(({ name }) => name === 'postgres'))('$name', (kind: Kind) => {
  let started: Reader
  let [role, name, config] = ['', '', '']
  let address: Address
  let owner: pg.Client
  let reader: pg.Client

  beforeAll(async () => {
    started = await Reader.start(sandbox, kind, ['customers', 'staffs', 'repair_orders', 'payments', 'shops'])
    ;({ role, name, config, address, owner, reader } = started)
  })
  afterAll(() => started.stop())

  const grantTo: Reader['grant'] = (...given) => started.grant(...given)

  it('sees the rows of its tenant in every view, and those of no other', async () => {
    const views = (await owner.query(
      `select table_name from information_schema.views where table_schema = $1`,
      [`${address.schema}_analytics`],
    )) as { rows: { table_name: string }[] }
    expect(views.rows.length).toBeGreaterThan(30)
    for (const { table_name: view } of views.rows) {
      const all = `${address.schema}_analytics.${view}`
      const mine = await rowsOf(reader, `select count(*)::int as n from ${view}`)
      const where = view === 'dim_days' || view === 'changes' ? '' : `where tenant_id = ${first}`
      expect(mine, view).toEqual(await rowsOf(owner, `select count(*)::int as n from ${all} ${where}`))
    }
    expect(await rowsOf(reader, 'select distinct tenant_id::int from orders')).toEqual([{ tenant_id: first }])
  })

  it('sees no name of a person without --personal, and dashboards keep working', async () => {
    const [row] = (await rowsOf(
      reader,
      'select full_name, customer_id, first_name, email from dim_customers order by customer_id limit 1',
    )) as { full_name: string; customer_id: string; first_name: null; email: null }[]
    expect(row).toMatchObject({
      full_name: `customer ${row?.customer_id}`,
      first_name: null,
      email: null,
    })
    expect(
      (await shopsync(['grant', '--role', role, '--tenant', String(first), '--personal', '--config', config]))
        .code,
    ).toBe(0)
    const [named] = (await rowsOf(
      reader,
      'select full_name from dim_customers order by customer_id limit 1',
    )) as {
      full_name: string
    }[]
    expect(named?.full_name).not.toMatch(/^customer \d+$/)
  })

  it('with --personal sees every value as the views of all tenants show it', async () => {
    const views = await rowsOf(
      owner,
      `select table_name as name, string_agg(quote_ident(column_name), ', ' order by ordinal_position)
         filter (where (table_name, column_name) <> ('freshness', 'last_error')) as columns
       from information_schema.columns where table_schema = '${address.schema}_analytics' group by 1`,
    )
    const schema = pg.escapeIdentifier(role)
    for (const { name: view, columns } of views as { name: string; columns: string }[]) {
      const where = ['dim_days', 'changes'].includes(view) ? '' : `where tenant_id = ${first}`
      const all = `select ${columns} from ${address.schema}_analytics.${view} ${where}`
      const mine = `select ${columns} from ${schema}.${view}`
      const differing = `(${all} except all ${mine}) union all (${mine} except all ${all})`
      expect(await rowsOf(owner, differing), view).toEqual([])
    }
    // The database's messages may say anything.
    await owner.query(`update ${address.schema}.sync_cursors set last_error = 'of others'`)
    expect(await rowsOf(reader, 'select distinct last_error from freshness')).toEqual([{ last_error: null }])
    await owner.query(`update ${address.schema}.sync_cursors set last_error = null`)
  })

  it('if the role of shopsync may not make its schema, the statement is named', async () => {
    const [own, other] = [`maker_${address.schema}`, `other_${address.schema}`]
    await owner.query(`create role ${own} login; create role ${other}; grant usage on schema ${address.schema} to ${own};
      grant select, insert, update on all tables in schema ${address.schema} to ${own}`)
    const url = new URL(address.url)
    url.username = own
    const as = configure(sandbox, { ...address, url: url.href }, ['customers'])
    const refused = await shopsync(['grant', '--role', other, '--tenant', String(first), '--config', as])
    expect(refused.code, refused.stderr).toBe(2)
    expect(refused.stderr).toMatch(
      new RegExp(`may not create the schema "${other}"[^]*grant create on database \\S+ to ${own}`),
    )
    const grantAs = (...tenants: number[]) =>
      shopsync([
        ...['grant', '--role', other, ...tenants.flatMap((id) => ['--tenant', String(id)])],
        ...['--config', as],
      ])
    const seen = (what: string) => rowsOf(owner, `select distinct ${what} from ${other}.dim_shops order by 1`)
    // With a schema of its own it needs no right on the database.
    await owner.query(`grant delete on all tables in schema ${address.schema} to ${own};
      grant usage on schema ${address.schema}_analytics to ${own};
      grant select on all tables in schema ${address.schema}_analytics to ${own};
      create schema ${other}; grant create, usage on schema ${other} to ${own}`)
    // An empty one is taken, if it is ours alone.
    const foreign = await grantAs(first)
    expect([foreign.code, foreign.stderr]).toEqual([
      2,
      expect.stringContaining(`alter schema "${other}" owner to ${own}`),
    ])
    await owner.query(`alter schema ${other} owner to ${own}; grant create on schema ${other} to public`)
    const shared = await grantAs(first)
    expect([shared.code, shared.stderr]).toEqual([
      2,
      expect.stringContaining(`revoke create on schema "${other}" from public`),
    ])
    await owner.query(`revoke create on schema ${other} from public`)
    const granted = await grantAs(first, second)
    expect(granted.code, granted.stderr).toBe(0)
    expect(granted.stdout).toMatch(/ in \d\d views of the schema /)
    // What we couldn't make again stays.
    expect((await shopsync(['revoke', '--role', other, '--config', as])).code).toBe(0)
    expect((await grantAs(first, second)).code).toBe(0)
    const less = await grantAs(first)
    expect(less.code, less.stderr).toBe(0)
    expect(await seen('tenant_id::int as t')).toEqual([{ t: first }])
    // Where it may make no views, it says so instead of counting none.
    const report = { schema: `none_${started.tag}` }
    const nowhere = configure(sandbox, { ...address, url: url.href }, ['customers'], { report })
    const words = ['grant', '--role', other, '--tenant', String(first), '--config', nowhere]
    const none = await shopsync(words)
    expect([none.code, none.stderr]).toEqual([2, expect.stringContaining('may not create one')])
    await owner.query(`revoke create on schema ${other} from ${own}; alter schema ${other} owner to postgres`)
    const barred = await grantAs(first, second)
    expect([barred.code, barred.stderr]).toEqual([
      1,
      expect.stringContaining(`must be owner of schema ${other}`),
    ])
    await owner.query(`alter schema ${other} owner to ${own};
      revoke select on all tables in schema ${address.schema}_analytics from ${own}`)
    const blind = await grantAs(first, second)
    expect([blind.code, blind.stderr]).toEqual([1, expect.stringContaining('may not read')])
    await owner.query(`grant select on all tables in schema ${address.schema}_analytics to ${own}`)
    expect(await seen('tenant_id::int as t')).toEqual([{ t: first }])
    expect((await shopsync(['revoke', '--role', other, '--config', as])).code).toBe(0)
    await owner.query(`drop owned by ${own}; drop role ${own}, ${other}`)
  })

  it('a role that sees everything by other means is refused, with what to revoke', async () => {
    const other = pg.escapeIdentifier(`${role} 2`)
    await owner.query(`create role ${other}`)
    const ask = () =>
      shopsync(['grant', '--role', `${role} 2`, '--tenant', String(second), '--config', config])
    await owner.query(`grant pg_read_all_data to ${other}`)
    expect((await ask()).stderr).toContain('revoke "pg_read_all_data" from')
    await owner.query(`revoke pg_read_all_data from ${other}; grant ${name} to ${other}`)
    expect((await ask()).stderr).toContain(`it is a member of ${name}`)
    await owner.query(`revoke ${name} from ${other}; alter role ${other} createrole`)
    expect((await ask()).stderr).toContain('nocreaterole')
    const chief = pg.escapeIdentifier(`${role} chief`)
    await owner.query(
      `alter role ${other} nocreaterole; create role ${chief} superuser; grant ${chief} to ${other}`,
    )
    expect((await ask()).stderr).toContain(`it is a member of ${chief}`)
    await owner.query(`drop role ${chief}`)
    await owner.query(`grant select on ${address.schema}.customers to public`)
    const refused = await ask()
    expect(refused.code).toBe(2)
    expect(refused.stderr).toContain(`revoke all on table ${address.schema}.customers from public`)
    await owner.query(`revoke select on ${address.schema}.customers from public`)
    await owner.query(`create schema ${other}; create table ${other}.theirs ()`)
    expect((await ask()).stderr).toContain('which shopsync did not make, with something in it')
    await owner.query(`drop schema ${other} cascade; drop role ${other}`)
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

  it.each(['sync', 'migrate'])(
    'its views of 0.3.0 are made again by %s, with equal texts: what was planted is not bound any more',
    async (word) => {
      const [kept, planted] = [`kept_${address.schema}`, `"planted ${address.schema}"`]
      await owner.query(`create schema ${planted}; create table ${kept} (place serial, text text);
        create function ${kept}() returns event_trigger language plpgsql set search_path = public as $$ begin
          insert into ${kept} (text) values (current_query());
        end $$;
        create event trigger ${kept} on ddl_command_end when tag in ('CREATE VIEW') execute function ${kept}()`)
      await owner.query(`comment on schema ${name} is 'shopsync reader of ${address.schema}, views '`)
      expect((await started.run('migrate')).code).toBe(0)
      const texts = await rowsOf<{ text: string }>(owner, `select text from ${kept} order by place`)
      await owner.query(`drop event trigger ${kept}; drop function ${kept}; drop table ${kept}`)
      // As 0.3.0 made and remembered them, in a session that looked in a schema of others first.
      await owner.query(`create function ${planted}.same(bigint, integer) returns boolean language sql as
          $$ select $1 operator(pg_catalog.=) $2 $$;
        create operator ${planted}.= (function = ${planted}.same, leftarg = bigint, rightarg = integer);
        set search_path = ${planted}, pg_catalog`)
      for (const { text } of texts) await owner.query(text)
      await owner.query('reset search_path')
      const digest = createHash('sha256').update(texts.map(({ text }) => text).join('\n'))
      await owner.query(`comment on schema ${name} is
        'shopsync reader of ${address.schema}, views ${digest.digest('hex').slice(0, 12)}'`)
      const bound = () =>
        rowsOf(
          owner,
          `select 1 from pg_rewrite w join pg_depend p on p.classid = 'pg_rewrite'::regclass and p.objid = w.oid
             join pg_operator o on p.refclassid = 'pg_operator'::regclass and o.oid = p.refobjid
             join pg_namespace n on n.oid = o.oprnamespace
           where format('%I', n.nspname) = '${planted}'`,
        )
      expect((await bound()).length).toBeGreaterThan(30)
      const again = await started.run(word)
      expect(again.code, again.stderr).toBe(0)
      expect(await bound()).toEqual([])
      await owner.query(`drop schema ${planted} cascade`)
      expect(await rowsOf(reader, 'select distinct tenant_id::int from orders')).toEqual([
        { tenant_id: first },
      ])
    },
  )

  it('if ours have other columns, those of each reader are dropped in a transaction of its own', async () => {
    const other = pg.escapeIdentifier(`${role} other`)
    const drops = `drops_${address.schema}`
    await owner.query(`create role ${other}`)
    expect((await grantTo(`${role} other`, second)).code).toBe(0)
    await owner.query(`create table ${drops} (at bigint, schema text);
      create function ${drops}() returns event_trigger language plpgsql set search_path = public as $$ begin
        insert into ${drops} select txid_current(), schema_name from pg_event_trigger_dropped_objects()
          where object_type = 'view' and schema_name like 'Reader %';
      end $$;
      create event trigger ${drops} on sql_drop execute function ${drops}()`)
    // As a program left them whose views had other columns.
    const warehouse = await reopen(address)
    const { memory } = warehouse.dialect.views()
    const known = JSON.parse((await readMeta(warehouse, memory)) ?? '{}')
    delete known[' inputs']
    for (const view of ['orders', 'order_lines']) {
      known[view].wanted = 'other columns'
      await owner.query(`alter view ${address.schema}_analytics.${view} rename column state to old_state`)
    }
    await warehouse.write([storeMeta(warehouse.db, memory, JSON.stringify(known))])
    await warehouse.close()
    const migrated = await shopsync(['migrate', '--config', config])
    await owner.query(`drop event trigger ${drops}; drop function ${drops}`)
    expect(migrated.code, migrated.stderr).toBe(0)
    const dropped = await rowsOf<{ readers: number; schemas: string[] }>(
      owner,
      `select count(distinct schema)::int as readers, array_agg(distinct schema) as schemas
       from ${drops} where schema like '${role}%' group by at`,
    )
    expect(dropped.map(({ readers }) => readers)).not.toContain(2)
    expect(new Set(dropped.flatMap(({ schemas }) => schemas))).toEqual(new Set([role, `${role} other`]))
    expect(
      await rowsOf(reader, 'select distinct tenant_id::int from order_lines where state is not null'),
    ).toEqual([{ tenant_id: first }])
    expect((await shopsync(['revoke', '--role', `${role} other`, '--config', config])).code).toBe(0)
    await owner.query(`drop table ${drops}; drop owned by ${other}; drop role ${other}`)
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
    const revoked = await shopsync(['revoke', '--role', role, '--config', config])
    expect(revoked.code, revoked.stderr).toBe(0)
    expect(await rowsOf(owner, `select count(*)::int as n from ${name}.theirs`)).toEqual([{ n: 0 }])
    await owner.query(`drop schema ${name} cascade`)
  })

  it('a role that was dropped under its grant stops nothing, and can be taken back', async () => {
    expect((await grantTo(role, first)).code).toBe(0)
    await owner.query(`drop owned by ${name}; drop role ${name}`)
    await owner.query(`drop view ${address.schema}_analytics.orders cascade`)
    const migrated = await shopsync(['migrate', '--log-level', 'warn', '--config', config])
    expect(migrated.code, migrated.stderr).toBe(0)
    expect(migrated.stderr).toContain('The views of a reader stay as they were: There is no role')
    const revoked = await shopsync(['revoke', '--role', role, '--config', config])
    expect(revoked.code, revoked.stderr).toBe(0)
    expect(await rowsOf(owner, `select 1 from pg_namespace where nspname = '${role}'`)).toEqual([])
    await owner.query(`create role ${name}`)
  })
})

it.each(bothWarehouses().filter(({ name }) => name === 'sqlite'))(
  'a SQLite file has no roles: its readers get a file of their own',
  async (kind) => {
    const config = configure(sandbox, await kind.viewed(), ['customers'])
    expect((await shopsync(['sync', '--config', config])).code).toBe(0)
    const asked = await shopsync(['grant', '--role', 'owner', '--tenant', String(first), '--config', config])
    expect(asked.code).toBe(2)
    expect(asked.stderr).toContain(`shopsync copy --tenant ${first} --to sqlite:${first}.db`)
  },
)
