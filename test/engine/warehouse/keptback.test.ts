/**
 * A change that a run makes first, on a table that the database doesn't let be changed: the lists whose rows go there wait,
 * with the reason and what to type, and every other list goes on.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'kysely'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { type Sandbox, template } from '../../../src/sandbox/index.js'
import type { Ended } from '../../support/harness/call.js'
import { Desk } from '../../support/harness/desk.js'
import { startImpatient } from '../../support/harness/relays.js'
import type { RunReport } from '../../support/harness/runs.js'
import { sandboxOfFile } from '../../support/harness/sandbox.js'
import { isWhole, someOf } from '../../support/harness/size.js'
import {
  bothWarehouses,
  claimLease,
  contents,
  dropViews,
  type Kind,
  lookAgain,
  migrate,
  reopen,
  rowsOf,
  typed,
  type Warehouse,
  warehouses,
} from '../../support/harness/warehouse.js'
import { fillAsThen, keptWarehouse } from '../../support/world/upgrades.js'

const ofFile = await sandboxOfFile()
const lists = ['customers', 'notes']
const at = (n: number): string => new Date(Date.parse('2026-01-01T00:00:00Z') + n * 60_000).toISOString()

/** Somebody's trigger that raises whenever a row is updated. */
async function addTrigger(kind: Kind, look: Warehouse, table: string): Promise<() => Promise<unknown>> {
  const raising =
    kind.name === 'sqlite'
      ? `create trigger guard before update on ${table} begin select raise(abort, 'no'); end`
      : `create or replace function stop() returns trigger language plpgsql as $$ begin raise 'no'; end $$;
         create trigger guard before update on ${table} for each row execute function stop()`
  await typed(look, raising)
  return () => typed(look, kind.name === 'sqlite' ? 'drop trigger guard' : `drop trigger guard on ${table}`)
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

/** Of customers, whatever a test changes, and of lists beside it. `to`: the way to its server. */
async function begun(kind: Kind, sandbox: Sandbox, names = lists, to = async (url: string) => url) {
  sandbox.reset()
  sandbox.store.addTenant({ id: 1 })
  const put = (name: string, id: number): void =>
    sandbox.store.put(1, name, { ...template(name, id, at(id * 600)), nick: `n${id}` })
  sandbox.store.tenant(1).strings.set('customer_payment_types', ['Cash'])
  for (const name of names) if (name !== 'customer_payment_types') for (const id of [1, 2]) put(name, id)
  const address = await kind.viewed()
  const desk = new Desk(sandbox, { ...address, url: await to(address.url) }, names)
  await desk.done('sync')
  return { put, desk, look: await reopen(address) }
}
type World = Awaited<ReturnType<typeof begun>>

interface Checked {
  readonly checks: readonly { readonly what: string; readonly ok: boolean; readonly hint: string | null }[]
}
const found = (checked: Ended) => checked.json<Checked>().checks.filter(({ ok }) => !ok)
const of = (ended: Ended, name: string) =>
  ended.json<RunReport>().cursors.find(({ resource }) => resource === name)

const keptBack = { status: 'failed', completeness: 'unproven', reason: 'not_migrated', requests: 0 }
const nick = { columns: { nick: 'text' } }
const nickAndHistory = { ...nick, history: true }
const ofCustomers = (customers: object, more: object = {}) => ({ resources: { customers }, ...more })
const key = Buffer.alloc(32, 3).toString('base64')
const pseudonymous = ofCustomers(nickAndHistory, { privacy: { preset: 'pseudonymous', key } })

/** A change of customers that somebody prevents: `check` foretells it, and a sync does everything else. */
async function prevented(
  { desk, look, put }: World,
  id: number,
  table: string,
  hint: RegExp,
  afterCheck = async () => {},
) {
  for (const name of lists) put(name, id)
  const checked = await desk.run('check --json')
  await afterCheck()
  expect([checked.code, found(checked)]).toMatchObject([
    1,
    [{ what: `table ${table}`, hint: expect.stringMatching(hint) }],
  ])
  const kept = await desk.run('sync --json')
  expect([kept.code, of(kept, 'notes')]).toMatchObject([1, { status: 'ok', rows_upserted: 1 }])
  expect(await rowsOf(look, 'customers')).toHaveLength(id - 1)
  return of(kept, 'customers')
}

/** When nobody does any more, it is made up for. */
async function madeUp({ desk, look }: World, id: number) {
  expect((await desk.done('sync --json')).json()).toMatchObject({ status: 'ok' })
  expect(await rowsOf(look, 'customers')).toHaveLength(id)
}

describe.each(bothWarehouses())('$name', (kind) => {
  const names = [...lists, 'repair_orders', 'customer_payment_types']
  let world: World
  beforeAll(async () => {
    world = await begun(kind, ofFile, names)
  })
  afterAll(() => world.look.close())

  it('check finds nothing wrong with what an older version lacks in tables whose rows have no stamp', async () => {
    const { desk, look } = world
    await typed(look, `drop table report_clocks ${kind.name === 'postgres' ? 'cascade' : ''}`)
    expect(found(await desk.run('check --json'))).toEqual([])
    await desk.done('sync')
  })

  it('check tries nothing while a run is at work', async () => {
    const { desk, look } = world
    const remove = await addTrigger(kind, look, 'customers')
    const lease = await claimLease(look, { runId: 'another', command: 'sync', leaseMs: 60_000 })
    desk.set(ofCustomers({ history: true }))
    expect(found(await desk.run('check --json'))).toEqual([])
    await lease.release()
    await remove()
  })

  it('what reads goes on for every other table, and says what is kept back', async () => {
    const { desk } = world
    desk.set(ofCustomers(nick))
    const verified = await desk.run('verify --json')
    expect([verified.code, of(verified, 'customers'), of(verified, 'notes')]).toMatchObject([
      1,
      {
        status: 'failed',
        reason: 'not_migrated',
        error: expect.stringMatching(/add column nick text.*shopsync migrate/i),
      },
      { status: 'equal' },
    ])
    await desk.done('why notes 1')
    expect(await desk.run('why customers 1')).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/add column nick text/i),
    })
    const counted = await desk.run('forget --tenant 1 --customer 1 --dry-run --json')
    const unseen = [{ table: 'customers', reason: 'not_migrated', rows: null }]
    expect([counted.code, counted.json()]).toMatchObject([
      1,
      { not_looked_at: expect.arrayContaining(unseen) },
    ])
    desk.set()
  })

  it('a column that somebody made another keeps back its lists alone', async () => {
    const { desk, look } = world
    // Those of a line at once: a run makes the views again, which takes longer than the rest.
    const changed: [column: string, kept: string[]][][] = [
      [
        ['customers.city', ['customers']],
        ['repair_order_parts.brand', ['repair_orders']],
      ],
      [['repair_order_totals.customer_source', ['repair_orders']]],
      [['integrator_tags.value', ['customers', 'notes', 'repair_orders']]],
    ]
    // Whose lists a table has doesn't depend on the database.
    for (const columns of warehouses().includes(kind) ? changed : someOf(2, changed)) {
      await dropViews(look)
      for (const [table = '', column] of columns.map(([name]) => name.split('.'))) {
        await typed(look, `alter table ${table} rename column ${column} to kept_aside_${column}`)
        const another = kind.name === 'sqlite' ? 'BLOB' : 'bytea'
        await typed(look, `alter table ${table} add column ${column} ${another}`)
      }
      const run = await desk.run('sync --json')
      const kept = columns.flatMap(([, all]) => all)
      expect([columns, run.code]).toEqual([columns, 1])
      for (const one of names)
        expect(of(run, one)).toMatchObject(kept.includes(one) ? keptBack : { status: 'ok' })
      await dropViews(look)
      for (const [, [one = '']] of columns)
        await typed(
          look,
          /type: (alter table [^;.]*(?:\.[^;.]*)?)\. Then/.exec(of(run, one)?.error ?? '')?.[1] ?? '',
        )
      await desk.done('sync')
    }
    await desk.done('verify')
  })

  it('a program that stays up sees what others have changed since', async () => {
    const { look } = world
    await dropViews(look)
    await typed(look, 'alter table notes rename column description to kept_aside')
    await typed(look, `alter table notes add column description ${kind.name === 'sqlite' ? 'BLOB' : 'bytea'}`)
    await migrate(look)
    expect(look.interfered.unchanged(['notes'])?.message).toContain('notes.description is')
    await typed(look, 'alter table notes rename column description to theirs')
    await lookAgain(look)
    expect(look.interfered.unchanged(['notes'])?.message).toMatch(/add column description text/i)
    await typed(look, 'alter table notes rename column kept_aside to description')
    await lookAgain(look)
    expect(look.interfered.unchanged(['notes'])).toBeUndefined()
  })

  it("a change on a table whose trigger raises keeps back its lists alone, and no view of others; check finds it before, and somebody's view nothing", async () => {
    const { desk, look } = world
    const emails = async () => (await rowsOf(look, 'customers')).map(({ email }) => email)
    const structure = async () => [await look.dialect.catalog.liveColumns(), await contents(look)]
    const store = look.dialect.views()
    const views = ['dim_customers', 'purchases']
    const made = async () => {
      const live = await store.live((query) => look.db.executeQuery(query))
      return views.filter((view) => live.has(view))
    }
    await typed(look, 'create view theirs as select * from customers')
    await desk.done('migrate')
    const stored = await emails()
    let id = 2
    const names = { report: { names: { customers: ['email'] } } }
    const changes: [what: string, settings: object][] = [
      ['a promoted column', ofCustomers(nick)],
      ['a history', ofCustomers(nickAndHistory)],
      ['other names', ofCustomers(nickAndHistory, names)],
      ['stricter privacy', pseudonymous],
    ]
    // What a change would write doesn't depend on the database; below, a lock keeps it back on Postgres, a history, too.
    for (const [what, settings] of warehouses().includes(kind) ? changes : someOf(4, changes)) {
      if (what === 'a history' && !isWhole()) continue
      // Their names and what is hidden of them is in the view.
      const isShaped = ['other names', 'stricter privacy'].includes(what)
      id++
      desk.set(settings)
      const remove = await addTrigger(kind, look, 'customers')
      for (const view of views) await typed(look, `drop view ${store.relation(view)}`)
      const before = await structure()
      // The column can be added: its list is read, and can't be stored.
      const failed = { status: 'failed', completeness: 'unproven', reason: 'warehouse' }
      const unchanged = async () => expect(await structure(), what).toEqual(before)
      const customers = await prevented(world, id, 'customers', /drop trigger guard/, unchanged)
      expect(customers, what).toMatchObject({
        ...(what === 'a promoted column' ? failed : keptBack),
        error: expect.stringContaining('guard'),
      })
      expect(await made(), what).toEqual(isShaped ? ['purchases'] : expect.arrayContaining(['purchases']))
      await remove()
      await madeUp(world, id)
      if (isShaped) await desk.done('migrate')
      expect(await made(), what).toEqual(views)
      for (const email of stored) expect((await emails()).includes(email)).toBe(what !== 'stricter privacy')
    }
  })

  it('a warehouse of 0.2.0 is upgraded but for one table, whose lists wait', async () => {
    ofFile.reset()
    fillAsThen(ofFile)
    const address = await keptWarehouse(kind)
    const look = await reopen(address)
    await look.write([look.db.updateTable('sync_source').set({ base_url: ofFile.url }).compile()])
    const remove = await addTrigger(kind, look, 'customers')
    const desk = new Desk(ofFile, address, ['customers', 'notes', 'shops'])
    const kept = await desk.run('sync --json')
    const failed = kept.json<RunReport>().cursors.filter(({ status }) => status === 'failed')
    const reasons = failed.map(({ resource, reason }) => `${resource} ${reason}`)
    expect([kept.code, new Set(reasons)]).toEqual([1, new Set(['customers not_migrated'])])
    await remove()
    expect((await desk.done('sync --json')).json()).toMatchObject({ status: 'ok' })
    await look.close()
  })
})

