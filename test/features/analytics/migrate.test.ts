/** The views as the command line makes them: by migrate and by runs, and its message if it may not. */
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import pg from 'pg'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { postgresStarted } from '../../support/harness/clones.js'
import { type Place, place } from '../../support/harness/place.js'
import { postgresUrl } from '../../support/harness/warehouse.js'

let here: Place
beforeAll(async () => {
  here = await place()
})
afterAll(() => here.remove())
afterEach(() => here.configure())

const inFile = <T>(work: (db: Database.Database) => T): T => {
  const db = new Database(join(here.folder, 'data/warehouse.db'))
  try {
    return work(db)
  } finally {
    db.close()
  }
}
const viewCount = (): unknown =>
  inFile((db) => db.prepare("select count(*) from sqlite_master where type = 'view'").pluck().get())

interface Migrated {
  readonly changes: readonly { readonly table: string; readonly what: string }[]
}

interface Planned {
  readonly view_changes: readonly { readonly table: string; readonly what: string }[]
}

it('plan and check list them beforehand, and migrate makes them once', async () => {
  const planned = (await here.run('plan', '--json')).json<Planned>().view_changes
  expect((await here.run('check')).stdout).toContain(
    `${planned.length} views for analysts to create or replace, by the next run`,
  )
  const first = (await here.run('migrate', '--json')).json<Migrated>()
  expect(first.changes).toContainEqual({ table: 'orders', what: 'create view' })
  expect(planned).toEqual(first.changes.filter(({ what }) => what.endsWith(' view')))
  expect((await here.run('migrate', '--json')).json<Migrated>().changes).toEqual([])
  const days = inFile((db) => db.prepare('select count(*) from report_days').pluck().get())
  expect(days).toBeGreaterThan(17_000)
  const quiet = await here.run('plan')
  expect(quiet.stdout).not.toContain('for analysts')
  expect((await here.run('check')).stdout).not.toContain('for analysts')
})

it('plan shows what changes, and what is in the way', async () => {
  here.configure({ report: { tenantNames: {}, names: { shops: 'nickname' }, unlisted: 'leave out' } })
  const { stdout, code } = await here.run('plan')
  expect(code).toBe(0)
  const made = (await here.run('plan', '--json')).json<Planned>().view_changes
  expect(made).toContainEqual({ table: 'dim_shops', what: 'replace view' })
  expect(stdout).toContain('shops: make the names of its records again from what is stored')
  expect(stdout).toContain(`${made.length} views for analysts to create or replace`)
  inFile((db) => db.exec('drop view dim_shops; create view dim_shops as select 1 as mine'))
  const taken = await here.run('plan')
  expect(taken.stdout).toMatch(/The view dim_shops was not made: .*\. Rename or drop dim_shops/)
  inFile((db) => db.exec('drop view dim_shops'))
})

it('a run makes what is missing, and knows the zones of the shops it fetched', async () => {
  inFile((db) => db.exec('drop view orders'))
  const run = await here.run('sync', '--resource', 'shops', '--json')
  expect(run.code).toBe(0)
  inFile((db) => {
    expect(db.prepare('select count(*) from orders').pluck().get()).toBeTypeOf('number')
    const said = db
      .prepare("select count(*) from shops where json_extract(_extra, '$.time_zone') is not null")
      .pluck()
      .get()
    expect(said).toBeGreaterThan(0)
    expect(db.prepare("select count(*) from report_zones where origin = 'shop'").pluck().get()).toBe(said)
    const zones = db.prepare('select zone from report_zones order by zone').pluck().all()
    const filled = db.prepare('select distinct zone from report_clocks order by zone').pluck().all()
    expect(filled).toEqual(expect.arrayContaining(zones))
  })
})

it('autoMigrate: false leaves them alone; migrate makes them', async () => {
  const before = viewCount()
  inFile((db) => db.exec('drop view orders'))
  here.configure({ warehouse: { autoMigrate: false } })
  expect((await here.run('sync', '--resource', 'shops', '--quiet')).code).toBe(0)
  expect(viewCount()).toBe(Number(before) - 1)
  await here.run('migrate')
  expect(viewCount()).toBe(before)
})

describe('a role that owns only the schema of the tables', () => {
  const name = `views_${randomBytes(4).toString('hex')}`
  let owner: pg.Client
  beforeAll(async () => {
    await postgresStarted()
    owner = new pg.Client({ connectionString: postgresUrl() })
    await owner.connect()
    await owner.query(`create role ${name} login; create schema ${name} authorization ${name}`)
  })
  afterAll(async () => {
    await owner.query(
      `drop schema if exists ${name}_analytics cascade; drop schema ${name} cascade; drop role ${name}`,
    )
    await owner.end()
  })

  it('syncs, is warned once with what to type, and check says the same', async () => {
    const url = new URL(postgresUrl())
    url.username = name
    here.configure({ warehouse: { url: url.href, schema: name } })
    const statement = `create schema ${name}_analytics authorization ${name}`
    const first = await here.run('sync', '--resource', 'shops', '--log-level', 'warn')
    expect(first.code).toBe(0)
    expect(first.stderr.split(statement)).toHaveLength(2)
    const checked = await here.run('check')
    expect(checked.code).toBe(0)
    expect(checked.stdout).toContain(statement)
    await owner.query(statement)
    const second = await here.run('sync', '--resource', 'shops', '--log-level', 'warn')
    expect([second.code, second.stderr]).toEqual([0, ''])
    const { rows } = await owner.query(`select count(*)::int as n from ${name}_analytics.dim_shops`)
    expect(rows[0]?.n).toBeGreaterThan(0)
  })
})
