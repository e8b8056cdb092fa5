/** A copy of some tenants has their rows and nothing of any other. */
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import BetterSqlite3 from 'better-sqlite3'
import pg from 'pg'
import { describe, expect, it } from 'vitest'
import { shopsync } from '../../support/harness/call.js'
import { type Address, configure } from '../../support/harness/place.js'
import { sandboxOfFile } from '../../support/harness/sandbox.js'
import { scratch } from '../../support/harness/scratch.js'
import { bothWarehouses, type Kind, reopen, rowsOf } from '../../support/harness/warehouse.js'

const sandbox = await sandboxOfFile({ tenants: 2, repairOrders: 12, seed: 9 })
const [first = 0, second = 0] = sandbox.tenantIds

// Something for quarantine, which no part has.
const [odd] = sandbox.store.all(first, 'customers')
sandbox.store.change(first, 'customers', Number(odd?.id), { email: { text: 'no text' } })

const resources = ['customers', 'staffs', 'repair_orders', 'payments', 'shops', 'notes', 'vehicles']

/** By table: each row with its key, so that rows of two warehouses are compared one by one. */
async function rowsIn(address: Address): Promise<Map<string, Map<string, Record<string, unknown>>>> {
  const warehouse = await reopen(address)
  const all = new Map<string, Map<string, Record<string, unknown>>>()
  for (const { name, key } of warehouse.model.tables)
    all.set(
      name,
      new Map(
        (await rowsOf(warehouse, name)).map((row) => [
          key.map((column) => String(row[column])).join(' '),
          row,
        ]),
      ),
    )
  await warehouse.close()
  return all
}

/** Texts of the second tenant's customers that the first one's records don't have. */
const namesOf = (tenant: number): string[] =>
  sandbox.store.all(tenant, 'customers').flatMap(({ email, address }) => [String(email), String(address)])
const others = namesOf(second).filter((text) => text.length > 8 && !namesOf(first).includes(text))
const own = namesOf(first).filter((text) => text.length > 8)

/** Everything that a database's catalog says of its tables, columns, indexes, views and triggers: the name of each, and its text. */
const catalogs: Record<Kind['name'], (address: Address) => Promise<Record<string, string>>> = {
  sqlite: async ({ url }) => {
    const db = new BetterSqlite3(url.slice('sqlite:'.length), { readonly: true })
    const rows = db.prepare(`select type, name, coalesce(sql, '') as text from sqlite_master`)
    const found = rows.all() as { type: string; name: string; text: string }[]
    const known = new Set(db.prepare('select tbl from sqlite_stat1').pluck().all())
    // Nobody needs statistics of a few rows of state, or of none.
    const lacks = (table: string): boolean =>
      !/^s(ync|qlite)_/.test(table) &&
      !known.has(table) &&
      db.prepare(`select 1 from ${table}`).get() !== undefined
    const all = found.map(({ type, name, text }) => [
      `${type} ${name}`,
      `${text}${type === 'table' && lacks(name) ? ', without statistics' : ''}`,
    ])
    db.close()
    return Object.fromEntries(all)
  },
  postgres: async ({ url, schema }) => {
    const client = new pg.Client({ connectionString: url })
    await client.connect()
    const { rows } = await client.query<{ name: string; text: string }>(
      `with ours as (select c.*, obj_description(c.oid, 'pg_class') as doc, replace(n.nspname, $1, 'S') as place
          from pg_class c join pg_namespace n on n.oid = relnamespace where nspname in ($1, $1 || '_analytics'))
        select concat_ws(' ', relkind, place, relname) as name, concat(doc, case relkind
          when 'i' then pg_get_indexdef(oid) when 'v' then pg_get_viewdef(oid) else (reltuples < 0)::text end) as text from ours
        union all select concat_ws(' ', 'column', place, relname, attname, attnum), concat_ws(' ', atttypid::regtype, attnotnull,
          col_description(attrelid, attnum)) from pg_attribute join ours on oid = attrelid where attnum > 0
        union all select concat_ws(' ', 'trigger', place, relname, tgname), pg_get_triggerdef(t.oid)
          from pg_trigger t join ours on ours.oid = tgrelid`,
      [schema],
    )
    await client.end()
    return Object.fromEntries(rows.map(({ name, text }) => [name, text.replaceAll(schema, 'S')]))
  },
}