describe.each(bothWarehouses().filter(({ name }) => name === 'postgres'))('$name', (kind) => {
  it('a change on a table that an idle transaction holds keeps back its lists alone, and stores no row in the former form', async () => {
    const world = await begun(kind, ofFile, lists, impatient)
    const { desk, look } = world
    let id = 2
    for (const [what, name, settings] of [
      ['a history', 'customers', ofCustomers({ history: true })],
      ['a promoted column of ended versions', 'customers_history', ofCustomers(nickAndHistory)],
      ['stricter privacy', 'customers', pseudonymous],
    ] as const) {
      id++
      desk.set(settings)
      const table = `shopsync.${name}`
      const lock = settings === pseudonymous ? `lock table ${table} in share mode` : `select 1 from ${table}`
      const holder = /pid \d+\) holds a lock on it/
      await idle(look, lock, async () => {
        const error = expect.stringMatching(holder)
        expect(await prevented(world, id, name, holder), what).toMatchObject({ ...keptBack, error })
      })
      await madeUp(world, id)
    }
    await look.close()
  })

  it('what was refused to a shard lets the others work, and is made once it can be', async () => {
    const { desk, look, put } = await begun(kind, ofFile)
    const remove = await addTrigger(kind, look, 'customers')
    desk.set(pseudonymous)
    // Tenant 1 is of one of the two.
    const first = [await desk.run('sync --shard 1/2 --json'), await desk.run('sync --shard 2/2 --json')]
    const mine = first.findIndex((run) => of(run, 'customers') !== undefined)
    const shard = () => desk.run(`sync --shard ${mine + 1}/2 --json`)
    expect(of(first[mine]!, 'customers')).toMatchObject(keptBack)
    const claimed = async () =>
      (await rowsOf(look, 'sync_lease')).find(({ name }) => name === 'run')?.claimed_at
    const before = await claimed()
    put('notes', 3)
    const kept = await shard()
    expect(of(kept, 'customers')).toMatchObject({ ...keptBack, error: expect.stringContaining('guard') })
    expect(of(kept, 'notes')).toMatchObject({ status: 'ok', rows_upserted: 1 })
    // Nobody else had to end for it.
    expect(await claimed()).toEqual(before)
    await remove()
    expect((await shard()).json()).toMatchObject({ status: 'ok' })
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
