/** The datasets for Superset: an archive that unzip can read, in the form that Superset's import checks. */
import { execFileSync } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { views } from '../../../schema/views/index.js'
import { biToolsOf } from '../../../src/engine/warehouse/openwarehouse.js'
import { describeModel } from '../../../src/features/dictionary/describe.js'
import { toSuperset } from '../../../src/features/dictionary/supersetexport.js'
import { known } from '../../support/run.js'
import { scratch } from '../../support/scratch.js'

const dictionary = describeModel(
  known.list.map(({ resource }) => resource),
  known.state,
)

interface Column {
  readonly column_name: string
  readonly type: string
  readonly is_dttm: boolean
  readonly python_date_format: string | null
}
interface Dataset {
  readonly table_name: string
  readonly schema: string
  readonly uuid: string
  readonly database_uuid: string
  readonly main_dttm_col: string | null
  readonly columns: readonly Column[]
  readonly metrics: readonly { readonly metric_name: string; readonly expression: string }[]
}

/** Superset opens archives with Python. */
const unzip = [
  '-c',
  'import sys, zipfile; z = zipfile.ZipFile(sys.argv[1]); assert z.testzip() is None; z.extractall(sys.argv[2])',
]

async function unpacked(url: string) {
  const folder = scratch()
  const archive = join(folder, 'datasets.zip')
  const { superset: target } = await biToolsOf({ url, schema: 'shops' })
  writeFileSync(archive, toSuperset(dictionary, target))
  mkdirSync(join(folder, 'out'))
  execFileSync('python3', [...unzip, archive, join(folder, 'out')])
  const at = (...names: string[]): string => join(folder, 'out/shopsync', ...names)
  const read = <T>(...names: string[]): T => parse(readFileSync(at(...names), 'utf8')) as T
  const datasets = readdirSync(at('datasets/shopsync')).map((name) =>
    read<Dataset>('datasets/shopsync', name),
  )
  return { read, datasets }
}

describe.each([
  ['sqlite', 'sqlite:/data/warehouse.db', 'sqlite:////data/warehouse.db', 'main'],
  [
    'postgres',
    'postgres://me:secret@db.example:5433/shop?sslmode=require',
    'postgresql+psycopg2://bi:XXXXXXXXXX@db.example:5433/shop?sslmode=require',
    'shops_analytics',
  ],
])('of %s', async (name, url, uri, schema) => {
  const { read, datasets } = await unpacked(url)
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
      const of = (kind: string): string[] =>
        dictionary.tables
          .find((table) => table.name === table_name)!
          .columns.filter((column) => column.kind === kind)
          .map((column) => column.name)
      const isView = views.some((view) => view.name === table_name)
      const isComparable = name === 'postgres' || isView
      const times = columns.filter(({ is_dttm }) => is_dttm)
      expect(times.map(({ column_name }) => column_name).sort()).toEqual(
        [...of('day'), ...(isComparable ? of('timestamp') : [])].sort(),
      )
      for (const { column_name, python_date_format } of times)
        expect(python_date_format).toBe(
          name === 'sqlite' && of('day').includes(column_name) ? '%Y-%m-%d' : null,
        )
      expect(main_dttm_col).toBe(times[0]?.column_name ?? null)
    }
  })

  it("show money in the main unit, and don't sum prices", () => {
    const metrics = new Map(
      datasets.flatMap(({ table_name, metrics: all }) =>
        all.map((metric) => [`${table_name}.${metric.metric_name}`, metric.expression]),
      ),
    )
    // The figure, which leaves out estimates, instead of the column's plain sum.
    expect(metrics.get('orders.sales')).toBe("SUM(CASE WHEN state = 'invoice' THEN sales_cents END) / 100.0")
    expect(metrics.get('orders.cars')).toBe(
      "COUNT(DISTINCT CASE WHEN state = 'invoice' THEN vehicle_key END)",
    )
    expect(metrics.get('orders.gross_margin')).toMatch(/^100\.0 \* SUM\(.*\) \/ NULLIF\(SUM\(.*\), 0\)$/)
    expect(metrics.get('daily_sales.sales')).toBe('SUM(sales_cents) / 100.0')
    expect(metrics.get('shop_months.gross_margin_left_out')).toBe('SUM(gross_margin_left_out)')
    // Neither distinct counts nor states at a moment add up over months.
    expect(metrics.has('shop_months.cars')).toBe(false)
    expect(metrics.has('shop_months.receivables')).toBe(false)
    expect(metrics.get('daily_sales.count')).toBe('COUNT(*)')
    expect([...metrics.keys()].filter((each) => /price|unit/.test(each))).toEqual([])
  })
})

it('have the same ids whenever they are made, so that a later import replaces them', async () => {
  const { superset: target } = await biToolsOf({ url: 'sqlite:/data/warehouse.db', schema: '' })
  expect(toSuperset(dictionary, target).equals(toSuperset(dictionary, target))).toBe(true)
})
