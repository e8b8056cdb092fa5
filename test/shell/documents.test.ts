/**
 * What dashboards and BI tools rely on, compared with a stored version: the columns of each table, and the dictionary. An
 * intended change shows in the diff of `npx vitest run test/shell/documents.test.ts -u`. The keys of the configuration:
 * schema/*.schema.json, which the build writes. The documents of the commands: test/transcripts/documents.txt.
 */
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { shopsync } from '../support/harness/call.js'
import { inLines, Stabilizer } from '../support/harness/stable.js'
import { bothWarehouses, type Kind, reopen } from '../support/harness/warehouse.js'

const stored = (name: string): string => `../fixtures/documents/${name}`

interface Column {
  readonly table: string
  readonly name: string
  readonly type: string
  readonly nullable: unknown
  /** The position in the primary key, from 1; 0 if it isn't part of it. */
  readonly key: number | bigint
}

const columnsIn: Readonly<Record<Kind['name'], string>> = {
  sqlite: `
  select t.name as "table", c.name, c.type, not c."notnull" as nullable, c.pk as key
  from sqlite_master t join pragma_table_info(t.name) c
  where t.type in ('table', 'view') and t.name not like 'sqlite_%' order by t.name, c.cid`,
  postgres: `
  select r.relname as "table", a.attname as name, format_type(a.atttypid, a.atttypmod) as type,
    not a.attnotnull as nullable, coalesce(array_position(k.conkey, a.attnum), 0) as key
  from pg_class r
  join pg_namespace n on n.oid = r.relnamespace
  join pg_attribute a on a.attrelid = r.oid and a.attnum > 0 and not a.attisdropped
  left join pg_constraint k on k.conrelid = r.oid and k.contype = 'p'
  where n.nspname in ('SCHEMA', 'SCHEMA_analytics') and r.relkind in ('r', 'v')
  order by n.nspname, r.relname collate "C", a.attnum`,
}

/** What BI tools see of a warehouse, one line per column: its type, and its position in the key. */
async function tables(kind: Kind): Promise<string> {
  const address = await kind.viewed()
  const warehouse = await reopen(address)
  const text = columnsIn[kind.name].replaceAll('SCHEMA', address.schema)
  const { rows } = await sql.raw<Column>(text).execute(warehouse.db)
  const lines = rows.map(({ table, name, type, nullable, key }) => {
    const said = [`${table}.${name}`, type, nullable ? '' : 'not null', key > 0 ? `key ${key}` : '']
    return said.filter((one, i) => i < 2 || one !== '').join(' ')
  })
  return `${lines.join('\n')}\n`
}

test.each(bothWarehouses())('the columns of each table on $name', async (kind) => {
  await expect(await tables(kind)).toMatchFileSnapshot(stored(`tables.${kind.name}.txt`))
})

test('the dictionary', async () => {
  const words = ['dictionary', '--format', 'json']
  const { code, json } = await shopsync(words)
  const told = { command: words.join(' '), exit_code: code, document: json() }
  const lines = inLines(new Stabilizer().value(told, false))
  await expect(`${lines}\n`).toMatchFileSnapshot(stored('dictionary.json'))
})
