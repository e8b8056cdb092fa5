/**
 * A running Superset: the archives of both warehouses are imported with its command, twice. Each metric of each dataset,
 * asked as a chart asks, is the figure of the dictionary's SQL, the same on both warehouses. Superset comes from pip; if
 * it can't be installed, the suite reports what is missing and is skipped. Its own database is on Postgres: one on
 * SQLite can't hold two datasets with the same table name, whatever their connection is.
 */
import { randomBytes } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { shopsync } from '../support/harness/call.js'
import { onServer } from '../support/harness/databases.js'
import { dictionary, supersetArchive } from '../support/harness/dictionary.js'
import { configure } from '../support/harness/place.js'
import { sandboxOfFile } from '../support/harness/sandbox.js'
import { scratch } from '../support/harness/scratch.js'
import { query } from '../support/harness/views.js'
import { postgresUrl, reopen, warehouses } from '../support/harness/warehouse.js'
import { client, here, lackingFor, run } from './environment.js'

const requirements = 'requirements-superset.txt'
const lacking = await lackingFor('Superset', requirements)
const sandbox = await sandboxOfFile({ tenants: 2, repairOrders: 120, seed: 5, until: '2026-03-25T12:00:00Z' })
const { figures } = await dictionary()

type Values = Readonly<Record<string, number | null>>
type Seen = Readonly<Record<string, Readonly<Record<string, { day: string; all: Values; month: Values }>>>>

const near = (value: number | null | undefined) => expect.closeTo(Number(value ?? 0), 6)

