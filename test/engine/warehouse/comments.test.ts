import { sql } from 'kysely'
import { expect, it } from 'vitest'
import { bothWarehouses, open } from '../../support/harness/warehouse.js'

const [, postgres] = bothWarehouses()

it('a migration writes every text of the dictionary', async () => {
  const warehouse = await open(postgres!)
  const { db, tables } = warehouse
  const { rows } = await sql<{ place: string; doc: string | null }>`
    select c.relname || '.' || a.attname as place, col_description(c.oid, a.attnum) as doc
    from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0
    where c.relnamespace = 'shopsync'::regnamespace and c.relkind = 'r'
    union all
    select c.relname || '.*', obj_description(c.oid)
    from pg_class c where c.relnamespace = 'shopsync'::regnamespace and c.relkind = 'r'`.execute(db)
  const declared = tables.flatMap(({ name, doc, grain, columns }) => [
    [`${name}.*`, `${doc} Grain: ${grain}.`],
    ...columns.map((column) => [`${name}.${column.name}`, column.doc]),
  ])
  expect(Object.fromEntries(rows.map(({ place, doc }) => [place, doc]))).toEqual(Object.fromEntries(declared))
  await warehouse.close()
})
