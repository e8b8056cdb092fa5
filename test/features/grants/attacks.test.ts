/**
 * What a reader types to see more than it was granted shows it nothing. The ids of the two tenants' records are the
 * same, and everyone may create functions in `public`, as in databases that came from Postgres 14.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Pooler, startImpatient } from '../../support/harness/pooler.js'
import { Reader, rowsOf } from '../../support/harness/reader.js'
import { sandboxOfFile } from '../../support/harness/sandbox.js'
import { bothWarehouses, type Kind } from '../../support/harness/warehouse.js'

const sandbox = await sandboxOfFile({ tenants: 2, repairOrders: 30, seed: 3 })
const [first = 0, second = 0] = sandbox.tenantIds
const denied = /permission denied|must be/
/** A schema that one may not use is left out of the search path. */
const noRight = /permission denied|does not exist/

describe.each(bothWarehouses().filter(({ name }) => name === 'postgres'))('$name', (kind: Kind) => {
  let started: Reader
  let relay: Pooler
  let owner: pg.Client
  let reader: pg.Client
  let schema = ''
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
  })
  afterAll(async () => {
    await owner.query(`reset session authorization`)
    await started.stop()
    await relay.close()
  })

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

  it('the two tenants have records of the same ids', async () => {
    const [found] = await rowsOf<{ n: number }>(
      owner,
      `select count(*)::int as n from ${schema}.repair_orders a join ${schema}.repair_orders b using (id)
        where a.tenant_id = ${first} and b.tenant_id = ${second}`,
    )
    expect(found?.n).toBeGreaterThan(10)
  })

  it('no table, and no view but its own, answers it', async () => {
    const all = await rowsOf<{ name: string }>(
      owner,
      `select format('%I.%I', n.nspname, c.relname) as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
        where n.nspname in ('${schema}', '${schema}_analytics') and c.relkind in ('r', 'v')`,
    )
    expect(all.length).toBeGreaterThan(100)
    const answered: string[] = []
    for (const { name } of all)
      await reader.query(`select 1 from ${name} limit 1`).then(
        () => answered.push(name),
        (error: Error) => expect(error.message).toMatch(denied),
      )
    expect(answered).toEqual([])
  })

  it('is refused what would show it more', async () => {
    for (const query of [
      `select schema_to_xml('${schema}', true, true, '')`,
      `select table_to_xml('${schema}.repair_orders', true, true, '')`,
      `select query_to_xml('select * from ${schema}_analytics.orders', true, true, '')`,
      `select cursor_to_xml('x', 1, true, true, '')`,
      `select stavalues1 from pg_statistic`,
      'select stxdexpr from pg_statistic_ext_data',
      'set role postgres',
      'set session authorization postgres',
      `copy (select 1) to program 'cat'`,
      `copy (select 1) to '/tmp/shopsync-reader'`,
      `select pg_read_file('PG_VERSION')`,
      `copy ${schema}.repair_orders to stdout`,
      `create or replace view orders as select 1`,
      `alter view orders set (security_barrier = false)`,
      `create view mine as select 1 as one`,
      `update dim_shops set shop_name = 'x'`,
      `alter view orders owner to ${started.name}`,
      `select pg_stat_file('base')`,
    ])
      await expect(reader.query(query), query).rejects.toThrow(
        /permission denied|must be|does not exist|cannot update/,
      )
  })

  it('statistics that everyone may read say nothing about our tables', async () => {
    expect(await rowsOf(owner, `select 1 from pg_stats where schemaname = '${schema}' limit 1`)).toEqual([
      expect.anything(),
    ])
    for (const stats of ['pg_stats', 'pg_stats_ext', 'pg_stats_ext_exprs'])
      expect(
        await rowsOf(reader, `select * from ${stats} where schemaname like '${schema}%' limit 1`),
        stats,
      ).toEqual([])
  })

  it('a session that switches row security off sees no more', async () => {
    await reader.query('set row_security = off')
    expect(await rowsOf(reader, 'select distinct tenant_id::int as t from orders')).toEqual([{ t: first }])
    await reader.query('reset row_security')
  })

  it('a cheap function that leaks its arguments is never called with rows of others', async () => {
    await reader.query(leaking('pg_temp.leak', 'bigint'))
    expect(views.length).toBeGreaterThan(30)
    for (const view of views)
      expect(
        [...(await heard(`select count(*) from ${view} where pg_temp.leak(tenant_id)`))].filter(
          (text) => text !== `tenant ${first}`,
        ),
        view,
      ).toEqual([])
    expect(await heard('select count(*) from orders where pg_temp.leak(tenant_id)')).toEqual(
      new Set([`tenant ${first}`]),
    )
  })

  it('nor is a cheap operator, a cast, or the check of a type', async () => {
    await reader.query(`${leaking('pg_temp.leaks', 'bigint, bigint')};
      create operator pg_temp.<<>> (function = pg_temp.leaks, leftarg = bigint, rightarg = bigint);
      create domain pg_temp.leaking as bigint check (pg_temp.leak(value));
      create type pg_temp.box as (tenant bigint);
      create function pg_temp.boxed(bigint) returns pg_temp.box language plpgsql cost 0.0000001 as
        $$ begin raise notice 'tenant %', $1; return row($1); end $$;
      create cast (bigint as pg_temp.box) with function pg_temp.boxed(bigint)`)
    for (const condition of [
      'tenant_id operator(pg_temp.<<>>) 0',
      'tenant_id::pg_temp.leaking > 0',
      '(tenant_id::pg_temp.box) is not null',
    ])
      expect(await heard(`select count(*) from orders where ${condition}`), condition).toEqual(
        new Set([`tenant ${first}`]),
      )
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

  it('own functions and operators of the same names in front are not called by our views', async () => {
    await reader.query(`${leaking('public.tenant_leak', 'bigint, bigint')};
      create operator public.= (function = public.tenant_leak, leftarg = bigint, rightarg = bigint);
      create function public.coalesced(bigint) returns bigint language sql as 'select $1';
      create function public.sum(bigint) returns bigint language plpgsql as
        $$ begin raise notice 'tenant %', $1; return $1; end $$;
      create function public.date_trunc(text, timestamptz) returns timestamptz language plpgsql as
        $$ begin raise notice 'tenant %', $2; return $2; end $$;
      set search_path = public, "$user", pg_catalog`)
    for (const view of views) expect(await heard(`select count(*) from ${view}`), view).toEqual(new Set())
    // Our own commands don't find them either: what they call would run with our rights.
    for (const words of [['check'], ['sync'], ['snapshot'], ['migrate'], ['grants']]) {
      const ended = await started.run(...words)
      expect([words, ended.code, ended.stderr.includes('tenant 1')]).toEqual([words, 0, false])
    }
    await reader.query(`reset search_path; drop operator public.= (bigint, bigint);
      drop function public.tenant_leak, public.coalesced, public.sum, public.date_trunc`)
  })

  it('tables of its own in front change only what it sees itself', async () => {
    await reader.query(
      `create temp table orders (tenant_id bigint); create temp table shop_days (tenant_id bigint)`,
    )
    expect(await rowsOf(reader, 'select * from orders')).toEqual([])
    const mine = `${started.name}.shop_months`
    expect(await rowsOf(reader, `select distinct tenant_id::int as t from ${mine}`)).toEqual([{ t: first }])
    await reader.query('drop table pg_temp.orders, pg_temp.shop_days')
  })

  it('a prepared statement that was used shows only what is left after one of two tenants is revoked', async () => {
    expect((await started.grant(started.role, first, second)).code).toBe(0)
    await reader.query('prepare ours as select distinct tenant_id::int as t from orders order by 1')
    for (let time = 0; time < 8; time++)
      expect(await rowsOf(reader, 'execute ours')).toEqual([{ t: first }, { t: second }])
    const revoked = await started.run('revoke', '--role', started.role, '--tenant', String(second))
    expect(revoked.code, revoked.stderr).toBe(0)
    expect(await rowsOf(reader, 'execute ours')).toEqual([{ t: first }])
    await reader.query('deallocate ours')
  })

  it('what everyone may read by hand is told by check, and by grant', async () => {
    for (const [given, what] of [
      [`select on ${schema}_analytics.orders`, `${schema}_analytics.orders`],
      [`select (tenant_id) on ${schema}.customers`, `${schema}.customers`],
      [`usage on schema ${schema}`, `schema ${schema}`],
    ]) {
      await owner.query(`grant ${given} to public`)
      const checked = await started.run('check')
      expect([given, checked.code]).toEqual([given, 1])
      expect(checked.stdout + checked.stderr).toContain(`it has rights on ${what}`)
      expect((await started.grant(started.role, first)).code).toBe(2)
      await owner.query(`revoke ${given} from public`)
    }
    expect((await started.run('check')).code).toBe(0)
  })

  it('that everyone may create in public is told by check with what to type, and refuses nobody', async () => {
    const checked = await started.run('check')
    expect([checked.code, checked.stdout]).toEqual([
      0,
      expect.stringContaining('revoke create on schema public from public'),
    ])
    expect((await started.grant(started.role, first)).code).toBe(0)
  })

  /** What makes a role more than a reader: each by itself, what takes it all back, and what has to be told. */
  const tooMuch: [what: string, give: string[], take: string, told: string[]][] = [
    [
      'has more attributes',
      ['replication', 'createrole', 'createdb', 'bypassrls'].map((may) => `alter role ? ${may}`),
      'alter role ? noreplication nocreaterole nocreatedb nobypassrls',
      ['noreplication', 'nocreaterole', 'nocreatedb', 'nobypassrls'],
    ],
    [
      'is a member of a predefined role',
      ['grant pg_checkpoint to ?'],
      'revoke pg_checkpoint from ?',
      ['revoke "pg_checkpoint" from ?'],
    ],
    [
      'is a member of a member of a predefined role',
      ['create role !2; create role !1; grant pg_monitor to !2; grant !2 to !1; grant !1 to ?'],
      'drop role !1, !2',
      ['revoke "!1" from ?'],
    ],
    [
      'is a member of a role that may create databases',
      ['create role !1 createdb; grant !1 to ?'],
      'drop role !1',
      ['revoke "!1" from ?'],
    ],
    [
      'may create where others look for names',
      [
        'grant create on schema public to ?',
        // Where the database does.
        'create schema "!  S"; grant create on schema "!  S" to ?; alter database @ set search_path = "$user", "!  S", public',
        // Where another role does, as a member of a member.
        `create role !1; create role !2; create role !3; grant !1 to !2; grant !2 to ?;
         create schema !s; grant create on schema !s to !1; alter role !3 set search_path = !s`,
        // In the schema of another role.
        'create role !4; create schema !4; grant create on schema !4 to ?',
        'create role !5; create schema !t authorization ?; alter role !5 set search_path to !t',
      ],
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
      'may read what everyone may of another reader',
      [
        `create role !1; create schema !1; comment on schema !1 is $$shopsync reader of ~$$;
         create view !1.v as select 1; grant select on !1.v to public`,
      ],
      'drop schema !1 cascade; drop role !1',
      ['revoke all on table !1.v from public'],
    ],
  ]
  it.each(tooMuch)('a role that %s is refused, and named by check', async (_, give, take, told) => {
    const named = await rowsOf<{ name: string }>(owner, 'select quote_ident(current_database()) as name')
    const of = (text: string): string =>
      text
        .replaceAll('?', started.name)
        .replaceAll('!', `m${kind.name}${started.tag}`)
        .replaceAll('@', named[0]?.name ?? '')
        .replaceAll('~', schema)
    for (const statements of give) await owner.query(of(statements))
    const refused = await started.grant(started.role, first)
    const checked = await started.run('check')
    await owner.query(of(take))
    expect([refused.code, checked.code]).toEqual([2, 1])
    for (const hint of told) {
      expect(refused.stderr).toContain(of(hint))
      expect(checked.stdout + checked.stderr).toContain(of(hint))
    }
    expect((await started.grant(started.role, first)).code).toBe(0)
  })

  it('a role with a schema where nobody else looks, and with roles that show nothing of others, is a reader', async () => {
    const { name, tag } = started
    await owner.query(`create role between_${tag}; grant pg_read_all_settings to between_${tag}; grant between_${tag} to ${name};
      grant pg_use_reserved_connections to ${name}; create schema work_${tag} authorization ${name};
      alter role ${name} set search_path = "$user", work_${tag}`)
    const granted = await started.grant(started.role, first)
    expect(granted.code, granted.stderr).toBe(0)
    await owner.query(`drop schema work_${tag}; drop role between_${tag}; revoke pg_use_reserved_connections from ${name};
      alter role ${name} reset search_path`)
  })

  it('what somebody made of all tenants, and gave to a reader, is named by check', async () => {
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
    await owner.query(`create schema shown; create view shown.harmless as select 1 as one;
      create view shown.invoker with (security_invoker) as select * from ${schema}.customers;
      grant usage on schema shown to ${started.name}`)
    for (const [, statements] of made) await owner.query(statements.replaceAll('~', schema))
    await owner.query(`grant select on all tables in schema shown to ${started.name}`)
    const { code, stdout, stderr } = await started.run('check')
    await owner.query('drop schema shown cascade; drop view hidden_v; drop function hidden_f')
    expect(code).toBe(1)
    for (const [what] of made) expect(stdout + stderr).toContain(`revoke all on ${what} from`)
    expect(stdout + stderr).not.toMatch(/shown\.(invoker|harmless)/)
  })

  it('what hangs on a view of a reader does not keep a tenant or a personal column that is taken away', async () => {
    const personal = `select count(*)::int as n from dim_customers where first_name is not null`
    const tenants = 'select distinct tenant_id::int as t from orders order by 1'
    const session = await started.connect()
    const both = ['--tenant', String(first), '--tenant', String(second)]
    const granted = await started.run('grant', '--role', started.role, ...both, '--personal')
    expect(granted.code, granted.stderr).toBe(0)
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
    expect(await rowsOf(session, tenants)).toEqual([{ t: first }, { t: second }])
    expect(await rowsOf(session, personal)).not.toEqual([{ n: 0 }])
    const less = await started.grant(started.role, first)
    expect(less.code, less.stderr).toBe(0)
    expect(await rowsOf(session, tenants)).toEqual([{ t: first }])
    expect(await rowsOf(session, personal)).toEqual([{ n: 0 }])
    await owner.query(`drop schema hung cascade; drop rule if exists mine on ${started.name}.orders`)
    await session.end()
  })

  it('where columns changed, a view on which something hangs stays, unreadable, and its session is named', async () => {
    const session = await started.connect()
    expect((await started.grant(started.role, first, second)).code).toBe(0)
    await session.query('create temp view mine as select * from orders')
    const [{ pid = 0 } = {}] = await rowsOf<{ pid: number }>(session, 'select pg_backend_pid() as pid')
    const renamed = (from: string, to: string) =>
      owner.query(`alter view ${schema}_analytics.orders rename column ${from} to ${to}`)
    await renamed('state', 'old_state')
    const less = await started.grant(started.role, first)
    await renamed('old_state', 'state')
    expect([less.code, less.stderr]).toEqual([1, expect.stringContaining(`pid ${pid}`)])
    expect(less.stderr).toMatch(/orders\W+ can't be dropped: pg_temp_\d+\.mine/)
    for (const query of ['select * from orders', 'select * from mine'])
      await expect(session.query(query)).rejects.toThrow(denied)
    expect(await rowsOf(session, 'select distinct tenant_id::int as t from shop_days')).toEqual([
      { t: first },
    ])
    const migrated = await started.run('migrate')
    expect(migrated.code, migrated.stderr).toBe(0)
    expect(await rowsOf(session, 'select distinct tenant_id::int as t from mine')).toEqual([{ t: first }])
    await session.end()
  })

  it.each([
    ['a tenant', ['--personal', '--tenant', String(second)], ['--personal']],
    ['a personal column', ['--personal'], []],
  ])(
    '%s is taken away before its views can be changed, and the session in the way is named',
    async (_, more, less) => {
      const grant = (...words: string[]) =>
        started.run('grant', '--role', started.role, '--tenant', String(first), ...words)
      expect((await grant(...more)).code).toBe(0)
      const session = await started.connect()
      await session.query('begin; select count(*) from orders')
      const [{ pid = 0 } = {}] = await rowsOf<{ pid: number }>(session, 'select pg_backend_pid() as pid')
      const granting = grant(...less)
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
      const migrated = await started.run('migrate')
      expect(migrated.code, migrated.stderr).toBe(0)
      expect(await rowsOf(reader, 'select distinct tenant_id::int as t from orders')).toEqual([{ t: first }])
      await session.end()
    },
  )

  it('a tenant can be forgotten whose reader was dropped under its grant', async () => {
    const gone = pg.escapeIdentifier(`${started.role} gone`)
    await owner.query(`create role ${gone}`)
    const granted = await started.grant(`${started.role} gone`, first, second)
    expect(granted.code, granted.stderr).toBe(0)
    await owner.query(`drop owned by ${gone}; drop role ${gone}`)
    const forgotten = await started.run('forget', '--tenant', String(second), '--yes')
    expect(forgotten.code, forgotten.stderr).toBe(0)
    const { stdout } = await started.run('grants', '--json')
    expect(JSON.parse(stdout)).toMatchObject({ grants: [{ role: started.role, tenants: [first] }] })
    // Not pg_views: it reads the views of every schema, and other tests drop theirs meanwhile.
    const texts = await rowsOf<{ text: string }>(
      owner,
      `with theirs as materialized (select c.oid from pg_class c join pg_namespace n on n.oid = c.relnamespace
         where c.relkind = 'v' and n.nspname like '${started.role}%')
       select pg_get_viewdef(oid) as text from theirs`,
    )
    expect(texts.length).toBeGreaterThan(30)
    expect(texts.filter(({ text }) => text.includes(String(second)))).toEqual([])
    expect(await rowsOf(owner, `select 1 from pg_namespace where nspname = '${started.role} gone'`)).toEqual(
      [],
    )
  })

  it('a transaction that it keeps open does not keep its rights, and does not hold up revoke', async () => {
    await reader.query('prepare mine as select count(*) from orders; begin; execute mine')
    const revoked = await started.run('revoke', '--role', started.role)
    expect([revoked.code, revoked.stderr]).toEqual([1, expect.stringContaining('sees nothing for now')])
    // What a transaction has begun to read, the server may let it read to its end.
    await reader.query('rollback')
    await expect(reader.query('execute mine')).rejects.toThrow(noRight)
    await expect(reader.query('select * from orders')).rejects.toThrow(noRight)
    const migrated = await started.run('migrate')
    expect(migrated.code, migrated.stderr).toBe(0)
    expect(await rowsOf(owner, `select 1 from pg_namespace where nspname = '${started.role}'`)).toEqual([])
    expect(JSON.parse((await started.run('grants', '--json')).stdout)).toEqual({ grants: [] })
  })
})
