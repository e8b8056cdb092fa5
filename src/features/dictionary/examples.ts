/**
 * Example queries, made from a table's declaration. They join on the tenant as well and leave out deleted rows, because
 * people forget those two things. The same text runs on every kind of warehouse.
 */

import type { DictionaryColumn, DictionaryExample, DictionaryJoin, DictionaryTable } from './dictionary.js'
import { namingColumn } from './joins.js'

type Queried = Omit<DictionaryTable, 'examples'>
type Tables = ReadonlyMap<string, Queried>

/** A configured column may have any name, and one of ours is a word of SQL. */
const named = (name: string): string =>
  /^(?!(?:table|column|limit)$)[a-z_][a-z0-9_]*$/.test(name) ? name : `"${name.replaceAll('"', '""')}"`

const of = (table: string, column: string): string => `${named(table)}.${named(column)}`

/** The columns filled by the source, without keys, references and stamps. */
const telling = ({ columns, key }: Queried): DictionaryColumn[] =>
  columns.filter(
    ({ name, references, kind }) =>
      !key.includes(name) &&
      !references &&
      kind !== 'json' &&
      !/^_|^(tenant_id|position|(created|updated)_at)$/.test(name),
  )

/** The column by which people recognize a row; undefined if the API documentation shows none. */
const labelOf = (table: Queried): string | undefined =>
  telling(table).find(
    ({ name, values }) => !values && /(^|_)(name|number|title|description|text)$/.test(name),
  )?.name

/** A table joined in an example, under an alias that tells which of several references it follows. */
interface Joined {
  readonly alias: string
  readonly target: Queried
  readonly join: DictionaryJoin
}

const joinedBy = (table: Queried, tables: Tables): Joined[] =>
  table.joins.flatMap((join) => {
    const target = tables.get(join.table)
    return target ? [{ alias: namingColumn(join).replace(/_(id|key)$/, ''), target, join }] : []
  })

const joinClause = (table: Queried, { alias, target, join }: Joined, how: string): string => {
  const pairs = join.columns.map((column, i) => `${of(alias, join.to[i] ?? '')} = ${of(table.name, column)}`)
  return `${how} ${named(target.name)} as ${named(alias)} on ${pairs.join(' and ')}`
}

/** Rows of nested arrays stay when their owner is deleted, so the owner decides which of them are live. */
function liveness(table: Queried, joined: readonly Joined[]): { owner?: Joined; where: string[] } {
  const has = ({ columns }: Queried): boolean => columns.some(({ name }) => name === '_deleted_at')
  if (has(table)) return { where: [`where ${of(table.name, '_deleted_at')} is null`] }
  const owner =
    table.part === 'child'
      ? joined.find(({ target }) => target.name === table.resource && has(target))
      : undefined
  return owner ? { owner, where: [`where ${of(owner.alias, '_deleted_at')} is null`] } : { where: [] }
}

const clauses = (lines: readonly string[]): string => lines.filter((line) => line !== '').join('\n')

/** Every order ends with the key: otherwise rows of the same instant come in any order. */
function orderOf({ name, key, columns, part }: Queried): string {
  const newest = part === 'state' ? columns.find(({ kind }) => kind === 'timestamp') : undefined
  const version = columns.find((column) => column.name === 'updated_at' && !column.nullable) ?? newest
  const byKey = key.map((column) => of(name, column))
  return (version ? [`${of(name, version.name)} desc`, ...byKey] : byKey).join(', ')
}

/** Ten rows, with names from the tables they refer to. */
function rowsExample(table: Queried, tables: Tables): DictionaryExample {
  const all = joinedBy(table, tables)
  const { owner, where } = liveness(table, all)
  const labelled = all.filter((joined) => labelOf(joined.target) !== undefined).slice(0, 3)
  const used = owner && !labelled.includes(owner) ? [owner, ...labelled.slice(0, 2)] : labelled
  const labels = used.flatMap(({ alias, target }) => {
    const label = labelOf(target)
    return label === undefined ? [] : [`${of(alias, label)} as ${named(`${alias}_${label}`)}`]
  })
  const own = telling(table).slice(0, 4)
  const columns = [...table.key, ...own.map(({ name }) => name)].map((column) => of(table.name, column))
  return {
    title:
      table.part === 'child'
        ? `Ten live ${table.resource.replaceAll('_', ' ')}`
        : labels.length > 0
          ? 'The ten newest, with names'
          : 'Ten rows',
    sql: clauses([
      `select ${[...columns, ...labels].join(',\n  ')}`,
      `from ${named(table.name)}`,
      ...used.map((joined) => joinClause(table, joined, joined === owner ? 'join' : 'left join')),
      ...where,
      `order by ${orderOf(table)}`,
      'limit 10',
    ]),
  }
}

/** The longest enumeration that gets one line per value. */
const fewValues = 12

/** How many rows there are for each value of an enumeration, and their total amount of money. */
function countsExample(table: Queried, tables: Tables): DictionaryExample[] {
  const by = table.columns.find(({ values }) => values !== undefined && values.length <= fewValues)
  if (by === undefined || table.part === 'state') return []
  const { owner, where } = liveness(table, joinedBy(table, tables))
  const groups = [of(table.name, 'tenant_id'), of(table.name, by.name)]
  const money = table.columns.filter(({ name }) => name === 'amount_cents')
  const sums = money.map(({ name }) => `sum(${of(table.name, name)}) as ${named(name)}`)
  const sql = clauses([
    `select ${[...groups, 'count(*) as how_many', ...sums].join(', ')}`,
    `from ${named(table.name)}`,
    owner ? joinClause(table, owner, 'join') : '',
    ...where,
    `group by ${groups.join(', ')}`,
    // By default, nulls come first in SQLite and last in Postgres.
    `order by ${groups.join(', ')} nulls last`,
  ])
  return [{ title: `Number by ${by.name.replaceAll('_', ' ')}`, sql }]
}

export const examplesOf = (table: Queried, tables: Tables): DictionaryExample[] => [
  rowsExample(table, tables),
  ...countsExample(table, tables),
]
