/**
 * What a reader types to see more than it was granted shows it nothing. The ids of the two tenants' records are the
 * same, and everyone may create functions in `public`, as in databases that came from Postgres 14.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Reader, rowsOf } from '../../support/harness/reader.js'
import { type Pooler, startImpatient } from '../../support/harness/relays.js'
import { sandboxOfFile } from '../../support/harness/sandbox.js'
import { bothWarehouses, type Kind } from '../../support/harness/warehouse.js'

const sandbox = await sandboxOfFile({ tenants: 2, repairOrders: 30, seed: 3 })
const [first = 0, second = 0] = sandbox.tenantIds
const denied = /permission denied|must be/
/** A schema that one may not use is left out of the search path. */
const noRight = /permission denied|does not exist/

/** In what follows: `?` the reader, `!` names that no other test has, `~` the schema of the tables, `@` the database. */
const refusedQueries = [
  `select schema_to_xml('~', true, true, '')`,
  `select table_to_xml('~.repair_orders', true, true, '')`,
  `select query_to_xml('select * from ~_analytics.orders', true, true, '')`,
  `select cursor_to_xml('x', 1, true, true, '')`,
  'select stavalues1 from pg_statistic',
  'select stxdexpr from pg_statistic_ext_data',
  'set role postgres',
  'set session authorization postgres',
  `copy (select 1) to program 'cat'`,
  `copy (select 1) to '/tmp/shopsync-reader'`,
  `select pg_read_file('PG_VERSION')`,
  'copy ~.repair_orders to stdout',
  'create or replace view orders as select 1',
  'alter view orders set (security_barrier = false)',
  'create view mine as select 1 as one',
  `update dim_shops set shop_name = 'x'`,
  'alter view orders owner to ?',
  `select pg_stat_file('base')`,
]

/** What makes a role more than a reader: each by itself, what takes it all back, and what has to be told. */
const tooMuch: readonly [what: string, give: string, take: string, told: readonly string[]][] = [
  [
    'more attributes',
    'alter role ? replication createrole createdb bypassrls',
    '',
    ['noreplication', 'nocreaterole', 'nocreatedb', 'nobypassrls'],
  ],
  ['a predefined role', 'grant pg_checkpoint to ?', '', ['revoke "pg_checkpoint" from ?']],
  ['one that reads everything', 'grant pg_read_all_data to ?', '', ['revoke "pg_read_all_data" from ?']],
  [
    'a member of a member of a predefined role',
    'create role !2; create role !1; grant pg_monitor to !2; grant !2 to !1; grant !1 to ?',
    'drop role !1, !2',
    ['revoke "!1" from ?'],
  ],
  [
    'a member of a role that may create databases',
    'create role !1 createdb; grant !1 to ?',
    'drop role !1',
    ['revoke "!1" from ?'],
  ],
  [
    'a member of a superuser',
    'create role !1 superuser; grant !1 to ?',
    'drop role !1',
    ['a member of "!1"'],
  ],
  ['a member of another reader', 'grant ?? to ?', '', ['a member of ??']],
  [
    'create where others look for names',
    // Where the database does; where another role does, as a member of a member; in the schema of another role.
    `grant create on schema public to ?;
     create schema "!  S"; grant create on schema "!  S" to ?; alter database @ set search_path = "$user", "!  S", public;
     create role !1; create role !2; create role !3; grant !1 to !2; grant !2 to ?;
     create schema !s; grant create on schema !s to !1; alter role !3 set search_path = !s;
     create role !4; create schema !4; grant create on schema !4 to ?;
     create role !5; create schema !t authorization ?; alter role !5 set search_path to !t`,
    `revoke create on schema public from ?; drop schema "!  S"; alter database @ reset search_path;
     drop schema !s; drop schema !4; drop schema !t; drop role !1, !2, !3, !4, !5`,
    [
      'revoke create on schema public from ?',
      'revoke create on schema "!  S" from ?',
      'revoke create on schema !s from !1',
      'revoke create on schema !4 from ?',
      'alter schema !t owner to',
    ],
  ],
  [
    'read what everyone may of ours, or of another reader',
    `create role !1; create schema !1; comment on schema !1 is $$shopsync reader of ~$$;
     create view !1.v as select 1; grant select on !1.v to public; grant select on ~_analytics.orders to public;
     grant select (tenant_id) on ~.customers to public; grant usage on schema ~ to public`,
    `drop schema !1 cascade; drop role !1; revoke select on ~_analytics.orders from public;
     revoke select (tenant_id) on ~.customers from public; revoke usage on schema ~ from public`,
    [
      'revoke all on table !1.v from public',
      'rights on',
      '~_analytics.orders',
      '~.customers',
      'revoke all on schema ~ from public',
    ],
  ],
]

