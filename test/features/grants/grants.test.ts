/**
 * A reader sees the rows of its tenants in every view, and those of no other, also when the views are made again
 * (test/transcripts/grants.txt shows the rest of what the commands do, attacks.test.ts what a reader may try).
 */
import { createHash } from 'node:crypto'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Address } from '../../support/harness/place.js'
import { Reader, rowsOf } from '../../support/harness/reader.js'
import { sandboxOfFile } from '../../support/harness/sandbox.js'
import { bothWarehouses, type Kind, readMeta, reopen, storeMeta } from '../../support/harness/warehouse.js'

const sandbox = await sandboxOfFile({ tenants: 2, repairOrders: 30, seed: 3 })
const [first = 0, second = 0] = sandbox.tenantIds

describe.each(bothWarehouses().filter(({ name }) => name === 'postgres'))('$name', (kind: Kind) => {
  let started: Reader
  let [role, name] = ['', '']
  let address: Address
  let owner: pg.Client
  let reader: pg.Client

  beforeAll(async () => {
    started = await Reader.start(sandbox, kind, ['customers', 'staffs', 'repair_orders', 'payments', 'shops'])
    ;({ role, name, address, owner, reader } = started)
  })
  afterAll(() => started.stop())

  const run = (...words: readonly string[]) => started.done(...words)

  /** The rows in which a view of all tenants, for these columns, differs from the reader's. */
  async function differing(hides: string): Promise<void> {
    const views = await rowsOf<{ name: string; columns: string }>(
      owner,
      `select table_name as name, string_agg(quote_ident(column_name), ', ' order by ordinal_position)
         filter (where not (${hides})) as columns
       from information_schema.columns where table_schema = '${address.schema}_analytics' group by 1`,
    )
    expect(views.length).toBeGreaterThan(30)
    for (const { name: view, columns } of views) {
      const where = ['dim_days', 'changes'].includes(view) ? '' : `where tenant_id = ${first}`
      const all = `select ${columns} from ${address.schema}_analytics.${view} ${where}`
      const mine = `select ${columns} from ${pg.escapeIdentifier(role)}.${view}`
      const rows = await rowsOf(reader, `select count(*)::int as n from ${view}`)
      expect(rows, view).toEqual(await rowsOf(owner, `select count(*)::int as n from (${all}) a`))
      const query = `(${all} except all ${mine}) union all (${mine} except all ${all})`
      expect(await rowsOf(owner, query), view).toEqual([])
    }
  }

  it('sees the rows of its tenant in every view, and those of no other; with --personal, every value of them', async () => {
    await differing(`data_type <> 'bigint'`)
    expect(await started.tenantsIn('orders')).toEqual([first])
    await run('grant', '--role', role, '--tenant', String(first), '--personal')
    await differing(`(table_name, column_name) = ('freshness', 'last_error')`)
    // The database's messages may say anything.
    await owner.query(`update ${address.schema}.sync_cursors set last_error = 'of others'`)
    expect(await rowsOf(reader, 'select distinct last_error from freshness')).toEqual([{ last_error: null }])
  })

  it('its views of 0.3.0 are made again, with equal texts: what was planted is not bound any more', async () => {
    const [kept, planted] = [`kept_${address.schema}`, `"planted ${address.schema}"`]
    await owner.query(`create schema ${planted}; create table ${kept} (place serial, text text);
        create function ${kept}() returns event_trigger language plpgsql set search_path = public as $$ begin
          insert into ${kept} (text) values (current_query());
        end $$;
        create event trigger ${kept} on ddl_command_end when tag in ('CREATE VIEW') execute function ${kept}();
        comment on schema ${name} is 'shopsync reader of ${address.schema}, views '`)
    await run('migrate')
    const texts = await rowsOf<{ text: string }>(owner, `select text from ${kept} order by place`)
    await owner.query(`drop event trigger ${kept}; drop function ${kept}; drop table ${kept}`)
    // As 0.3.0 made and remembered them, in a session that looked in a schema of others first.
    await owner.query(`create function ${planted}.same(bigint, integer) returns boolean language sql as
          $$ select $1 operator(pg_catalog.=) $2 $$;
        create operator ${planted}.= (function = ${planted}.same, leftarg = bigint, rightarg = integer);
        set search_path = ${planted}, pg_catalog`)
    for (const { text } of texts) await owner.query(text)
    const digest = createHash('sha256').update(texts.map(({ text }) => text).join('\n'))
    await owner.query(`reset search_path; comment on schema ${name} is
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
    await run('sync')
    expect(await bound()).toEqual([])
    await owner.query(`drop schema ${planted} cascade`)
    expect(await started.tenantsIn('orders')).toEqual([first])
  })

  it('if ours have other columns, those of each reader are dropped in a transaction of its own', async () => {
    const other = pg.escapeIdentifier(`${role} other`)
    const drops = `drops_${address.schema}`
    await owner.query(`create role ${other}`)
    expect((await started.grant(`${role} other`, [second])).code).toBe(0)
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
    await run('migrate')
    await owner.query(`drop event trigger ${drops}; drop function ${drops}`)
    const dropped = await rowsOf<{ readers: number; schemas: string[] }>(
      owner,
      `select count(distinct schema)::int as readers, array_agg(distinct schema) as schemas
       from ${drops} where schema like '${role}%' group by at`,
    )
    expect(dropped.map(({ readers }) => readers)).not.toContain(2)
    expect(new Set(dropped.flatMap(({ schemas }) => schemas))).toEqual(new Set([role, `${role} other`]))
    expect(await started.tenantsIn('order_lines where state is not null')).toEqual([first])
    await run('revoke', '--role', `${role} other`)
    await owner.query(`drop table ${drops}; drop owned by ${other}; drop role ${other}`)
  })
})
