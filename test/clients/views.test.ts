/**
 * Real clients on both warehouses. DuckDB runs the recipe of docs/analytics.md for Parquet files as it is: each view has the same
 * rows in the same types from either, although DuckDB reads the text of SQLite's views as its own SQL. pandas sees the same
 * rows and sums. Both come from pip; if they can't be installed, the suite reports what is missing and is skipped.
 */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { views } from '../../schema/views/index.js'
import { shopsync } from '../support/harness/call.js'
import { blocksOf } from '../support/harness/docs.js'
import { scratch } from '../support/harness/scratch.js'
import { warehouses } from '../support/harness/warehouse.js'
import { businessIn } from '../support/world/business.js'
import { client, here, lackingFor, run } from './environment.js'

/** What parquet.py says of two folders. */
interface Files {
  readonly names: readonly [readonly string[], readonly string[]]
  readonly files: Readonly<
    Record<string, { rows: number; types: [unknown, unknown]; only: [number, number] }>
  >
}
/** What read.py says that pandas saw. */
interface Pandas {
  readonly views: Readonly<
    Record<string, Readonly<Record<'sqlite' | 'postgres', { rows: number; sums: object }>>>
  >
  readonly flags: Readonly<Record<string, { type: string; naive: number; right: number; rows: number }>>
}

const lacking = await lackingFor('DuckDB and pandas')
const names = views.map(({ name }) => name)
/** `changes` and `changes_by_tenant` have the instants of two syncs. */
const compared = names.filter((name) => !name.startsWith('changes'))

describe.skipIf(lacking !== undefined)('every view', () => {
  let duckdb: Files
  let pandas: Pandas

  beforeAll(async () => {
    const recipe =
      blocksOf('docs/analytics.md').find(({ text }) => text.includes('format parquet'))?.text ?? ''
    const [first = '', second = ''] = recipe
      .split('\n')
      .filter((line) => line.includes('kind, place, schema = '))
    const [folders, places]: [string[], string[]] = [[], []]
    for (const kind of warehouses()) {
      const { address, warehouse } = await businessIn(kind)
      const folder = join(scratch(), kind.name)
      mkdirSync(folder)
      const isLite = kind.name === 'sqlite'
      const place = isLite ? address.url.replace('sqlite:', '') : address.url
      const schema = isLite ? 'main' : warehouse.dialect.views().where
      await warehouse.close()
      writeFileSync(
        join(folder, 'dictionary.json'),
        (await shopsync(['dictionary', '--format', 'json'])).stdout,
      )
      const [variables, example] = (isLite ? first : second.replace('# ', '')).split(' = ')
      expect(JSON.parse(`[${example}]`)).toEqual([kind.name, expect.any(String), expect.any(String)])
      const own = `${variables} = ${[kind.name, place, schema].map((word) => JSON.stringify(word)).join(', ')}`
      writeFileSync(join(folder, 'recipe.py'), recipe.replace(`${second}\n`, '').replace(first, own))
      await run(client('python'), ['recipe.py'], { cwd: folder })
      folders.push(folder)
      places.push(place)
      if (!isLite) places.push(schema)
    }
    const told = async <T>(program: string, ...words: string[]): Promise<T> =>
      JSON.parse((await run(client('python'), [here(program), ...words], { maxBuffer: 1e8 })).stdout) as T
    duckdb = await told('parquet.py', ...folders)
    pandas = await told('read.py', ...places, ...names)
  })

  it('becomes a Parquet file', () => {
    const files = names.map((name) => `${name}.parquet`).sort()
    expect(duckdb.names).toEqual([files, files])
  })

  it.each(compared)('%s has the same rows from either warehouse', (name) => {
    const { rows = 0, types = [], only } = duckdb.files[`${name}.parquet`] ?? {}
    expect(types[1]).toEqual(types[0])
    expect(only).toEqual([0, 0])
    const { sqlite, postgres } = pandas.views[name] ?? {}
    expect(sqlite).toEqual(postgres)
    if (!name.startsWith('dim_vehicles')) expect([rows > 0, Number(sqlite?.rows) > 0]).toEqual([true, true])
  })

  it('has flags that are integers in SQLite, whose opposite needs a conversion in pandas', () => {
    const { sqlite, postgres } = pandas.flags
    expect([sqlite?.type, postgres?.type]).toEqual(['Int64', 'boolean'])
    for (const { right, rows } of [sqlite, postgres].flatMap((flag) => flag ?? [])) expect(right).toBe(rows)
    expect(postgres?.naive).toBe(postgres?.right)
    expect(sqlite?.naive).not.toBe(sqlite?.right)
  })
})
