/** What `privacy` hides is nowhere: not in a table, not in the database's files, not in what the program prints. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import BetterSqlite3 from 'better-sqlite3'
import { sql } from 'kysely'
import { describe, expect, it } from 'vitest'
import { resources } from '../../../schema/index.js'
import type { Shape } from '../../../schema/resource.js'
import { Desk } from '../../support/harness/desk.js'
import type { Address } from '../../support/harness/place.js'
import { sandboxOfFile } from '../../support/harness/sandbox.js'
import { scratch } from '../../support/harness/scratch.js'
import { sized, someOf } from '../../support/harness/size.js'
import { bothWarehouses, type Kind, reopen, warehouses } from '../../support/harness/warehouse.js'
import { everything, preset } from '../../support/world/hidden.js'

let marks = 0
/** The same record, in which every text that the preset hides can be recognized. */
function marked(
  value: unknown,
  fields: Shape | undefined,
  isHidden: boolean,
  isRestHidden: boolean,
): unknown {
  if (typeof value === 'string') return isHidden ? `a marker ${++marks}` : value
  if (Array.isArray(value)) return value.map((item) => marked(item, fields, isHidden, isRestHidden))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, part]) => {
      const member = fields?.[name]
      const personal = member?.type === 'field' ? member.personal : undefined
      const isOwn = member ? personal !== undefined && personal.preset !== 'keep' : isRestHidden
      const below = member && 'fields' in member ? member.fields : undefined
      return [name, marked(part, below, isHidden || isOwn, isRestHidden)]
    }),
  )
}

const sandbox = await sandboxOfFile({ tenants: sized(1, 2), repairOrders: sized(6, 12), seed: 11 })
for (const { name, fields, list, undeclared } of Object.values(resources))
  for (const tenantId of list === 'records' ? sandbox.tenantIds : [])
    for (const record of sandbox.store.all(tenantId, name)) {
      // What tells a record apart, and when it changed, is no text of somebody.
      const { id, created_at, updated_at, ...rest } = record
      const told = marked(rest, fields, false, undeclared?.preset === 'drop') as object
      sandbox.store.put(tenantId, name, { ...told, id, created_at, updated_at } as never)
    }
const [tenant = 0] = sandbox.tenantIds
const [odd, other, listed] = sandbox.store.all(tenant, 'customers')
const order = sandbox.store.all(tenant, 'repair_orders').find(({ services }) => Array.isArray(services))
const [service, ...services] = (order?.['services'] ?? []) as object[]
/** What goes to quarantine, and what the document doesn't show. */
sandbox.store.change(tenant, 'customers', Number(odd?.id), {
  email: { text: 'a marker for quarantine' },
  loyalty: { level: 'a marker for drift' },
  // Of columns that the preset keeps, too, quarantine has nothing but what is short and of their kind.
  state: { code: 'a marker in an object' },
  marketing_ok: 'a marker where a boolean belongs',
  shop_ids: 'a marker where an array belongs',
  phones: [{ country_code: ['a marker in an array'] }, 'a marker where an object belongs'],
})
sandbox.store.change(tenant, 'customers', Number(other?.id), {
  shop_ids: ['a marker in a set'],
  state: `a marker that is long ${'and longer '.repeat(9)}\ud800`,
})
/** Its column has it, as it was sent. Logs don't. */
const unlisted = 'a state that is not in the list'
sandbox.store.change(tenant, 'customers', Number(listed?.id), { state: unlisted })
sandbox.store.change(tenant, 'repair_orders', Number(order?.id), {
  due_in_at: 'a marker where an instant belongs',
  number: { value: 'a marker where a number belongs' },
  services: [
    {
      ...service,
      title: ['a marker in a title'],
      parts: 'a marker where parts belong',
      labors: [{ name: 'a marker in labor without an id', hours: 1 }],
      sublets: [{ id: 1, cost_cents: 'a marker where cents belong', invoice_date: 'a marker of a date' }],
    },
    ...services,
  ],
})

const marksIn = (text: string): string[] => [...new Set(text.match(/a marker [\w ]{1,30}/g))]
const leaks = async (address: Address): Promise<string[]> => marksIn(await everything(address))

/** A warehouse that was synced with this `privacy`. */
async function begun(kind: Kind, privacy: object, more: object = {}): Promise<Desk> {
  const desk = new Desk(sandbox, await kind.viewed(), 'all')
  desk.set({ ...more, privacy })
  await desk.done('sync')
  return desk
}