describe.skipIf(lacking !== undefined)('Superset', () => {
  const folder = scratch()
  const database = `superset_${randomBytes(4).toString('hex')}`
  const env = {
    ...process.env,
    FLASK_APP: 'superset',
    SUPERSET_HOME: folder,
    SUPERSET_CONFIG_PATH: join(folder, 'superset_config.py'),
  }
  const superset = (...words: string[]) =>
    run(client('superset', requirements), words, { env, maxBuffer: 1e9 })
  const ask = async (...words: string[]): Promise<Seen> => {
    const words_ = [here('charts.py'), ...words]
    const { stdout } = await run(client('python', requirements), words_, { env, maxBuffer: 1e9 })
    return JSON.parse(/^SEEN (.*)$/m.exec(stdout)?.[1] ?? 'null') as Seen
  }
  const archives: string[] = []
  const own = new Map<string, number>()
  let first: Seen
  let second: Seen

  beforeAll(async () => {
    const place = new URL(postgresUrl())
    const user = `${place.username}:${place.password || 'none'}`
    for (const kind of warehouses()) {
      const address = kind.address()
      const config = configure(sandbox, address, [], { sync: { resources: 'all' } })
      for (const words of [['sync'], ['snapshot']]) {
        const ended = await shopsync([...words, '--config', config])
        if (ended.code !== 0) throw new Error(ended.stderr)
      }
      const archive = join(folder, `${kind.name}.zip`)
      writeFileSync(archive, supersetArchive(config))
      archives.push(archive)
      if (kind.name !== 'sqlite') continue
      const warehouse = await reopen(address)
      for (const { name, value, relation, where, unit } of figures) {
        const [row] = await query(
          warehouse,
          `select ${value} as v from {${relation}} ${where === null ? '' : `where ${where}`}`,
        )
        const scale = unit.startsWith('cents') || unit === 'percent' ? 100 : 1
        own.set(name, Number(row?.v ?? 0) / scale)
      }
    }
    // As docs/analytics.md says: the archive of Postgres gets a password in place of Superset's mask.
    const secret = readFileSync(archives.at(-1) ?? '', 'latin1')
    expect(secret).toContain('bi:XXXXXXXXXX@')
    await run('python3', [
      '-c',
      "import sys, zipfile, shutil; a = sys.argv[1]; s = zipfile.ZipFile(a); o = zipfile.ZipFile(a + '.new', 'w'); [o.writestr(n, s.read(n).replace(b'bi:XXXXXXXXXX@', (sys.argv[2] + '@').encode())) for n in s.namelist()]; o.close(); shutil.move(a + '.new', a)",
      archives.at(-1) ?? '',
      user,
    ])
    await onServer(postgresUrl(), `create database ${database}`)
    place.pathname = `/${database}`
    const settings = [
      `SECRET_KEY = '${randomBytes(24).toString('hex')}'`,
      `SQLALCHEMY_DATABASE_URI = '${place.href.replace(/^postgres(ql)?:/, 'postgresql+psycopg2:')}'`,
      'PREVENT_UNSAFE_DB_CONNECTIONS = False',
    ]
    writeFileSync(env.SUPERSET_CONFIG_PATH, settings.join('\n'))
    await superset('db', 'upgrade')
    const names = ['--username', 'admin', '--firstname', 'a', '--lastname', 'b', '--email', 'a@example.com']
    await superset('fab', 'create-admin', ...names, '--password', 'admin')
    await superset('init')
    for (const archive of archives) await superset('import-datasources', '--path', archive)
    first = await ask('own')
    for (const archive of archives) await superset('import-datasources', '--path', archive)
    second = await ask()
  }, 1_800_000)
  afterAll(() => onServer(postgresUrl(), `drop database if exists ${database} with (force)`))

  it('has both warehouses side by side', () => {
    expect(Object.keys(first).sort()).toEqual(['postgresql', 'sqlite'])
    for (const datasets of Object.values(first)) expect(Object.keys(datasets).length).toBeGreaterThan(30)
  })

  it('shows each figure as the SQL of the dictionary has it, under one name in all datasets', () => {
    const seen = new Set<string>()
    for (const datasets of Object.values(first))
      for (const [dataset, { all }] of Object.entries(datasets)) {
        expect([dataset, all.error]).toEqual([dataset, undefined])
        for (const { name } of figures) {
          const short = name.replace(/_cents$/, '')
          const metric = short !== name && own.has(short) ? `${short}_amount` : short
          if (!(metric in all)) continue
          seen.add(name)
          expect([dataset, metric, all[metric] ?? 0]).toEqual([dataset, metric, near(own.get(name))])
        }
      }
    expect(seen.size).toBe(figures.length)
  })

  it('shows the same on both warehouses', () => {
    const { sqlite = {}, postgresql = {} } = first
    for (const [dataset, { all }] of Object.entries(sqlite))
      for (const [metric, value] of Object.entries(all))
        expect([dataset, metric, postgresql[dataset]?.all[metric] ?? 0]).toEqual([
          dataset,
          metric,
          near(value),
        ])
  })

  it("cuts a month by the figures' own day", () => {
    for (const { orders, shop_months, orders_by_created_on } of Object.values(first)) {
      expect([shop_months?.day, orders_by_created_on?.day]).toEqual(['month_start', 'created_on'])
      for (const metric of ['sales', 'gross_margin', 'invoices'])
        expect([metric, orders?.month[metric]]).toEqual([metric, near(shop_months?.month[metric])])
      expect(orders_by_created_on?.month.estimate_close_rate).toEqual(
        near(shop_months?.month.estimate_close_rate),
      )
      expect(orders?.month.sales).toBeGreaterThan(0)
      expect(orders?.month.sales).toBeLessThan(Number(orders?.all.sales))
    }
  })

  it("is as it was after another import, which takes the user's metrics from our datasets and not from the user's", () => {
    for (const [backend, datasets] of Object.entries(second)) {
      const { my_orders, ...ours } = datasets
      expect(Object.keys(ours).sort()).toEqual(Object.keys(first[backend] ?? {}).sort())
      expect(my_orders?.all.my_metric).toBeGreaterThan(0)
      expect(ours.orders?.all).not.toHaveProperty('my_metric')
      expect(ours.orders?.all.sales).toEqual(near(first[backend]?.orders?.all.sales))
    }
  })
})
