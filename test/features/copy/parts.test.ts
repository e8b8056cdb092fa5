/** A copy of some tenants has their rows and nothing of any other. */
import { existsSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import BetterSqlite3 from 'better-sqlite3'
import { sql } from 'kysely'
import { beforeAll, describe, expect, it } from 'vitest'
import { askServer } from '../../support/harness/databases.js'
import { Desk } from '../../support/harness/desk.js'
import type { Address } from '../../support/harness/place.js'
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
    const rows = await askServer<{ name: string; text: string }>(
      url,
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
    return Object.fromEntries(rows.map(({ name, text }) => [name, text.replaceAll(schema, 'S')]))
  },
}

describe.each(bothWarehouses())('$name', (kind) => {
  let desk: Desk
  beforeAll(async () => {
    // As the first sync makes it.
    desk = new Desk(sandbox, kind.address(), resources)
    await desk.done('sync')
  })

  it('a part has every table, column, index, view and trigger of a whole, as the first sync made them', async () => {
    const { address } = desk
    const catalog = catalogs[kind.name]
    const expected = await catalog(address)
    expect(Object.keys(expected).length).toBeGreaterThan(100)
    for (const part of ['', ` --tenant ${first}`]) {
      const to = kind.name === 'sqlite' ? kind.address() : { ...kind.address(), url: address.url }
      const schema = kind.name === 'sqlite' ? [] : ['--to-schema', to.schema]
      await desk.done(`copy${part}`, '--to', to.url, ...schema)
      if (part === '') await new Desk(sandbox, to, resources).done('migrate')
      expect(await catalog(to), part).toEqual(expected)
    }
  })

  it('the copies of all tenants have the rows of the warehouse, and nobody else’s', async () => {
    const whole = await rowsIn(desk.address)
    const folder = scratch()
    for (const tenant of [first, second]) {
      const file = join(folder, `${tenant}.db`)
      const personal = tenant === first ? ['--personal'] : []
      await desk.done(`copy --tenant ${tenant} --to`, `sqlite:${file}`, ...personal)
      expect(existsSync(`${file}.part`)).toBe(false)
      expect(statSync(file).mode & 0o777).toBe(0o600)
      const db = new BetterSqlite3(file, { readonly: true })
      const ask = (query: string) => db.prepare(query).pluck().all() as string[]
      expect(ask('select distinct tenant_id from orders')).toEqual([tenant])
      const states = ask(
        `select name from sqlite_master where type = 'table' and (name like 'sync\\_%' escape '\\' or name like '%\\_history' escape '\\')`,
      )
      const filled = states.filter((name) => ask(`select 1 from ${name} limit 1`).length > 0)
      expect(filled.sort()).toEqual(['sync_cursors', 'sync_derived', 'sync_lease', 'sync_meta'])
      db.close()
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
      const [ours, theirs] = [own, others].map((all) => all.filter((text) => bytes.includes(text)).length)
      expect([Number(ours) > 10, theirs]).toEqual([tenant === first, 0])
    }
    for (const name of resources)
      expect(whole.get(name)?.size).toBe(
        sandbox.store.all(first, name).length + sandbox.store.all(second, name).length,
      )
  })

  it.runIf(kind.name === 'postgres')(
    'views of a copy within the database of the original leave those of the original alone',
    async () => {
      const { url } = desk.address
      desk.set({ report: { schema: 'figures' } })
      await desk.done('migrate')
      await desk.done(`copy --tenant ${first} --to`, url, '--to-schema', 'a_part')
      desk.set()
      const tenantsIn = async (schema: string) =>
        desk.look(
          async ({ db }) =>
            (await sql.raw(`select distinct tenant_id from ${schema}.orders`).execute(db)).rows,
        )
      expect([await tenantsIn('figures'), await tenantsIn('a_part_analytics')]).toMatchObject([
        { length: 2 },
        { length: 1 },
      ])
    },
  )
})
