/**
 * A change that a run makes first, on a table that the database doesn't let be changed: the lists whose rows go there wait,
 * with the reason and what to type, and every other list goes on.
 */
import { sql } from 'kysely'
import { describe, expect, it } from 'vitest'
import { fromMicros } from '../../../src/engine/base/timestamp.js'
import { template } from '../../../src/sandbox/index.js'
import { shopsync } from '../../support/harness/call.js'
import { type Address, configure } from '../../support/harness/place.js'
import type { RunReport } from '../../support/harness/runs.js'
import { sandboxOfFile } from '../../support/harness/sandbox.js'
import {
  bothWarehouses,
  contents,
  type Kind,
  lookAgain,
  migrate,
  reopen,
  rowsOf,
  type Warehouse,
} from '../../support/harness/warehouse.js'
import { writePrivacy } from '../../support/world/hidden.js'
import { fillAsThen, keptWarehouse } from '../../support/world/upgrades.js'

const key = Buffer.alloc(32, 3).toString('base64')
const lists = ['customers', 'notes']
const at = (n: number): string => new Date(Date.parse('2026-01-01T00:00:00Z') + n * 60_000).toISOString()

/** What the configuration asks of the table `customers`, or of one below it. */
const changes: readonly [name: string, more: object, privacy?: object][] = [
  ['a promoted column', { resources: { customers: { columns: { nick: 'text' } } } }],
  ['a history', { resources: { customers: { history: true } } }],
  ['stricter privacy', {}, { preset: 'pseudonymous', key }],
]

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
  const stop = `${table.slice(0, table.lastIndexOf('.'))}.stop`
  await type(
    look,
    `create function ${stop}() returns trigger language plpgsql as $$ begin raise 'no'; end $$`,
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

async function begun(
  kind: Kind,
  { names = lists, before = {} }: { names?: readonly string[]; before?: object } = {},
) {
  const sandbox = await sandboxOfFile()
  sandbox.store.addTenant({ id: 1 })
  const put = (name: string, id: number, n = id * 600): void =>
    void sandbox.store.put(1, name, {
      ...template(name, id, at(n)),
      ...(name === 'customers' && { nick: `n${id}` }),
    })
  sandbox.store.tenant(1).strings.set('customer_payment_types', ['Cash'])
  for (const name of names) if (name !== 'customer_payment_types') for (const id of [1, 2]) put(name, id)
  const address: Address = await kind.viewed()
  const call = async (words: readonly string[], more: object = {}, privacy?: object) => {
    const config = configure(sandbox, address, names, more)
    if (privacy) writePrivacy(config, privacy)
    const { code, stdout, stderr } = await shopsync([...words, '--json', '--config', config])
    return { code, stderr, report: JSON.parse(stdout || '{}') as RunReport & CheckReport }
  }
  expect((await call(['sync'], before)).code).toBe(0)
  const look = await reopen(address)
  const of = ({ report }: { report: RunReport }, name: string) =>
    report.cursors.find(({ resource }) => resource === name)
  return { sandbox, put, call, look, of }
}

interface CheckReport {
  readonly checks: readonly { readonly what: string; readonly ok: boolean; readonly hint: string | null }[]
}
const found = ({ report }: { report: CheckReport }) => report.checks.filter(({ ok }) => !ok)

const keptBack = { status: 'failed', completeness: 'unproven', reason: 'not_migrated', requests: 0 }

describe.each(bothWarehouses())('$name', (kind) => {
  it.each(changes)(
    '%s on a table whose trigger raises keeps back its lists alone, and check finds it before',
    async (name, more, privacy) => {
      const { call, look, of, put } = await begun(kind)
      const emails = async () => (await rowsOf(look, 'customers')).map(({ email }) => email)
      const stored = await emails()
      const remove = await addTrigger(kind, look, 'customers')
      const before = [await look.dialect.catalog.liveColumns(), await contents(look)]
      const checked = await call(['check'], more, privacy)
      expect(found(checked)).toMatchObject([
        { what: 'table customers', hint: expect.stringContaining('drop trigger guard') },
      ])
      expect(checked.code).toBe(1)
      expect([await look.dialect.catalog.liveColumns(), await contents(look)]).toEqual(before)
      put('notes', 3, 1800)
      put('customers', 3, 1800)
      const kept = await call(['sync'], more, privacy)
      expect([kept.code, kept.stderr]).toEqual([1, expect.any(String)])
      expect(of(kept, 'notes')).toMatchObject({ status: 'ok', rows_upserted: 1 })
      // The column can be added: its list is read, and can't be stored.
      const failed = { status: 'failed', completeness: 'unproven', reason: 'warehouse' }
      expect(of(kept, 'customers')).toMatchObject({
        ...(name === 'a promoted column' ? failed : keptBack),
        error: expect.stringContaining('guard'),
      })
      expect(await rowsOf(look, 'customers')).toHaveLength(2)
      await remove()
      expect(found(await call(['check'], more, privacy))).toEqual([])
      const next = await call(['sync'], more, privacy)
      expect([next.code, next.report.status]).toEqual([0, 'ok'])
      // What was kept back is made up for.
      for (const email of stored) expect((await emails()).includes(email)).toBe(privacy === undefined)
      await look.close()
    },
    60_000,
  )

  it('check finds nothing wrong with what an older version lacks in tables whose rows have no stamp', async () => {
    const { call, look } = await begun(kind)
    const dependents = kind.name === 'postgres' ? 'cascade' : ''
    await type(look, `drop table ${tableOf(look, 'report_clocks')} ${dependents}`)
    expect(found(await call(['check']))).toEqual([])
    expect((await call(['sync'])).code).toBe(0)
    await look.close()
  })

  it('check tries nothing while a run is at work', async () => {
    const { call, look } = await begun(kind)
    await addTrigger(kind, look, 'customers')
    const held = {
      owner: 'another',
      host: 'elsewhere',
      pid: 1,
      expires_at: fromMicros(BigInt(Date.now() + 50_000) * 1000n),
    }
    await look.write([look.db.updateTable('sync_lease').set(held).compile()])
    expect(found(await call(['check'], { resources: { customers: { history: true } } }))).toEqual([])
    await look.close()
  })

  it('what reads goes on for every other table, and says what is kept back', async () => {
    const { call, look, of } = await begun(kind)
    const [, more] = changes[0] as (typeof changes)[0]
    const verified = await call(['verify'], more)
    expect(verified.code).toBe(1)
    expect(of(verified, 'customers')).toMatchObject({
      ...{ status: 'failed', reason: 'not_migrated' },
      error: expect.stringMatching(/add column nick text.*shopsync migrate/i),
    })
    expect(of(verified, 'notes')).toMatchObject({ status: 'equal' })
    expect(await call(['why', 'notes', '1'], more)).toMatchObject({ code: 0 })
    expect(await call(['why', 'customers', '1'], more)).toMatchObject({
      ...{ code: 1, stderr: expect.stringMatching(/add column nick text/i) },
    })
    const forgetting = await call(['forget', '--tenant', '1', '--customer', '1', '--dry-run'], more)
    expect(forgetting).toMatchObject({
      code: 1,
      report: {
        not_looked_at: expect.arrayContaining([{ table: 'customers', reason: 'not_migrated', rows: null }]),
      },
    })
    await look.close()
  })

  it.each([
    ['customers', 'city', ['customers']],
    ['repair_order_parts', 'brand', ['repair_orders']],
    ['repair_order_totals', 'customer_source', ['repair_orders']],
    ['integrator_tags', 'value', ['customers', 'notes', 'repair_orders']],
  ] as const)(
    'a column of %s that somebody made another keeps back its lists alone',
    async (name, column, kept) => {
      const names = ['customers', 'notes', 'repair_orders', 'customer_payment_types']
      const { call, look, of } = await begun(kind, { names })
      const table = tableOf(look, name)
      await type(
        look,
        `alter table ${table} rename column ${column} to kept_aside`,
        `alter table ${table} add column ${column} ${kind.name === 'sqlite' ? 'BLOB' : 'bytea'}`,
      )
      const run = await call(['sync'])
      expect(run.code).toBe(1)
      const isKept = (one: string): boolean => kept.some((other) => other === one)
      for (const one of names) expect(of(run, one)).toMatchObject(isKept(one) ? keptBack : { status: 'ok' })
      const [first] = kept
      const statement = /type: (alter table [^;.]*(?:\.[^;.]*)?)\. Then/.exec(
        of(run, first)?.error ?? '',
      )?.[1]
      await type(look, statement ?? '')
      expect(await call(['sync'])).toMatchObject({ code: 0 })
      expect(await call(['verify'])).toMatchObject({ code: 0 })
      await look.close()
    },
    60_000,
  )

  it.each([
    ['other names', { report: { names: { customers: ['email'] } } }, undefined],
    ['stricter privacy', {}, { preset: 'pseudonymous', key }],
  ] as const)('%s of a table that is kept back hold up no view of others', async (_, more, privacy) => {
    const { call, look } = await begun(kind)
    const remove = await addTrigger(kind, look, 'customers')
    const store = look.dialect.views()
    const views = ['dim_customers', 'purchases']
    await type(look, ...views.map((view) => `drop view ${store.relation(view)}`))
    const made = async () => {
      const live = await store.live((query) => look.db.executeQuery(query))
      return views.filter((view) => live.has(view))
    }
    for (let times = 0; times < 2; times++) {
      expect((await call(['sync'], more, privacy)).code).toBe(1)
      expect(await made()).toEqual(['purchases'])
    }
    await remove()
    expect((await call(['migrate'], more, privacy)).code).toBe(0)
    expect(await made()).toEqual(views)
    await look.close()
  })

  it("somebody's view over a table keeps nothing back", async () => {
    const { call, look } = await begun(kind)
    const table = tableOf(look, 'customers')
    const schema = table.includes('.') ? `${table.slice(0, table.lastIndexOf('.'))}.` : ''
    await type(look, `create view ${schema}theirs as select * from ${table}`)
    for (const [, more, privacy] of changes) {
      const all = { resources: { customers: { columns: { nick: 'text' }, history: true } } }
      const how = privacy ? all : more
      expect(found(await call(['check'], how, privacy))).toEqual([])
      expect(await call(['sync'], how, privacy)).toMatchObject({ code: 0 })
    }
    await look.close()
  }, 60_000)

  const customers = (now: object) => ({ resources: { customers: now } })
  const history = { history: true }
  it
    .runIf(kind.name === 'postgres')
    .each([
      ...changes.map(([name, more, privacy]) => [name, 'customers', {}, more, privacy] as const),
      [
        'a promoted column of ended versions',
        'customers_history',
        customers(history),
        customers({ ...history, columns: { nick: 'text' } }),
        undefined,
      ] as const,
    ])(
    '%s on a table that an idle transaction holds keeps back its lists alone, and stores no row in the former form',
    async (_, name, before, more, privacy) => {
      const { call, look, of, put } = await begun(kind, { before })
      const table = tableOf(look, name)
      const lock = privacy ? `lock table ${table} in share mode` : `select 1 from ${table}`
      put('customers', 3, 1800)
      await idle(look, lock, async () => {
        const holder = expect.stringMatching(/pid \d+\) holds a lock on it/)
        const checked = await call(['check'], more, privacy)
        expect(found(checked)).toMatchObject([{ what: `table ${name}`, hint: holder }])
        const kept = await call(['sync'], more, privacy)
        expect(kept.code).toBe(1)
        expect(of(kept, 'customers')).toMatchObject({ ...keptBack, error: holder })
        expect(of(kept, 'notes')).toMatchObject({ status: 'ok' })
        expect((await contents(look)).customers).toHaveLength(2)
      })
      expect((await call(['sync'], more, privacy)).code).toBe(0)
      expect((await contents(look)).customers).toHaveLength(3)
      await look.close()
    },
    60_000,
  )

  it.runIf(kind.name === 'postgres')(
    'what was refused to a shard lets the others work, and is made once it can be',
    async () => {
      const { call, look, of, put } = await begun(kind)
      const remove = await addTrigger(kind, look, 'customers')
      const how = [customers(history), { preset: 'pseudonymous', key }] as const
      const shard = (n: number) => call(['sync', '--shard', `${n}/2`], ...how)
      // Tenant 1 is of one of the two.
      const first = [await shard(1), await shard(2)]
      const mine = first.findIndex((run) => of(run, 'customers') !== undefined) + 1
      expect(of(first[mine - 1] as (typeof first)[0], 'customers')).toMatchObject(keptBack)
      const claimed = async () =>
        (await rowsOf(look, 'sync_lease')).find(({ name }) => name === 'run')?.claimed_at
      const before = await claimed()
      put('notes', 3, 1800)
      const kept = await shard(mine)
      expect(of(kept, 'customers')).toMatchObject({ ...keptBack, error: expect.stringContaining('guard') })
      expect(of(kept, 'notes')).toMatchObject({ status: 'ok', rows_upserted: 1 })
      // Nobody else had to end for it.
      expect(await claimed()).toEqual(before)
      await remove()
      expect(await shard(mine)).toMatchObject({ code: 0, report: { status: 'ok' } })
      await look.close()
    },
    60_000,
  )

  it('a program that stays up sees what others have changed since', async () => {
    const { look } = await begun(kind)
    const table = tableOf(look, 'notes')
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
    await look.close()
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
  }, 60_000)
})