describe.each(bothWarehouses())('$name', (kind) => {
  it('what was stored before is hidden by the next command that writes; what is read then contains no hidden text, and no command prints one', async () => {
    const textfile = join(scratch(), 'shopsync.prom')
    const more = {
      metrics: { textfile },
      resources: { customers: { history: true }, repair_orders: { history: true } },
    }
    const desk = await begun(kind, {}, more)
    const { address } = desk
    // The planner of Postgres keeps the most common values, and some of those between them.
    const look = await reopen(address)
    await sql`analyze`.execute(look.db)
    expect((await leaks(address)).length).toBeGreaterThan(100)
    desk.set({ ...more, privacy: preset })
    expect((await desk.done('plan')).stdout).not.toMatch(/_history|\w\.\w+_\w+\.\w/)
    // What only reads shows it as it will be.
    expect(marksIn((await desk.run(`why customers ${listed?.id} --json`)).stdout)).toEqual([])
    await desk.done('migrate')
    expect(await leaks(address)).toEqual([])
    const synced = await desk.done('sync --full --log-level trace')
    expect(await leaks(address)).toEqual([])
    expect(marksIn(synced.stdout + synced.stderr)).toEqual([])
    expect(synced.stdout + synced.stderr).not.toContain(unlisted)
    await desk.done('verify')
    const orders = sql.table(kind.name === 'sqlite' ? 'orders' : `${address.schema}_analytics.orders`)
    const { rows } = await sql<{ id: number; name: string | null }>`select distinct customer_id as id,
      customer_name as name from ${orders} where customer_id is not null`.execute(look.db)
    expect(rows.length).toBeGreaterThan(2)
    for (const { id, name } of rows) expect(name).toBe(`customer ${id}`)
    await look.close()
    // What asks the source; all else reads the warehouse, which has none. Most prints the same on both kinds.
    const commands = ['check', 'quarantine replay', `why customers ${odd?.id}`, 'verify --json']
    const others = ['plan', `why customers ${odd?.id} --json`, 'backfill --from 2000-01-01 --to 2100-01-01']
    const every = [...commands, ...(kind.name === 'sqlite' ? others : []), ...sized([], ['reconcile --full'])]
    for (const words of every) {
      const { stdout, stderr } = await desk.run(`${words} --log-level trace`)
      expect([words, marksIn(stdout + stderr)]).toEqual([words, []])
    }
    expect(marksIn(readFileSync(textfile, 'latin1'))).toEqual([])
    expect(await leaks(address)).toEqual([])
  })

  it('what a version with a laxer rule left in quarantine and drift is hidden, once', async () => {
    const desk = await begun(kind, preset)
    const { address } = desk
    const left = ['a marker in an object', 'a marker in a set']
    const older = await reopen(address)
    const schema = kind.name === 'sqlite' ? sql`` : sql`${sql.id(address.schema)}.`
    await sql`update ${schema}sync_quarantine set reason = 'not a text', value = ${JSON.stringify({ code: left[0] })}
      where resource = 'customers' and path = 'state' and record_id = ${`${odd?.id}`}`.execute(older.db)
    await sql`insert into ${schema}sync_drift (resource, path, kind, detail, example) values
      ('customers', 'shop_ids[]', 'replaced_character', '', ${JSON.stringify(left[1])})`.execute(older.db)
    await sql`delete from ${schema}sync_privacy where "table" = 'sync_quarantine'`.execute(older.db)
    await sql`analyze`.execute(older.db)
    await older.close()
    expect(await leaks(address)).toEqual(left)
    const page = join(scratch(), 'operations.html')
    for (const words of ['quarantine list --json', `why customers ${odd?.id} --json`]) {
      const { stdout } = await desk.run(words)
      expect([stdout.length > 99, marksIn(stdout)]).toEqual([true, []])
    }
    await desk.done('report --operations --out', page)
    expect(marksIn(readFileSync(page, 'latin1'))).toEqual([])
    const status = (await desk.run('status')).stdout
    expect(status).toContain('Stored values are not hidden yet in sync_quarantine.value.')
    const migrated = await desk.done('migrate')
    expect(migrated.stdout + migrated.stderr).toContain('sync_quarantine')
    expect(await leaks(address)).toEqual([])
    const again = await desk.done('migrate')
    expect(again.stdout + again.stderr).not.toContain('sync_quarantine')
  })

  it.runIf(kind.name === 'sqlite')(
    'traces that a reading program keeps in the files are told, and migrate erases them when it has ended',
    async () => {
      const desk = await begun(kind, {})
      const { address } = desk
      const status = async () => (await desk.run('status')).stdout
      const reading = new BetterSqlite3(address.url.replace('sqlite:', ''), { readonly: true })
      reading.exec('begin')
      reading.prepare('select count(*) from customers').get()
      desk.set({ privacy: preset })
      expect((await desk.done('migrate')).stderr).toContain('Traces remain in')
      expect(await leaks(address)).not.toEqual([])
      const told = "The database's files may still contain values from before"
      expect(await status()).toContain(told)
      // A sync is not kept waiting by it, and doesn't call it done.
      await desk.done('sync')
      expect(await status()).toContain(told)
      reading.close()
      await desk.done('migrate')
      expect(await leaks(address)).toEqual([])
      expect(await status()).not.toContain(told)
    },
  )
})

/** What is above the dialects. */
describe.each(warehouses())('$name', (kind) => {
  it('verdicts and comparisons are the same with the policy and without it', async () => {
    const [plain, hidden] = [await begun(kind, {}), await begun(kind, preset)]
    /** What a command says of each list. */
    async function cursors(desk: Desk, words: string): Promise<unknown> {
      const { code, stdout } = await desk.run(`${words} --json`)
      const document = JSON.parse(stdout, (name, value: unknown) =>
        /^(run_id|.*_at|.*seconds?|.*_ms|requests|since|age|warehouse|url|file|lateness)$/.test(name)
          ? undefined
          : value,
      ) as Record<string, unknown>
      const lists = Object.values(document)
        .filter((value): value is object[] => Array.isArray(value))
        .map((all) => all.map((row) => JSON.stringify(row)).sort())
      return { code, lists, status: document['status'], reason: document['reason'] }
    }
    const ids = sandbox.store.ids(tenant, 'customers')
    sandbox.store.remove(tenant, 'customers', ids.find((id) => Number(id) !== Number(odd?.id)) ?? 0)
    const every = ['sync', 'verify', 'reconcile', 'sync --full', 'reconcile --full', 'verify --full']
    for (const words of someOf(2, every))
      expect(await cursors(hidden, words), words).toEqual(await cursors(plain, words))
    const last = sandbox.store.ids(tenant, 'customers').at(-1) ?? 0
    const name = `another name, for ${kind.name}`
    sandbox.store.change(tenant, 'customers', last, { first_name: name })
    const why = `why customers ${last}`
    expect((await plain.run(why)).stdout).toContain(name)
    const told = (await hidden.run(why)).stdout
    expect(told).toMatch(/first_name: differs$/m)
    expect(told).not.toContain('another name')
  })
})
