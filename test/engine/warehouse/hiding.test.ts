/** What `privacy` hides is nowhere: not in a table, not in the database's files, not in what the program prints. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { sql } from 'kysely'
import { describe, expect, it } from 'vitest'
import { resources } from '../../../schema/index.js'
import type { Shape } from '../../../schema/resource.js'
import { shopsync } from '../../support/harness/call.js'
import { type Address, configure } from '../../support/harness/place.js'
import { sandboxOfFile } from '../../support/harness/sandbox.js'
import { scratch } from '../../support/harness/scratch.js'
import { sized } from '../../support/harness/size.js'
import { bothWarehouses, reopen } from '../../support/harness/warehouse.js'
import { everything, preset, writePrivacy as write } from '../../support/world/hidden.js'

/** The texts of records: those that the preset hides, and all others. */
function collect(
  value: unknown,
  fields: Shape | undefined,
  { isHidden = false, isRestHidden }: { isHidden?: boolean; isRestHidden: boolean },
): void {
  if (typeof value === 'string')
    (isHidden || value.startsWith('a marker') ? hidden : kept).add(value.replace('\ud800', ''))
  else if (Array.isArray(value)) for (const item of value) collect(item, fields, { isHidden, isRestHidden })
  else if (typeof value === 'object' && value !== null)
    for (const [name, part] of Object.entries(value)) {
      const member = fields?.[name]
      const personal = member?.type === 'field' ? member.personal : undefined
      const below = member && 'fields' in member ? member.fields : undefined
      const isOwn = member ? personal !== undefined && personal.preset !== 'keep' : isRestHidden
      collect(part, below, { isHidden: isHidden || isOwn, isRestHidden })
    }
}

const sandbox = await sandboxOfFile({ tenants: sized(1, 2), repairOrders: sized(8, 12), seed: 11 })
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
const [hidden, kept] = [new Set<string>(), new Set<string>()]
for (const resource of Object.values(resources))
  for (const tenantId of sandbox.tenantIds)
    for (const record of sandbox.store.all(tenantId, resource.name))
      collect(record, resource.fields, { isRestHidden: resource.undeclared?.preset === 'drop' })

/** Long enough not to occur by chance, and nowhere in what may be stored. */
const inKept = [...kept].join('\n')
const texts = [...hidden].filter((text) => text.length > 7 && !inKept.includes(text))

/** A number for the four characters that begin there. */
const bucketAt = (all: string, at: number): number =>
  (all.charCodeAt(at) * 29_791 +
    all.charCodeAt(at + 1) * 961 +
    all.charCodeAt(at + 2) * 31 +
    all.charCodeAt(at + 3)) &
  0xfffff
/**
 * The texts by each four of their first seven characters: of thousands of texts that are looked for in tens of megabytes,
 * every fourth character finds the ones that may be there.
 */
const buckets = new Map<number, { readonly text: string; readonly from: number }[]>()
for (const text of texts)
  for (let from = 0; from < 4; from++) {
    const bucket = bucketAt(text, from)
    buckets.set(bucket, [...(buckets.get(bucket) ?? []), { text, from }])
  }
const isBegun = new Uint8Array(0x100000)
for (const bucket of buckets.keys()) isBegun[bucket] = 1

/** Those of the texts that occur in it. */
function textsIn(all: string): string[] {
  const found = new Set<string>()
  for (let at = 0; at + 4 <= all.length; at += 4) {
    const bucket = bucketAt(all, at)
    if (isBegun[bucket] === 0) continue
    for (const { text, from } of buckets.get(bucket) ?? [])
      if (all.startsWith(text, at - from)) found.add(text)
  }
  return [...found]
}

async function done(config: string, ...words: string[]): Promise<void> {
  const { code, stderr } = await shopsync([...words, '--config', config])
  expect(code, stderr).toBe(0)
}

