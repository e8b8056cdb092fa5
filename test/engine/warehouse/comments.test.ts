import { sql } from 'kysely'
import { expect, it } from 'vitest'
import { bothWarehouses, migrate, reopen } from '../../support/harness/warehouse.js'
import { sessionOf, through } from '../../support/world/through.js'

const [, postgres] = bothWarehouses()

it('a migration writes every text of the dictionary, one statement a table', async () => {
  const address = postgres!.address()
  const warehouse = await reopen(address)
  const sent: string[] = []
  const counting = through(warehouse, {
    transaction: (work) =>
      warehouse.dialect.transaction((session) =>
        work(
          sessionOf(session, {
            run: (query) => {
              sent.push(query.sql)
              return session.run(query)
            },
          }),
        ),
      ),
  })
  await migrate(counting)
  expect(sent.filter((text) => text.includes('comment on'))).toHaveLength(warehouse.tables.length)

  const { rows } = await sql<{ table: string; column: string | null; doc: string | null }>`
    select c.relname as table, a.attname as column, col_description(c.oid, a.attnum) as doc
    from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0
    where c.relnamespace = ${address.schema}::regnamespace and c.relkind = 'r'
    union all
    select c.relname, null, obj_description(c.oid)
    from pg_class c where c.relnamespace = ${address.schema}::regnamespace and c.relkind = 'r'`.execute(
    warehouse.db,
  )
  const key = (table: string, column: string | null): string => `${table}.${column ?? '*'}`
  const found = Object.fromEntries(rows.map(({ table, column, doc }) => [key(table, column), doc]))
  const declared = warehouse.tables.flatMap(({ name, doc, grain, columns }) => [
    [key(name, null), `${doc} Grain: ${grain}.`],
    ...columns.map((column) => [key(name, column.name), column.doc]),
  ])
  expect(found).toEqual(Object.fromEntries(declared))
  await warehouse.close()
})
