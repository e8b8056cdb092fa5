/** A role that may do what runs need, and not everything: what it lacks, and which rows it may not see, is told. */
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import pg from 'pg'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { resources as schemaResources } from '../../../schema/index.js'
import { template } from '../../../src/sandbox/index.js'
import { onServer } from '../../support/harness/databases.js'
import { Desk } from '../../support/harness/desk.js'
import { model } from '../../support/harness/model.js'
import type { Address } from '../../support/harness/place.js'
import { type CursorReport, type RunReport, sync } from '../../support/harness/runs.js'
import { sandboxOfFile } from '../../support/harness/sandbox.js'
import { scratch } from '../../support/harness/scratch.js'
import {
  bothWarehouses,
  type Kind,
  migrate,
  reopen,
  rowsOf,
  type Warehouse,
} from '../../support/harness/warehouse.js'

const [postgres] = bothWarehouses().filter(({ name }) => name === 'postgres') as [Kind]
const resources = ['notes', 'customers', 'vehicles']
const all = [...resources, 'shops', 'repair_orders']
const secret = 'Gallifrey Falls No More'
const at = (second: number): string => `2026-03-01T00:00:${String(second).padStart(2, '0')}.000000Z`

const sandbox = await sandboxOfFile()
sandbox.store.addTenant({ id: 1 })
const put = (resource: string, id: number, second: number, more: Record<string, unknown> = {}): void =>
  sandbox.store.put(1, resource, { ...template(resource, id, at(second)), ...more })

for (const resource of all) for (const id of [1, 2, 3]) put(resource, id, id)

const of = (report: RunReport, resource: string): CursorReport | undefined =>
  report.cursors.find((cursor) => cursor.resource === resource)

/** A role that may do what runs need, on every table that exists. Returns its address and its name. */
async function runRole({ url, schema }: Address): Promise<{ readonly url: string; readonly role: string }> {
  const role = `runner_${randomBytes(4).toString('hex')}`
  await onServer(
    url,
    `create role ${role} login`,
    `grant usage on schema ${schema} to ${role}`,
    `grant select, insert, update, delete on all tables in schema ${schema} to ${role}`,
  )
  const address = new URL(url)
  address.username = role
  return { url: address.href, role }
}