describe.each(bothWarehouses())('$name', (kind) => {
  it('a part has every table, column, index, view and trigger of a whole, as the first sync made them', async () => {
    const { name } = kind
    const source = kind.address()
    const config = configure(sandbox, source, resources)
    expect((await shopsync(['sync', '--config', config])).code).toBe(0)
    const catalog = catalogs[name]
    const expected = await catalog(source)
    expect(Object.keys(expected).length).toBeGreaterThan(100)
    for (const part of [[], ['--tenant', String(first)]]) {
      const to = name === 'sqlite' ? kind.address() : { url: source.url, schema: kind.address().schema }
      const schema = name === 'sqlite' ? [] : ['--to-schema', to.schema]
      const copied = await shopsync(['copy', ...part, '--to', to.url, ...schema, '--config', config])
      expect(copied.code, copied.stderr).toBe(0)
      if (part.length === 0)
        expect((await shopsync(['migrate', '--config', configure(sandbox, to, resources)])).code).toBe(0)
      expect(await catalog(to), part.join()).toEqual(expected)
    }
  })

  it('the copies of all tenants have the rows of the warehouse, and nobody else’s', async () => {
    const address = await kind.viewed()
    const config = configure(sandbox, address, resources)
    expect((await shopsync(['sync', '--config', config])).code).toBe(0)
    const whole = await rowsIn(address)
    const folder = scratch()
    const counts = new Map<string, number>()
    for (const [tenant, more] of [
      [first, ['--personal']],
      [second, []],
    ] as const) {
      const file = join(folder, `${tenant}.db`)
      const copied = await shopsync([
        ...['copy', '--tenant', String(tenant), '--to', `sqlite:${file}`, ...more, '--config', config],
      ])
      expect(copied.code, copied.stderr).toBe(0)
      expect(existsSync(`${file}.part`)).toBe(false)
      expect(copied.stdout).toContain(`${file} is a copy of a part of `)
      expect(copied.stdout).not.toContain('shopsync migrate')
      expect(statSync(file).mode & 0o777).toBe(0o600)
      const db = new BetterSqlite3(file, { readonly: true })
      for (const table of resources) {
        const row = db.prepare(`select count(*) as n from ${table}`).get() as { n: number }
        counts.set(table, (counts.get(table) ?? 0) + row.n)
      }
      expect(db.prepare('select distinct tenant_id as t from orders').all()).toEqual([{ t: tenant }])
      const states = db.prepare(
        `select name from sqlite_master where type = 'table' and (name like 'sync\\_%' escape '\\' or name like '%\\_history' escape '\\')`,
      )
      const filled = (states.all() as { name: string }[]).filter(
        ({ name }) => db.prepare(`select 1 from ${name} limit 1`).get() !== undefined,
      )
      expect(filled.map(({ name }) => name).sort()).toEqual([
        ...['sync_cursors', 'sync_derived', 'sync_lease', 'sync_meta'],
      ])
      for (const [table, rows] of await rowsIn({ url: `sqlite:${file}`, schema: '' })) {
        const theirs = [...(whole.get(table) ?? [])].filter(([, row]) => row['tenant_id'] === tenant)
        expect([...rows.keys()].sort(), table).toEqual(theirs.map(([key]) => key).sort())
        for (const [key, row] of theirs)
          for (const [column, value] of Object.entries(row)) {
            const copy = rows.get(key)?.[column]
            const isEqual = isDeepStrictEqual(copy, value)
            if (!isEqual && (tenant === first || copy !== null))
              expect([table, column, copy]).toEqual([table, column, value])
          }
      }
      const bytes = readFileSync(file, 'latin1')
      db.close()
      if (tenant === first) {
        expect(others.filter((text) => bytes.includes(text))).toEqual([])
        expect(own.filter((text) => bytes.includes(text)).length).toBeGreaterThan(10)
      } else expect([...own, ...others].filter((text) => bytes.includes(text))).toEqual([])
    }
    const all = new Map(
      resources.map((name) => [
        name,
        sandbox.store.all(first, name).length + sandbox.store.all(second, name).length,
      ]),
    )
    expect(counts).toEqual(all)
  })
})

it('a copy that cannot begin leaves no file behind', async () => {
  const folder = scratch()
  const config = configure(sandbox, { url: `sqlite:${folder}/none.db`, schema: '' }, resources)
  for (const part of [[], ['--tenant', String(first)]]) {
    const copied = await shopsync(['copy', ...part, '--to', `sqlite:${folder}/copy.db`, '--config', config])
    expect([copied.code, readdirSync(folder)]).toEqual([2, []])
  }
})

it('views of a copy within the database of the original leave those of the original alone', async () => {
  const original = await bothWarehouses()
    .find(({ name }) => name === 'postgres')
    ?.viewed()
  if (original === undefined) return
  const { url } = original
  const config = configure(sandbox, original, resources, { report: { schema: 'figures' } })
  expect((await shopsync(['sync', '--config', config])).code).toBe(0)
  const words = ['copy', '--tenant', String(first), '--to', url, '--to-schema', 'a_part']
  const copied = await shopsync([...words, '--config', config])
  expect(copied.code, copied.stderr).toBe(0)
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  const tenantsIn = async (schema: string) =>
    (await client.query(`select distinct tenant_id::text from ${schema}.orders`)).rows.length
  expect([await tenantsIn('figures'), await tenantsIn('a_part_analytics')]).toEqual([2, 1])
  await client.end()
})
