/** The datasets for Superset: an archive that unzip can read, in the form that Superset's import checks. */
import { describe, expect, it } from 'vitest'
import { isSummable } from '../../../schema/view.js'
import { views } from '../../../schema/views/index.js'
import { dictionary, supersetArchive, supersetOf } from '../../support/harness/dictionary.js'
import { configure } from '../../support/harness/place.js'

const { tables: described } = await dictionary()
/** A dataset is a relation, or one of it by another day. */
const relationOf = (dataset: string) =>
  described.find(({ name }) => name === dataset) ??
  described.find(({ name }) => name === dataset.replace(/_by_.*/, ''))!
const nowhere = { url: 'http://127.0.0.1:9', partnerId: '1', secret: 'x' }
const configOf = (url: string): string => configure(nowhere, { url, schema: 'shops' }, [])

describe.each([
  ['sqlite', 'sqlite:/data/warehouse.db', 'sqlite:////data/warehouse.db', 'main'],
  [
    'postgres',
    'postgres://me:secret@db.example:5433/shop?sslmode=require',
    'postgresql+psycopg2://bi:XXXXXXXXXX@db.example:5433/shop?sslmode=require',
    'shops_analytics',
  ],
])('of %s', (name, url, uri, schema) => {
  const { archive, read, datasets } = supersetOf(configOf(url))
  const database = read<{ sqlalchemy_uri: string; uuid: string; version: string }>('databases/shopsync.yaml')

  it("contain the warehouse's relations, every view and no table of the product", () => {
    expect(read('metadata.yaml')).toEqual({ version: '1.0.0', type: 'SqlaTable' })
    expect(database).toMatchObject({
      sqlalchemy_uri: uri,
      version: '1.0.0',
      database_name: expect.stringMatching(/^shopsync .*(warehouse.db|shop shops)$/),
    })
    const names = datasets.map(({ table_name }) => table_name)
    expect(names).toEqual(expect.arrayContaining([...views.map((view) => view.name), 'daily_snapshots']))
    expect(names.filter((each) => /^(sync|report)_/.test(each))).toEqual([])
    const uuids = new Set(datasets.map(({ uuid }) => uuid))
    expect(uuids.size).toBe(datasets.length)
    for (const uuid of uuids) expect(uuid).toMatch(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/)
    for (const dataset of datasets) expect(dataset).toMatchObject({ database_uuid: database.uuid, schema })
  })

  it('know days and instants, and how to filter by them', () => {
    for (const { table_name, columns, main_dttm_col } of datasets) {
      const relation = relationOf(table_name)
      const of = (kind: string): string[] =>
        relation.columns.filter((column) => column.kind === kind).map((column) => column.name)
      const view = views.find((one) => one.name === relation.name)
      // With the T and Z of the tables, an instant is no text that Superset's ranges compare with.
      const isComparable = (column: string): boolean =>
        name === 'postgres' || (view !== undefined && !view.columns[column]?.asStored)
      const times = columns.filter(({ is_dttm }) => is_dttm)
      expect(times.map(({ column_name }) => column_name).sort()).toEqual(
        [...of('day'), ...of('timestamp').filter(isComparable)].sort(),
      )
      for (const { column_name, python_date_format } of times)
        expect(python_date_format).toBe(
          name === 'sqlite' && of('day').includes(column_name) ? '%Y-%m-%d' : null,
        )
      const own = { shop_months: 'month_start', orders_by_created_on: 'created_on' }[table_name]
      expect(main_dttm_col).toBe(own ?? times[0]?.column_name ?? null)
    }
  })

  // Money in dollars, ratios in percent, sums named after their dataset, estimates that aren't counted as sold.
  it('measure what was read once, the same in both', async () => {
    const sorted = datasets.toSorted((a, b) => (a.table_name < b.table_name ? -1 : 1))
    const lines = sorted.flatMap(({ table_name, sql, metrics }) => [
      `${table_name}${sql === undefined ? '' : `: ${sql}`}`,
      ...metrics.map((one) => `  ${one.metric_name} (${one.d3format ?? 'plain'}): ${one.expression}`),
    ])
    await expect(`${lines.join('\n')}\n`).toMatchFileSnapshot('superset.txt')
  })

  it('sum no price, no running total, no distinct count and no balance over days', () => {
    for (const { table_name, metrics: all } of datasets) {
      expect(new Set(all.map(({ metric_name }) => metric_name)).size).toBe(all.length)
      const unsummable = relationOf(table_name).columns.filter(
        (column) => column.kind !== 'id' && column.kind !== 'hours' && !isSummable(column),
      )
      for (const { metric_name, expression: sql } of all) {
        // What a sum adds, without its conditions.
        const sums = [...sql.matchAll(/SUM\((?:CASE WHEN .*? THEN )?(.*?)(?: END)?\)/g)]
        const added = sums.flatMap(([, sum = '']) => sum.split(/[^a-z_0-9]+/))
        const wrong = unsummable.filter((column) => added.includes(column.name))
        expect([table_name, metric_name, wrong]).toEqual([table_name, metric_name, []])
      }
    }
    const balances = datasets.find(({ table_name }) => table_name === 'daily_snapshots')!.metrics.slice(1)
    expect(balances.length).toBeGreaterThan(8)
    for (const { expression: sql } of balances) expect(sql).toContain('COUNT(DISTINCT CASE WHEN')
  })

  it('have the same ids whenever they are made, so that a later import replaces them', () => {
    expect(supersetArchive(configOf(url)).equals(archive)).toBe(true)
  })
})
