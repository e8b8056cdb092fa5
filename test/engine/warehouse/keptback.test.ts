/**
 * A change that a run makes first, on a table that the database doesn't let be changed: the lists whose rows go there wait,
 * with the reason and what to type, and every other list goes on.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'kysely'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { fromMicros } from '../../../src/engine/base/timestamp.js'
import { type Sandbox, template } from '../../../src/sandbox/index.js'
import { shopsync } from '../../support/harness/call.js'
import { configure } from '../../support/harness/place.js'
import { startImpatient } from '../../support/harness/pooler.js'
import type { RunReport } from '../../support/harness/runs.js'
import { sandboxOfFile } from '../../support/harness/sandbox.js'
import { someOf } from '../../support/harness/size.js'
import {
  bothWarehouses,
  contents,
  dropViews,
  type Kind,
  lookAgain,
  migrate,
  reopen,
  rowsOf,
  type Warehouse,
  warehouses,
} from '../../support/harness/warehouse.js'
import { writePrivacy } from '../../support/world/hidden.js'
import { fillAsThen, keptWarehouse } from '../../support/world/upgrades.js'

const ofFile = await sandboxOfFile()
const key = Buffer.alloc(32, 3).toString('base64')
const lists = ['customers', 'notes']
const at = (n: number): string => new Date(Date.parse('2026-01-01T00:00:00Z') + n * 60_000).toISOString()

const tableOf = ({ dialect }: Warehouse, name: string): string => dialect.views().sql.table(name)
const type = ({ db }: Warehouse, ...statements: readonly string[]): Promise<unknown> =>
  statements.reduce<Promise<unknown>>(
    (before, text) => before.then(() => sql.raw(text).execute(db)),
    Promise.resolve(),
  )

/** Somebody's trigger that raises whenever a row is updated. */
async function addTrigger(kind: Kind, look: Warehouse, name: string): Promise<() => Promise<unknown>> {
  const table = tableOf(look, name)
  if (kind.name === 'sqlite') {
    await type(look, `create trigger guard before update on ${table} begin select raise(abort, 'no'); end`)
    return () => type(look, 'drop trigger guard')
  }
  const stop = table.replace(/[^.]*$/, 'stop')
  await type(
    look,
    `create or replace function ${stop}() returns trigger language plpgsql as $$ begin raise 'no'; end $$`,
    `create trigger guard before update on ${table} for each row execute function ${stop}()`,
  )
  return () => type(look, `drop trigger guard on ${table}`)
}

/** While the work goes on, an idle transaction holds what the statement has locked. */
const idle = (look: Warehouse, statement: string, work: () => Promise<void>): Promise<void> =>
  look.db.connection().execute(async (held) => {
    await sql.raw('begin; set local idle_in_transaction_session_timeout = 0').execute(held)
    await sql.raw(statement).execute(held)
    await work()
    await sql.raw('rollback').execute(held)
  })

/** A way to the server on which nothing waits long for a lock. */
async function impatient(url: string): Promise<string> {
  const pooler = await startImpatient(url)
  onTestFinished(() => pooler.close())
  return pooler.url
}

interface Begun {
  readonly names?: readonly string[]
  /** The way to its server. */
  readonly to?: (url: string) => unknown
  readonly in?: Promise<Sandbox>
}

/** Of customers, whatever a test changes, and of lists beside it. */
async function begun(
  kind: Kind,
  { names = lists, to = (url: string): unknown => url, in: given = sandboxOfFile() }: Begun = {},
) {
  const sandbox = await given
  sandbox.store.addTenant({ id: 1 })
  const put = (name: string, id: number): void =>
    void sandbox.store.put(1, name, {
      ...template(name, id, at(id * 600)),
      nick: `n${id}`,
    })
  sandbox.store.tenant(1).strings.set('customer_payment_types', ['Cash'])
  for (const name of names) if (name !== 'customer_payment_types') for (const id of [1, 2]) put(name, id)
  const address = await kind.viewed()
  const reached = { ...address, url: String(await to(address.url)) }
  const call = async (words: readonly string[], more: object = {}, privacy?: object) => {
    const config = configure(sandbox, reached, names, more)
    if (privacy) writePrivacy(config, privacy)
    const { code, stdout, stderr } = await shopsync([...words, '--json', '--config', config])
    return { code, stderr, report: JSON.parse(stdout || '{}') as RunReport & CheckReport }
  }
  expect((await call(['sync'])).code).toBe(0)
  return { put, call, look: await reopen(address) }
}

interface CheckReport {
  readonly checks: readonly { readonly what: string; readonly ok: boolean; readonly hint: string | null }[]
}
const found = ({ report }: { report: CheckReport }) => report.checks.filter(({ ok }) => !ok)
const of = ({ report }: { report: RunReport }, name: string) =>
  report.cursors.find(({ resource }) => resource === name)