describe.each(bothWarehouses())('$name', (kind) => {
  const leaks = async (address: Address): Promise<string[]> => {
    return textsIn(await everything(address))
  }

  it('a warehouse loaded with the preset contains no hidden text, verifies, and no command prints one', async () => {
    const address = await kind.viewed()
    const config = configure(sandbox, address, [])
    const out = scratch()
    write(config, preset, { metrics: { textfile: join(out, 'shopsync.prom') } })
    const synced = await shopsync(['sync', '--log-level', 'trace', '--config', config])
    expect(synced.code, synced.stderr).toBe(0)
    expect(texts.length).toBeGreaterThan(100)
    expect(texts.filter((text) => text.startsWith('a marker')).length).toBe(16)
    expect(await leaks(address)).toEqual([])
    expect(textsIn(synced.stdout + synced.stderr)).toEqual([])
    expect(synced.stdout + synced.stderr).not.toContain(unlisted)
    const verified = await shopsync(['verify', '--config', config])
    expect(verified.code, verified.stdout).toBe(0)
    const warehouse = await reopen(address)
    const [row] = await warehouse.db
      .selectFrom('customers')
      .select(['first_name', 'email', '_extra'])
      .where('email', '!=', '')
      .limit(1)
      .execute()
    const customers = sql.table(kind.name === 'sqlite' ? 'orders' : `${address.schema}_analytics.orders`)
    const names = await sql<{ id: number; name: string | null }>`select distinct customer_id as id,
      customer_name as name from ${customers} where customer_id is not null`.execute(warehouse.db)
    await warehouse.close()
    expect(row?.first_name).toMatch(/^h1:[\w-]{22}$/)
    expect(row?._extra).toBeNull()
    expect(names.rows.length).toBeGreaterThan(5)
    for (const { id, name } of names.rows) expect(name).toBe(`customer ${id}`)
    const printed: string[] = []
    const commands = [
      ...[['check'], ['migrate'], ['grants'], ['quarantine', 'list'], ['quarantine', 'replay']],
      ...[
        ['why', 'customers', `${odd?.id}`],
        ['verify', '--json'],
        ['sync', '--full'],
      ],
      ['report', '--operations', '--out', join(out, 'operations.html')],
      ['report', '--out', join(out, 'report.html')],
      ['copy', '--tenant', `${tenant}`, '--personal', '--to', `sqlite:${join(out, 'part.db')}`],
    ]
    // What these print doesn't depend on the kind of database.
    const others = [
      ...[
        ['status'],
        ['status', '--json'],
        ['plan'],
        ['runs'],
        ['snapshot'],
        ['events', 'list'],
        ['dictionary'],
      ],
      ...[
        ['quarantine', 'list', '--json'],
        ['why', 'customers', `${odd?.id}`, '--json'],
        ['jobs', 'list'],
      ],
      ...[
        ['backfill', '--from', '2000-01-01', '--to', '2100-01-01'],
        ...sized([], [['reconcile', '--full']]),
      ],
    ]
    for (const words of [...commands, ...(kind.name === 'sqlite' ? others : [])]) {
      const { stdout, stderr } = await shopsync([...words, '--log-level', 'trace', '--config', config])
      printed.push(`${words.join(' ')}\n${stdout}${stderr}`)
    }
    for (const file of readdirSync(out)) printed.push(`${file}\n${readFileSync(join(out, file), 'latin1')}`)
    expect(readdirSync(out).sort()).toEqual(['operations.html', 'part.db', 'report.html', 'shopsync.prom'])
    for (const text of printed)
      expect([text.split('\n', 1)[0], textsIn(text)]).toEqual([expect.anything(), []])
    expect(await leaks(address)).toEqual([])
  })

  it('what was stored before is hidden by the next command that writes, without a request for it', async () => {
    const address = await kind.viewed()
    const config = configure(sandbox, address, [])
    write(config, {}, { resources: { customers: { history: true }, repair_orders: { history: true } } })
    await done(config, 'sync')
    // The planner of Postgres keeps the most common values, and some of those between them.
    const analyzing = await reopen(address)
    await sql`analyze`.execute(analyzing.db)
    await analyzing.close()
    expect((await leaks(address)).length).toBeGreaterThan(100)
    write(config, preset)
    const planned = await shopsync(['plan', '--config', config])
    expect(planned.stdout).toContain('customers: hide the stored values of first_name')
    expect(planned.stdout).not.toMatch(/_history|\w\.\w+_\w+\.\w/)
    const migrated = await shopsync(['migrate', '--config', config])
    expect(migrated.code, migrated.stderr).toBe(0)
    expect(await leaks(address)).toEqual([])
    const verified = await shopsync(['verify', '--config', config])
    expect(verified.code, verified.stdout).toBe(0)
    write(config, {})
    const refused = await shopsync(['sync', '--config', config])
    expect(refused.code).toBe(2)
    expect(refused.stderr).toContain('migrate --loosen-privacy')
    expect(refused.stderr).toMatch(/hides appointments\.\w+, (\w+\.\w+, ){5}\w+\.\w+ and \d+ more, and this/)
    expect(refused.stderr).not.toContain('_history')
    const loosened = await shopsync(['migrate', '--loosen-privacy', '--config', config])
    expect(loosened.code, loosened.stderr).toBe(0)
    expect(loosened.stdout).toMatch(
      /first_name may be stored again: the next sync reads customers whole; .*, \d+ deleted rows? among them/,
    )
    expect((await shopsync(['status', '--config', config])).stdout).toContain('because privacy hides less')
    await done(config, 'sync')
    expect((await leaks(address)).length).toBeGreaterThan(100)
  })

  it('what a version with a laxer rule left in quarantine and drift is hidden, once', async () => {
    const address = await kind.viewed()
    const config = configure(sandbox, address, [])
    write(config, preset)
    await done(config, 'sync')
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
      const { stdout } = await shopsync([...words.split(' '), '--config', config])
      expect([stdout.length > 99, textsIn(stdout)]).toEqual([true, []])
    }
    await done(config, 'report', '--operations', '--out', page)
    expect(textsIn(readFileSync(page, 'latin1'))).toEqual([])
    expect((await shopsync(['status', '--config', config])).stdout).toContain(
      'Stored values are not hidden yet in sync_quarantine.value.',
    )
    const migrated = await shopsync(['migrate', '--config', config])
    expect(migrated.stdout + migrated.stderr).toContain('sync_quarantine')
    expect(await leaks(address)).toEqual([])
    const again = await shopsync(['migrate', '--config', config])
    expect(again.stdout + again.stderr).not.toContain('sync_quarantine')
  })

  it('another key is refused under the same version, and replaces all pseudonyms under the next', async () => {
    const address = await kind.viewed()
    const config = configure(sandbox, address, [])
    write(config, preset)
    await done(config, 'sync')
    const other = Buffer.alloc(32, 8).toString('base64')
    const before = await reopen(address)
    // Nothing lists it any more, so no reading replaces its pseudonym.
    await sql`insert into ${sql.table(kind.name === 'sqlite' ? 'customers' : `${address.schema}.customers`)}
      (tenant_id, id, last_name, updated_at, _synced_at) values (${tenant}, 987654, ${`h1:${'a'.repeat(22)}`},
      '2026-01-01T00:00:00.000000Z', '2026-01-01T00:00:00.000000Z')`.execute(before.db)
    await before.close()
    write(config, { ...preset, key: other })
    const refused = await shopsync(['sync', '--config', config])
    expect(refused.code).toBe(2)
    expect(refused.stderr).toContain('keyVersion to 2')
    write(config, { ...preset, key: other, keyVersion: 2 })
    await done(config, 'sync')
    await done(config, 'sync')
    const warehouse = await reopen(address)
    const older = await warehouse.db
      .selectFrom('customers')
      .select('id')
      .where('last_name', 'like', 'h1:%')
      .execute()
    const states = await warehouse.db.selectFrom('sync_privacy').select(['state']).distinct().execute()
    await warehouse.close()
    expect(older).toEqual([])
    expect(states).toEqual([{ state: 'hidden' }])
  })
})