/** Each test gives the warehouse back as it was. */
describe(postgres.name, () => {
  let address: Address
  let runner: Awaited<ReturnType<typeof runRole>>
  let warehouse: Warehouse
  let second = 3
  /** SHOP is the schema, and ROLE the role. */
  const type = (...statements: string[]) => {
    const named = (text: string) => text.replaceAll('SHOP', address.schema).replaceAll('ROLE', runner.role)
    return onServer(address.url, ...statements.map(named))
  }
  /** Of the role, which may not create tables. */
  const deskOf = (lists: readonly string[]): Desk => {
    const desk = new Desk(sandbox, { ...address, url: runner.url }, lists)
    desk.set({ warehouse: { ...desk.address, autoMigrate: false } })
    return desk
  }
  beforeAll(async () => {
    address = await postgres.migrated()
    runner = await runRole(address)
    warehouse = await reopen({ ...address, url: runner.url })
    await sync(sandbox, warehouse, { resources: all })
  })
  afterAll(() => warehouse.close())
  // A new version of each record.
  beforeEach(() => {
    second++
    for (const resource of all)
      for (const id of [1, 2, 3])
        put(resource, id, second, resource === 'notes' ? { description: secret } : {})
  })

  /** What the owner changes, and takes back; the lists that fail then, and what they say. All others go on. */
  const changes: [what: string, change: string, back: string, failing: string[], told: RegExp][] = [
    [
      'that lacks a right on one table gets the grant to type',
      'revoke insert on SHOP.notes from ROLE',
      'grant insert on SHOP.notes to ROLE',
      ['notes'],
      /grant select, insert, update, delete on shopsync\.notes to runner_/,
    ],
    [
      'from which rows are hidden is told so',
      'alter table SHOP.notes enable row level security',
      'alter table SHOP.notes disable row level security',
      ['notes'],
      /row-level security.*alter table shopsync\.notes disable row level security/,
    ],
  ]
  it.each(changes)('%s', async (_what, change, back, failing, told) => {
    await type(change)
    const { cursors } = await sync(sandbox, warehouse, { resources: all })
    await type(back)
    for (const { resource, status, reason, error } of cursors)
      expect([resource, status, reason, error]).toEqual(
        failing.includes(resource)
          ? [resource, 'failed', 'warehouse', expect.stringMatching(told)]
          : [resource, 'ok', null, null],
      )
  })

  it('fails only the lists that a policy that errs concerns', async () => {
    await type(
      'alter table SHOP.shops enable row level security',
      'create policy errs on SHOP.shops using (1 / (id - id) = 1)',
    )
    const synced = await deskOf(all).run('sync --json')
    await type('drop policy errs on SHOP.shops', 'alter table SHOP.shops disable row level security')
    expect(synced.code, synced.stdout + synced.stderr).toBe(1)
    // What follows from orders needs the zones of the shops.
    for (const resource of ['shops', 'repair_orders'])
      expect(of(synced.json(), resource)).toMatchObject({
        status: 'failed',
        reason: 'warehouse',
        error: expect.stringMatching(/shops \(22012\).*row-level security/),
      })
    for (const resource of resources) expect(of(synced.json(), resource)).toMatchObject({ status: 'ok' })
  })

  it('compares nothing of which rows may be hidden', async () => {
    await sync(sandbox, warehouse, { resources })
    await type(
      'alter table SHOP.notes enable row level security',
      'create policy partly on SHOP.notes using (id > 1)',
    )
    // What is hidden is gone at the source, too: without a look at the policy, both sides would be equal.
    sandbox.store.remove(1, 'notes', 1)
    const desk = deskOf(resources)
    const refused = async (...words: [string, ...string[]]): Promise<void> => {
      const { code, stdout, stderr } = await desk.run(...words)
      expect(code, stdout).toBe(1)
      expect(stdout + stderr).toMatch(/may hide rows of notes.*disable row level security/s)
      expect(stdout).not.toMatch(/1 missing|erased/)
    }
    await refused('verify')
    await refused('reconcile')
    await refused('copy --to', `sqlite:${join(scratch(), 'copy.db')}`)
    await type('create policy shopsync on SHOP.notes to ROLE using (true)')
    await desk.done('reconcile --accept-deletes')
    await type('drop policy shopsync on SHOP.notes')
    await refused('forget --tenant 1 --yes')
    // A refused command marks nobody.
    expect((await desk.run('forget --tenant 1 --lift')).code).toBe(2)
    await type('drop policy partly on SHOP.notes', 'alter table SHOP.notes disable row level security')
  })

  it('that may not write the state of runs ends the run', async () => {
    await type('revoke insert, update on SHOP.sync_cursors from ROLE')
    const ended = await sync(sandbox, warehouse, { resources }).catch((error: unknown) => error)
    await type('grant insert, update on SHOP.sync_cursors to ROLE')
    expect(ended).toMatchObject({
      name: 'Stop',
      exitCode: 3,
      message: expect.stringContaining('sync_cursors, which every run needs'),
      hint: expect.stringContaining(`on ${address.schema}.sync_cursors to ${runner.role}`),
    })
  })

  it('is told by check what is wrong with which table', async () => {
    await type(
      'revoke update, delete on SHOP.notes from ROLE',
      'alter table SHOP.vehicles enable row level security',
      `create function SHOP.any() returns trigger language plpgsql as 'begin return new; end'`,
      'create trigger stamps before insert on SHOP.customers for each row execute function SHOP.any()',
      'alter table SHOP.appointments rename to appointments_before',
      'create view SHOP.appointments as select * from SHOP.appointments_before',
    )
    const desk = new Desk(sandbox, { ...address, url: runner.url }, resources)
    const { code, stdout, json } = await desk.run('check --json')
    await type(
      'drop view SHOP.appointments; alter table SHOP.appointments_before rename to appointments',
      'drop trigger stamps on SHOP.customers; drop function SHOP.any()',
      'alter table SHOP.vehicles disable row level security',
      'grant update, delete on SHOP.notes to ROLE',
    )
    const { checks } = json<{ checks: { what: string; ok: boolean; found: string }[] }>()
    for (const one of [
      { what: 'table notes', ok: false, found: `found ${runner.role} lacks the right to update, delete` },
      { what: 'table vehicles', ok: false, found: expect.stringContaining('row-level security') },
      { what: 'table customers', ok: true, found: 'found the trigger stamps' },
    ])
      expect(checks).toContainEqual(expect.objectContaining(one))
    expect(stdout).toContain('found a view in place of the table')
    // The role may not create tables either, which is what runs do unless they are told not to.
    expect(code).toBe(3)
  })

  /** What on notes calls a function `?`: it takes nothing, or it is a trigger's. `bound`: by way of one that looks nothing up. */
  const calling: [what: string, returns: string, made: string][] = [
    ['trigger t0 on', 'trigger', 'create trigger t0 before insert on notes for each row execute function ?'],
    [
      'trigger t1 on',
      'boolean',
      'create trigger t1 before insert on notes for each row when (?) execute function suppress_redundant_updates_trigger()',
    ],
    ['column c2 of', 'boolean', 'alter table notes add column c2 boolean default ?'],
    ['column c3 of', 'bound', 'alter table notes add column c3 boolean generated always as (?) stored'],
    ['constraint c4 on', 'bound', 'alter table notes add constraint c4 check (?)'],
    ['.i5', 'boolean', 'create index i5 on notes (id) where ?'],
    ['policy p6 on', 'boolean', 'create policy p6 on notes using (?)'],
    ['rule r7 on', 'boolean', 'create rule r7 as on delete to notes do also select ?'],
    ['type ', 'boolean', 'create domain d8 as text check (?); alter table notes add column c8 d8'],
    ['.s9', 'boolean', 'create statistics s9 on id, (?) from notes'],
    ['event trigger ', 'event_trigger', 'create event trigger SCHEMA on sql_drop execute function ?'],
  ]

  it('is told by check whose functions have no path of their own', async () => {
    const { schema } = address
    await type(
      `set search_path = ${schema}, pg_catalog`,
      ...calling.flatMap(([, returns, made], i) => [
        `create function f${i}() returns ${returns === 'bound' ? 'boolean' : returns} language plpgsql immutable
           as $$ begin return ${returns === 'event_trigger' ? '' : 'null'}; end $$`,
        `create function bound${i}() returns boolean language sql immutable
           ${returns === 'bound' ? `begin atomic select f${i}(); end` : 'return true'}`,
        made.replace('?', `${returns === 'bound' ? 'bound' : 'f'}${i}()`).replace('SCHEMA', schema),
      ]),
    )
    const desk = new Desk(sandbox, address, resources)
    const check = async () => {
      const ended = await desk.run('check --json')
      const { checks } = ended.json<{ checks: { what: string; found: string; hint: string }[] }>()
      return checks.filter(({ found }) => found.includes(', which calls '))
    }
    const found = await check()
    const settled = calling.map(
      (_, i) => `alter function ${schema}.f${i}() set search_path = pg_catalog, ${schema}, pg_temp`,
    )
    for (const [i, [what, returns]] of calling.entries())
      expect(found).toContainEqual(
        expect.objectContaining({
          what: returns === 'event_trigger' ? 'database' : 'table notes',
          found: expect.stringMatching(new RegExp(`${what}.*, which calls ${schema}\\.f${i}\\(\\)$`)),
          hint: expect.stringContaining(settled[i] ?? ''),
        }),
      )
    expect(found).toHaveLength(calling.length)
    await type(...settled)
    expect(await check()).toEqual([])
    await type(`drop event trigger ${schema}`)
  })

  it('that may not change one table changes it once it may', async () => {
    const address = await postgres.migrated()
    const { url, role } = await runRole(address)
    const tables = `select quote_ident(tablename) as name from pg_tables where schemaname = '${address.schema}'`
    const own = (which: string, owner: string): string =>
      `do $$ declare t record; begin for t in ${tables} and ${which} loop
         execute 'alter table ${address.schema}.' || t.name || ' owner to ${owner}'; end loop; end $$`
    await onServer(
      address.url,
      `grant all on schema ${address.schema} to ${role}`,
      own("tablename <> 'vehicles'", role),
    )
    const vins = [1, 2, 3].map((id) => `VIN ${id}`)
    for (const id of [1, 2, 3]) put('vehicles', id, id, { vin: `VIN ${id}` })
    const before = await reopen({ ...address, url })
    await sync(sandbox, before, { resources })
    await before.close()

    const known = model(schemaResources, { vehicles: { columns: { vin: 'text' } } })
    const warehouse = await reopen({ ...address, url }, known)
    const next = async (): Promise<RunReport> => {
      await migrate(warehouse)
      return sync(sandbox, warehouse, { resources, known })
    }
    const refused = await next()
    expect(of(refused, 'vehicles')).toMatchObject({
      status: 'failed',
      error: expect.stringMatching(/must be owner.*as the owner of the table/),
    })
    for (const resource of ['notes', 'customers'])
      expect(of(refused, resource)).toMatchObject({ status: 'ok' })
    await onServer(address.url, own("tablename = 'vehicles'", role))
    const changed = await next()
    expect(changed.status).toBe('ok')
    expect((await rowsOf(warehouse, 'vehicles')).map(({ vin }) => vin).toSorted()).toEqual(vins)
    // What is new, and then the list for its new column.
    expect(of(changed, 'vehicles')?.requests).toBe(2)
    await warehouse.close()
  })

  it('forget does not wait for those who read its tables', async () => {
    const desk = new Desk(sandbox, await postgres.viewed(), resources)
    const { url, schema } = desk.address
    await desk.done('sync')
    const reader = new pg.Client(url)
    await reader.connect()
    await reader.query(`begin; select from ${schema}.notes`)
    // A vacuum that waits for a table that becomes empty does so for five seconds.
    await onServer(url, `alter database ${new URL(url).pathname.slice(1)} set statement_timeout = '4s'`)
    expect((await desk.done('forget --tenant 1 --yes')).stderr).toBe('')
    // A session that works on the table itself does, and the server's refusal is told as one.
    await reader.query(`lock table ${schema}.notes in share update exclusive mode`)
    const held = await desk.run('forget --tenant 1 --yes')
    expect([held.code, held.stderr]).toEqual([1, expect.stringContaining('statement_timeout')])
    await reader.end()
  })
})