const keptBack = { status: 'failed', completeness: 'unproven', reason: 'not_migrated', requests: 0 }
const nick = { columns: { nick: 'text' } }
const nickAndHistory = { ...nick, history: true }
const pseudonymous = { preset: 'pseudonymous', key }
const ofCustomers = (customers: object) => ({ resources: { customers } })

describe.each(bothWarehouses())('$name', (kind) => {
  const names = [...lists, 'repair_orders', 'customer_payment_types']
  let world: Awaited<ReturnType<typeof begun>>
  beforeAll(async () => {
    ofFile.reset()
    world = await begun(kind, { names, in: Promise.resolve(ofFile) })
  })
  afterAll(() => world.look.close())

  it('check finds nothing wrong with what an older version lacks in tables whose rows have no stamp', async () => {
    const { call, look } = world
    const dependents = kind.name === 'postgres' ? 'cascade' : ''
    await type(look, `drop table ${tableOf(look, 'report_clocks')} ${dependents}`)
    expect(found(await call(['check']))).toEqual([])
    expect((await call(['sync'])).code).toBe(0)
  })

  it('check tries nothing while a run is at work', async () => {
    const { call, look } = world
    const remove = await addTrigger(kind, look, 'customers')
    const [free] = await rowsOf(look, 'sync_lease')
    const expiresAt = fromMicros(BigInt(Date.now() + 50_000) * 1000n)
    const held = { owner: 'another', host: 'elsewhere', pid: 1, expires_at: expiresAt }
    await look.write([look.db.updateTable('sync_lease').set(held).compile()])
    expect(found(await call(['check'], ofCustomers({ history: true })))).toEqual([])
    const { owner, host, pid, expires_at } = free as typeof held
    await look.write([look.db.updateTable('sync_lease').set({ owner, host, pid, expires_at }).compile()])
    await remove()
  })

  it('what reads goes on for every other table, and says what is kept back', async () => {
    const { call } = world
    const verified = await call(['verify'], ofCustomers(nick))
    expect(verified.code).toBe(1)
    expect(of(verified, 'customers')).toMatchObject({
      status: 'failed',
      reason: 'not_migrated',
      error: expect.stringMatching(/add column nick text.*shopsync migrate/i),
    })
    expect(of(verified, 'notes')).toMatchObject({ status: 'equal' })
    expect(await call(['why', 'notes', '1'], ofCustomers(nick))).toMatchObject({ code: 0 })
    const why = await call(['why', 'customers', '1'], ofCustomers(nick))
    expect(why).toMatchObject({ code: 1, stderr: expect.stringMatching(/add column nick text/i) })
    const unseen = [{ table: 'customers', reason: 'not_migrated', rows: null }]
    expect(
      await call(['forget', '--tenant', '1', '--customer', '1', '--dry-run'], ofCustomers(nick)),
    ).toMatchObject({
      code: 1,
      report: { not_looked_at: expect.arrayContaining(unseen) },
    })
  })

  it('a column that somebody made another keeps back its lists alone', async () => {
    const { call, look } = world
    const changed: [table: string, column: string, kept: string[]][] = [
      ['customers', 'city', ['customers']],
      ['repair_order_parts', 'brand', ['repair_orders']],
      ['repair_order_totals', 'customer_source', ['repair_orders']],
      ['integrator_tags', 'value', ['customers', 'notes', 'repair_orders']],
    ]
    // Whose lists a table has doesn't depend on the database.
    for (const [table, column, kept] of warehouses().includes(kind) ? changed : someOf(3, changed)) {
      const place = tableOf(look, table)
      const kindOfIt = kind.name === 'sqlite' ? 'BLOB' : 'bytea'
      await dropViews(look)
      await type(look, `alter table ${place} rename column ${column} to kept_aside_${column}`)
      await type(look, `alter table ${place} add column ${column} ${kindOfIt}`)
      const run = await call(['sync'])
      expect([table, run.code]).toEqual([table, 1])
      for (const one of names)
        expect(of(run, one)).toMatchObject(kept.includes(one) ? keptBack : { status: 'ok' })
      const told = of(run, kept[0] ?? '')?.error ?? ''
      await dropViews(look)
      await type(look, /type: (alter table [^;.]*(?:\.[^;.]*)?)\. Then/.exec(told)?.[1] ?? '')
      expect([table, (await call(['sync'])).code]).toEqual([table, 0])
    }
    expect(await call(['verify'])).toMatchObject({ code: 0 })
  })

  it('a program that stays up sees what others have changed since', async () => {
    const { look } = world
    const table = tableOf(look, 'notes')
    await dropViews(look)
    await type(
      look,
      `alter table ${table} rename column description to kept_aside`,
      `alter table ${table} add column description ${kind.name === 'sqlite' ? 'BLOB' : 'bytea'}`,
    )
    await migrate(look)
    expect(look.interfered.unchanged(['notes'])?.message).toContain('notes.description is')
    await type(look, `alter table ${table} rename column description to theirs`)
    await lookAgain(look)
    expect(look.interfered.unchanged(['notes'])?.message).toMatch(/add column description text/i)
    await type(look, `alter table ${table} rename column kept_aside to description`)
    await lookAgain(look)
    expect(look.interfered.unchanged(['notes'])).toBeUndefined()
  })

  it("a change on a table whose trigger raises keeps back its lists alone, and no view of others; check finds it before, and somebody's view nothing", async () => {
    const { call, look, put } = world
    const emails = async () => (await rowsOf(look, 'customers')).map(({ email }) => email)
    const structure = async () => [await look.dialect.catalog.liveColumns(), await contents(look)]
    const store = look.dialect.views()
    const views = ['dim_customers', 'purchases']
    const made = async () => {
      const live = await store.live((query) => look.db.executeQuery(query))
      return views.filter((view) => live.has(view))
    }
    const table = tableOf(look, 'customers')
    await type(look, `create view ${table.replace(/[^.]*$/, 'theirs')} as select * from ${table}`)
    expect((await call(['migrate'])).code).toBe(0)
    const stored = await emails()
    let id = 2
    const changes: [what: string, more: object, privacy?: object][] = [
      ['a promoted column', ofCustomers(nick)],
      ['a history', ofCustomers(nickAndHistory)],
      ['other names', { ...ofCustomers(nickAndHistory), report: { names: { customers: ['email'] } } }],
      ['stricter privacy', ofCustomers(nickAndHistory), pseudonymous],
    ]
    // What a change would write doesn't depend on the database; below, a lock keeps it back on Postgres.
    for (const [what, more, privacy] of warehouses().includes(kind) ? changes : someOf(3, changes)) {
      // Their names and what is hidden of them is in the view.
      const isShaped = what === 'other names' || privacy !== undefined
      id++
      const remove = await addTrigger(kind, look, 'customers')
      await type(look, ...views.map((view) => `drop view ${store.relation(view)}`))
      const before = await structure()
      const checked = await call(['check'], more, privacy)
      expect(found(checked)).toMatchObject([
        { what: 'table customers', hint: expect.stringContaining('drop trigger guard') },
      ])
      expect([what, checked.code]).toEqual([what, 1])
      expect(await structure()).toEqual(before)
      put('notes', id)
      put('customers', id)
      const kept = await call(['sync'], more, privacy)
      expect([what, kept.code]).toEqual([what, 1])
      expect(of(kept, 'notes')).toMatchObject({ status: 'ok', rows_upserted: 1 })
      // The column can be added: its list is read, and can't be stored.
      const failed = { status: 'failed', completeness: 'unproven', reason: 'warehouse' }
      expect(of(kept, 'customers')).toMatchObject({
        ...(what === 'a promoted column' ? failed : keptBack),
        error: expect.stringContaining('guard'),
      })
      expect(await made(), what).toEqual(isShaped ? ['purchases'] : expect.arrayContaining(['purchases']))
      expect(await rowsOf(look, 'customers')).toHaveLength(id - 1)
      await remove()
      expect(await call(['sync'], more, privacy)).toMatchObject({ code: 0, report: { status: 'ok' } })
      expect(await rowsOf(look, 'customers')).toHaveLength(id)
      if (isShaped) expect((await call(['migrate'], more, privacy)).code).toBe(0)
      expect(await made(), what).toEqual(views)
      // What was kept back is made up for.
      for (const email of stored) expect((await emails()).includes(email)).toBe(privacy === undefined)
    }
  })

  it('a warehouse of 0.2.0 is upgraded but for one table, whose lists wait', async () => {
    const sandbox = await sandboxOfFile()
    fillAsThen(sandbox)
    const address = await keptWarehouse(kind)
    const look = await reopen(address)
    await look.write([look.db.updateTable('sync_source').set({ base_url: sandbox.url }).compile()])
    const remove = await addTrigger(kind, look, 'customers')
    const config = configure(sandbox, address, ['customers', 'notes', 'shops'])
    const call = async () => {
      const { code, stdout } = await shopsync(['sync', '--json', '--config', config])
      const { cursors } = JSON.parse(stdout) as RunReport
      return { code, failed: cursors.filter(({ status }) => status === 'failed') }
    }
    const kept = await call()
    expect(kept.code).toBe(1)
    expect([...new Set(kept.failed.map(({ resource, reason }) => `${resource} ${reason}`))]).toEqual([
      'customers not_migrated',
    ])
    await remove()
    expect((await call()).failed).toEqual([])
    await look.close()
  })
})