/** What somebody made of all tenants, and gave to a reader. */
const made = [
  ['table shown.of_table', 'create view shown.of_table as select * from ~.customers'],
  [
    'table shown.of_view',
    'create view hidden_v as select * from ~_analytics.orders; create view shown.of_view as select * from hidden_v',
  ],
  ['table shown.stored', 'create materialized view shown.stored as select * from ~.customers'],
  [
    'function shown.of_owner()',
    'create function shown.of_owner() returns bigint security definer language sql begin atomic select count(*) from ~.customers; end',
  ],
  // A view that calls such a function, whose body is a text.
  [
    'table shown.calls',
    `create function hidden_f() returns bigint security definer language plpgsql as
       $$ begin return (select count(*) from ~.customers); end $$;
     create view shown.calls as select hidden_f()`,
  ],
  [
    'function shown.rows()',
    'create function shown.rows() returns setof ~.customers security definer language sql set search_path = ~ as $$ select * from customers $$',
  ],
] as const

describe.each(bothWarehouses().filter(({ name }) => name === 'postgres'))('$name', (kind: Kind) => {
  let started: Reader
  let relay: Pooler
  let owner: pg.Client
  let reader: pg.Client
  let [schema, database] = ['', '']
  let views: string[] = []

  beforeAll(async () => {
    started = await Reader.start(sandbox, kind, ['customers', 'staffs', 'repair_orders', 'payments', 'shops'])
    ;({ owner, reader } = started)
    ;({ schema } = started.address)
    await owner.query('grant create on schema public to public; analyze')
    relay = await startImpatient(started.address.url)
    const config = readFileSync(started.config, 'utf8')
    writeFileSync(started.config, config.replace(started.address.url, relay.url))
    const found = await rowsOf<{ name: string }>(
      reader,
      `select table_name as name from information_schema.columns
        where table_schema = '${started.role}' and column_name = 'tenant_id'`,
    )
    views = found.map(({ name }) => name)
    database = new URL(started.address.url).pathname.slice(1)
    const [same] = await rowsOf<{ n: number }>(
      owner,
      `select count(*)::int as n from ${schema}.repair_orders a join ${schema}.repair_orders b using (id)
        where a.tenant_id = ${first} and b.tenant_id = ${second}`,
    )
    expect(same?.n).toBeGreaterThan(10)
  })
  afterAll(async () => {
    await owner.query(`reset session authorization`)
    await started.stop()
    await relay.close()
  })

  const run = (...words: readonly string[]) => started.done(...words)
  const grant = (tenants: readonly number[], ...flags: string[]) =>
    started.grant(started.role, tenants, ...flags)
  const tenantsIn = (what: string, client = reader) => started.tenantsIn(what, client)
  const pidOf = async (client: pg.Client): Promise<number> => {
    const [row] = await rowsOf<{ pid: number }>(client, 'select pg_backend_pid() as pid')
    return row?.pid ?? 0
  }

  /** What the reader's functions print while it asks this. */
  async function heard(query: string): Promise<Set<string>> {
    const notices = new Set<string>()
    const hear = ({ message = '' }: { message?: string | undefined }): void => void notices.add(message)
    reader.on('notice', hear)
    await reader.query(query)
    reader.off('notice', hear)
    return notices
  }

  const leaking = (name: string, of: string): string =>
    `create or replace function ${name}(${of}) returns boolean language plpgsql cost 0.0000001 as
      $$ begin raise notice 'tenant %', $1; return true; end $$`

  it('no table, and no view but its own, answers it, and whatever would show it more is refused', async () => {
    const all = await rowsOf<{ name: string }>(
      owner,
      `select format('%I.%I', n.nspname, c.relname) as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
        where n.nspname in ('${schema}', '${schema}_analytics') and c.relkind in ('r', 'v')`,
    )
    expect(all.length).toBeGreaterThan(100)
    for (const { name } of all)
      await expect(reader.query(`select 1 from ${name} limit 1`), name).rejects.toThrow(denied)
    for (const text of refusedQueries) {
      const query = text.replaceAll('~', schema).replaceAll('?', started.name)
      await expect(reader.query(query), query).rejects.toThrow(
        /permission denied|must be|does not exist|cannot update/,
      )
    }
    const known = await rowsOf(owner, `select 1 from pg_stats where schemaname = '${schema}' limit 1`)
    expect(known).toHaveLength(1)
    for (const stats of ['pg_stats', 'pg_stats_ext', 'pg_stats_ext_exprs'])
      expect(
        await rowsOf(reader, `select * from ${stats} where schemaname like '${schema}%'`),
        stats,
      ).toEqual([])
  })

  it('a session that switches row security off, or has tables of its own in front, sees no more', async () => {
    await reader.query(`set row_security = off; create temp table shop_days (tenant_id bigint)`)
    expect(await tenantsIn('orders')).toEqual([first])
    expect(await tenantsIn('shop_days')).toEqual([])
    expect(await tenantsIn(`${started.name}.shop_months`)).toEqual([first])
    await reader.query('reset row_security; drop table pg_temp.shop_days')
  })

  it('a cheap function that leaks its arguments is never called with rows of others, nor is an operator, a cast, or the check of a type', async () => {
    await reader.query(`${leaking('pg_temp.leak', 'bigint')};
      ${leaking('pg_temp.leaks', 'bigint, bigint')};
      create operator pg_temp.<<>> (function = pg_temp.leaks, leftarg = bigint, rightarg = bigint);
      create domain pg_temp.leaking as bigint check (pg_temp.leak(value));
      create type pg_temp.box as (tenant bigint);
      create function pg_temp.boxed(bigint) returns pg_temp.box language plpgsql cost 0.0000001 as
        $$ begin raise notice 'tenant %', $1; return row($1); end $$;
      create cast (bigint as pg_temp.box) with function pg_temp.boxed(bigint)`)
    expect(views.length).toBeGreaterThan(30)
    const own = `tenant ${first}`
    for (const view of views)
      expect(
        [own, ...(await heard(`select count(*) from ${view} where pg_temp.leak(tenant_id)`))],
        view,
      ).toEqual(expect.toSatisfy((all: string[]) => all.every((text) => text === own)))
    for (const condition of [
      'pg_temp.leak(tenant_id)',
      'tenant_id operator(pg_temp.<<>>) 0',
      'tenant_id::pg_temp.leaking > 0',
      '(tenant_id::pg_temp.box) is not null',
    ])
      expect(await heard(`select count(*) from orders where ${condition}`), condition).toEqual(new Set([own]))
    await reader.query('drop cast (bigint as pg_temp.box)')
  })

  it('an error of a condition says nothing about rows of others', async () => {
    const [row] = await rowsOf(reader, `select count(1 / (tenant_id - ${second})) > 0 as sees from orders`)
    expect(row).toEqual({ sees: true })
    await reader.query(`select count(*) from orders where 1 / (tenant_id - ${second}) is not null`)
    const own = await rowsOf<{ name: string }>(reader, 'select distinct shop_name as name from dim_shops')
    const error = await reader.query('select 1 from dim_shops where shop_name::int > 0').then(
      () => 'none',
      ({ message }: Error) => message,
    )
    expect(own.map(({ name }) => `invalid input syntax for type integer: "${name}"`)).toContain(error)
  })

  it('a prepared statement that was used shows only what is left after one of two tenants is revoked', async () => {
    expect((await grant([first, second])).code).toBe(0)
    await reader.query('prepare ours as select distinct tenant_id::int as t from orders order by 1')
    for (let time = 0; time < 8; time++)
      expect(await rowsOf(reader, 'execute ours')).toEqual([{ t: first }, { t: second }])
    await run('revoke', '--role', started.role, '--tenant', String(second))
    expect(await rowsOf(reader, 'execute ours')).toEqual([{ t: first }])
    await reader.query('deallocate ours')
  })

  it.each(tooMuch)(
    'a role that is more than a reader is refused, and named by check: %s',
    async (_, give, take, told) => {
      const role = `${started.role} more`
      const of = (text: string): string =>
        text
          .replaceAll('??', started.name)
          .replaceAll('?', pg.escapeIdentifier(role))
          .replaceAll('!', `m${started.tag}`)
          .replaceAll('@', database)
          .replaceAll('~', schema)
      await owner.query(of(`create role ?; ${give}`))
      const refused = await started.grant(role, [first])
      // What everyone may is told of every reader.
      const checked = give.includes('to public') ? await started.run('check') : refused
      await owner.query(of(`${take}; drop owned by ?; drop role ?`))
      expect([refused.code, checked.code === 0]).toEqual([2, false])
      for (const hint of told.map(of))
        for (const { stdout, stderr } of [refused, checked]) expect(stdout + stderr).toContain(hint)
    },
  )

  it('a role with a schema where nobody else looks, and with roles that show nothing of others, is a reader', async () => {
    const { name, tag } = started
    await owner.query(`create role between_${tag}; grant pg_read_all_settings to between_${tag}; grant between_${tag} to ${name};
      grant pg_use_reserved_connections to ${name}; create schema work_${tag} authorization ${name};
      alter role ${name} set search_path = "$user", work_${tag}`)
    expect(await grant([first])).toMatchObject({ code: 0 })
    await owner.query(`drop schema work_${tag}; drop role between_${tag}; revoke pg_use_reserved_connections from ${name};
      alter role ${name} reset search_path`)
  })

  it('what somebody made of all tenants, and gave to a reader, is named by check', async () => {
    await owner.query(`create schema shown; create view shown.harmless as select 1 as one;
      create view shown.invoker with (security_invoker) as select * from ${schema}.customers;
      grant usage on schema shown to ${started.name}`)
    for (const [, statements] of made) await owner.query(statements.replaceAll('~', schema))
    await owner.query(`grant select on all tables in schema shown to ${started.name}`)
    const { code, stdout } = await started.run('check')
    await owner.query('drop schema shown cascade; drop view hidden_v; drop function hidden_f')
    expect(code).toBe(1)
    for (const [what] of made) expect(stdout).toContain(`revoke all on ${what} from`)
    // That everyone may create there is told, and refuses nobody.
    expect(stdout).toContain('revoke create on schema public from public')
    expect(stdout).not.toMatch(/shown\.(invoker|harmless)/)
  })

  it('what hangs on a view of a reader does not keep a tenant or a personal column that is taken away', async () => {
    const named = 'dim_customers where first_name is not null'
    const session = await started.connect()
    expect(await grant([first, second], '--personal')).toMatchObject({ code: 0 })
    // The reader's own, and somebody else's.
    for (const statement of [
      'create temp view viewed as select o.tenant_id, c.first_name from orders o, dim_customers c',
      'create function pg_temp.counted() returns bigint language sql begin atomic select count(*) from orders; end',
      'create temp table typed as select o as whole from orders o limit 1',
    ])
      await session.query(statement)
    await owner.query(`create schema hung;
      create view hung.viewed as select * from ${started.name}.orders;
      create materialized view hung.stored as select * from ${started.name}.orders;
      create table hung.ruled (id bigint);
      create rule mine as on delete to hung.ruled do also select * from ${started.name}.orders;
      create rule mine as on delete to ${started.name}.orders do instead nothing`)
    expect(await tenantsIn('orders', session)).toEqual([first, second])
    expect(await tenantsIn(named, session)).not.toEqual([])
    expect(await grant([first])).toMatchObject({ code: 0 })
    expect(await tenantsIn('orders', session)).toEqual([first])
    expect(await tenantsIn(named, session)).toEqual([])
    await owner.query(`drop schema hung cascade; drop rule if exists mine on ${started.name}.orders`)
    await session.end()
  })

  it('where columns changed, a view on which something hangs stays, unreadable, and its session is named', async () => {
    const session = await started.connect()
    expect((await grant([first, second])).code).toBe(0)
    await session.query('create temp view mine as select * from orders')
    const renamed = (from: string, to: string) =>
      owner.query(`alter view ${schema}_analytics.orders rename column ${from} to ${to}`)
    await renamed('state', 'old_state')
    const less = await grant([first])
    await renamed('old_state', 'state')
    expect([less.code, less.stderr]).toEqual([1, expect.stringContaining(`pid ${await pidOf(session)}`)])
    expect(less.stderr).toMatch(/orders\W+ can't be dropped: pg_temp_\d+\.mine/)
    for (const query of ['select * from orders', 'select * from mine'])
      await expect(session.query(query)).rejects.toThrow(denied)
    expect(await tenantsIn('shop_days', session)).toEqual([first])
    await run('migrate')
    expect(await tenantsIn('mine', session)).toEqual([first])
    await session.end()
  })

  it.each([
    ['a tenant', [first, second], ['--personal'], ['--personal']],
    ['a personal column', [first], ['--personal'], []],
  ])(
    '%s is taken away before its views can be changed, and the session in the way is named',
    async (_, tenants, more, less) => {
      expect((await grant(tenants, ...more)).code).toBe(0)
      const session = await started.connect()
      await session.query('begin; select count(*) from orders')
      const pid = await pidOf(session)
      const granting = grant([first], ...less)
      const sees = (): Promise<string> =>
        reader.query('select tenant_id from orders').then(
          () => 'sees',
          ({ message }: Error) => message,
        )
      await expect.poll(sees, { timeout: 20_000 }).toMatch(noRight)
      const { code, stderr } = await granting
      expect([code, stderr]).toEqual([1, expect.stringContaining(`pid ${pid}`)])
      expect(stderr).toContain('sees nothing for now')
      expect(await sees()).toMatch(noRight)
      await session.query('rollback')
      await run('migrate')
      expect(await tenantsIn('orders')).toEqual([first])
      await session.end()
    },
  )

  it('a tenant can be forgotten whose reader was dropped under its grant', async () => {
    const gone = pg.escapeIdentifier(`${started.role} gone`)
    await owner.query(`create role ${gone}`)
    expect(await started.grant(`${started.role} gone`, [first, second])).toMatchObject({ code: 0 })
    await owner.query(`drop owned by ${gone}; drop role ${gone}`)
    await run('forget', '--tenant', String(second), '--yes')
    const grants = [{ role: started.role, tenants: [first] }]
    expect((await run('grants', '--json')).json()).toMatchObject({ grants })
    // Not pg_views: it reads the views of every schema, and other tests drop theirs meanwhile.
    const texts = await rowsOf<{ text: string }>(
      owner,
      `with theirs as materialized (select c.oid from pg_class c join pg_namespace n on n.oid = c.relnamespace
         where c.relkind = 'v' and n.nspname like '${started.role}%')
       select pg_get_viewdef(oid) as text from theirs`,
    )
    expect(texts.length).toBeGreaterThan(30)
    expect(texts.filter(({ text }) => text.includes(String(second)))).toEqual([])
  })

  it('a transaction that it keeps open does not keep its rights, and does not hold up revoke', async () => {
    await reader.query('prepare mine as select count(*) from orders; begin; execute mine')
    const revoked = await started.run('revoke', '--role', started.role)
    expect([revoked.code, revoked.stderr]).toEqual([1, expect.stringContaining('sees nothing for now')])
    // What a transaction has begun to read, the server may let it read to its end.
    await reader.query('rollback')
    for (const query of ['execute mine', 'select * from orders'])
      await expect(reader.query(query)).rejects.toThrow(noRight)
    await run('migrate')
    expect(await rowsOf(owner, `select 1 from pg_namespace where nspname = '${started.role}'`)).toEqual([])
    expect((await run('grants', '--json')).json()).toEqual({ grants: [] })
  })
})
