/**
 * What dashboards and BI tools rely on, compared with a stored version: the columns of each table, the dictionary, the keys
 * of the configuration. An intended change shows in the diff of `npx vitest run test/shell/documents.test.ts -u`. The
 * documents of the commands: test/transcripts/documents.txt.
 */
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { shopsync } from '../support/harness/call.js'
import { inLines, Stabilizer } from '../support/harness/stable.js'
import { textOf } from '../support/harness/tree.js'
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
  const { rows } = await sql
    .raw<Column>(text)
    .execute(warehouse.db)
    .finally(() => warehouse.close())
  const lines = rows.map(({ table, name, type, nullable, key }) => {
    const said = [`${table}.${name}`, type, nullable ? '' : 'not null', key > 0 ? `key ${key}` : '']
    return said.filter((one, i) => i < 2 || one !== '').join(' ')
  })
  return `${lines.join('\n')}\n`
}

/** Of a JSON schema, or a part of one. */
interface Schema extends Readonly<Record<string, unknown>> {
  readonly required?: readonly string[]
  readonly properties?: object
  readonly anyOf?: readonly unknown[]
  readonly oneOf?: readonly unknown[]
  readonly allOf?: readonly unknown[]
}

const facts = ['$ref', 'type', 'enum', 'const', 'default', 'format', 'minimum', 'maximum', 'pattern']

/** The keys that a JSON schema allows, one per line, with their types and defaults. */
function settings(schema: unknown, path = ''): string[] {
  if (typeof schema !== 'object' || schema === null) return [`${path}: ${JSON.stringify(schema)}`]
  const { required, properties = {}, items, additionalProperties, ...all } = schema as Schema
  const said = facts.filter((name) => name in all).map((name) => `${name} ${JSON.stringify(all[name])}`)
  if (required) said.push(`requires ${required.join(', ')}`)
  const ways = [...(all.anyOf ?? []), ...(all.oneOf ?? []), ...(all.allOf ?? [])]
  const below: [string, unknown][] = [
    ...Object.entries(properties).map(([key, value]): [string, unknown] => [`.${key}`, value]),
    ['.*', additionalProperties],
    ['[]', items],
    ...ways.map((one, at): [string, unknown] => [`|${at + 1}`, one]),
  ]
  const those = below.filter(([, value]) => value !== undefined)
  return [`${path}: ${said.join(', ')}`, ...those.flatMap(([key, value]) => settings(value, path + key))]
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

test.each(['config', 'job'])('the keys of schema/%s.schema.json', async (name) => {
  const lines = settings(JSON.parse(textOf(`schema/${name}.schema.json`)))
  await expect(`${lines.join('\n')}\n`).toMatchFileSnapshot(stored(`${name}.keys.txt`))
})