describe.each(bothWarehouses().filter(({ name }) => name === 'postgres'))('$name', (kind) => {
  it('a change on a table that an idle transaction holds keeps back its lists alone, and stores no row in the former form', async () => {
    const { call, look, put } = await begun(kind, { to: impatient })
    let id = 2
    for (const [what, name, more, privacy] of [
      ['a history', 'customers', ofCustomers({ history: true })],
      ['a promoted column of ended versions', 'customers_history', ofCustomers(nickAndHistory)],
      ['stricter privacy', 'customers', ofCustomers(nickAndHistory), pseudonymous],
    ] as [string, string, object, object?][]) {
      id++
      const table = tableOf(look, name)
      const lock = privacy ? `lock table ${table} in share mode` : `select 1 from ${table}`
      put('customers', id)
      await idle(look, lock, async () => {
        const holder = expect.stringMatching(/pid \d+\) holds a lock on it/)
        expect(found(await call(['check'], more, privacy)), what).toMatchObject([
          { what: `table ${name}`, hint: holder },
        ])
        const kept = await call(['sync'], more, privacy)
        expect([what, kept.code]).toEqual([what, 1])
        expect(of(kept, 'customers')).toMatchObject({ ...keptBack, error: holder })
        expect(of(kept, 'notes')).toMatchObject({ status: 'ok' })
        expect((await contents(look))['customers']).toHaveLength(id - 1)
      })
      expect([what, (await call(['sync'], more, privacy)).code]).toEqual([what, 0])
      expect((await contents(look))['customers']).toHaveLength(id)
    }
    await look.close()
  })

  it('what was refused to a shard lets the others work, and is made once it can be', async () => {
    const { call, look, put } = await begun(kind)
    const remove = await addTrigger(kind, look, 'customers')
    const shard = (n: number) =>
      call(['sync', '--shard', `${n}/2`], ofCustomers({ history: true }), pseudonymous)
    // Tenant 1 is of one of the two.
    const first = [await shard(1), await shard(2)]
    const mine = first.findIndex((run) => of(run, 'customers') !== undefined) + 1
    expect(of(first[mine - 1] as (typeof first)[0], 'customers')).toMatchObject(keptBack)
    const claimed = async () =>
      (await rowsOf(look, 'sync_lease')).find(({ name }) => name === 'run')?.claimed_at
    const before = await claimed()
    put('notes', 3)
    const kept = await shard(mine)
    expect(of(kept, 'customers')).toMatchObject({ ...keptBack, error: expect.stringContaining('guard') })
    expect(of(kept, 'notes')).toMatchObject({ status: 'ok', rows_upserted: 1 })
    // Nobody else had to end for it.
    expect(await claimed()).toEqual(before)
    await remove()
    expect(await shard(mine)).toMatchObject({ code: 0, report: { status: 'ok' } })
    await look.close()
  })

  it('a change of a table lets readers pass, and names the one that holds it, without what it reads', async () => {
    const address = await kind.migrated()
    const warehouse = await reopen({ ...address, url: await impatient(address.url) })
    const reader = (application_name: string) =>
      new pg.Client({ connectionString: address.url, application_name })
    const [holding, other] = [reader('metabase'), reader('grafana')]
    await holding.connect()
    await other.connect()
    const notes = `"${address.schema}".notes`
    await holding.query(`alter table ${notes} drop column description`)
    await holding.query(`begin; select count(*) from ${notes} where _synced_at::text = 'a secret'`)
    const { rows } = await holding.query('select pg_backend_pid() as pid')
    const failed = migrate(warehouse)
    // With a transaction that waits for the lock, each further reader would wait, too.
    await other.query("set statement_timeout = '9s'")
    let isOver = false
    void failed.then(() => {
      isOver = true
    })
    while (!isOver) {
      await other.query(`select count(*) from ${notes}`)
      await sleep(5)
    }
    expect(await failed).toEqual([])
    const [error] = warehouse.interfered.allUnchanged()
    expect(error?.hint).toMatch(
      new RegExp(
        `^metabase \\(pid ${rows[0].pid}\\) holds a lock on it, in a transaction since \\d{4}-.*: end that session`,
      ),
    )
    expect(`${error?.message} ${error?.hint}`).not.toContain('a secret')
    await holding.query('rollback')
    expect(await migrate(warehouse)).toMatchObject([{ table: 'notes', column: { name: 'description' } }])
    await holding.end()
    await other.end()
    await warehouse.close()
  })
})
