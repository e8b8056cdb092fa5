/**
 * What `check` requests and stores, on full disks and with the roles of Postgres, too; test/transcripts/check.txt shows what
 * it finds.
 */
import { randomBytes } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { createServer as createTls } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { shopsync } from '../../support/harness/call.js'
import { cloneSqlite, postgresStarted } from '../../support/harness/clones.js'
import { configure, place } from '../../support/harness/place.js'
import { startPostgres } from '../../support/harness/postgres.js'
import { Program, program } from '../../support/harness/process.js'
import { httpServer } from '../../support/harness/server.js'
import { root } from '../../support/harness/tree.js'
import { postgresUrl } from '../../support/harness/warehouse.js'
import { usualWays } from '../../support/world/probe.js'

interface Checked {
  readonly exit_code: number
  readonly checks: readonly { what: string; ok: boolean; found: string; hint: string | null }[]
  readonly probe: { readonly requests: number; readonly answers: object; readonly changes: object[] } | null
}

const here = await place({ repairOrders: 12, tenants: 2 })

const faultsOf = ({ checks }: Checked) => checks.filter(({ ok }) => !ok)

test("queries each tenant once, each resource of one once, with at most 15 more requests, only GET; the probe's answers are stored", async () => {
  const file = join(here.folder, 'data/warehouse.db')
  await cloneSqlite(file, 'viewed')
  await here.run('sync', '--quiet', '--resource', 'notes')
  here.sandbox.resetRequests()
  const { probe: found } = (await here.run('check', '--json')).json<Checked>()
  const access = 1 + here.sandbox.tenantIds.length + 20
  expect(here.sandbox.requests.length).toBeGreaterThan(access)
  expect(here.sandbox.requests.length).toBeLessThanOrEqual(access + 15)
  expect(new Set(here.sandbox.requests.map((request) => request.method))).toEqual(new Set(['GET']))
  // No two generated records have the same time.
  const { ties: _, ...usual } = usualWays
  expect(found).toMatchObject({ changes: [], answers: usual })
  expect(found?.requests).toBeLessThanOrEqual(15)
  const db = new Database(file)
  const { probe } = db.prepare('select probe from sync_source').get() as { probe: string }
  expect(JSON.parse(probe).answers).toEqual(found?.answers)
  db.close()
})

describe('--webhook-url finds what would keep events away; listen/listen.test.ts: the listener', () => {
  const fixture = (name: string): string => readFileSync(join(root, 'test/fixtures/tls', name), 'utf8')
  const found = async (url: string) =>
    faultsOf((await here.run('check', '--json', '--webhook-url', `${url}/webhooks`)).json<Checked>())

  test('a redirect, and an untrusted certificate', async () => {
    const { url } = await httpServer((_, response) =>
      response.writeHead(301, { location: 'https://b.example' }).end(),
    )
    expect(await found(url)).toMatchObject([{ found: 'answers 301, a redirect to https://b.example' }])
    const untrusted = createTls({ cert: fixture('server.pem'), key: fixture('server.key') })
    await new Promise<void>((resolve) => untrusted.listen(0, '127.0.0.1', resolve))
    const [refused] = await found(`https://localhost:${(untrusted.address() as AddressInfo).port}`)
    expect(`${refused?.found}. ${refused?.hint}`).toMatch(/certificate is not trusted.*self-signed/s)
    untrusted.closeAllConnections()
    untrusted.close()
  })

  test('sends no secret, and names the 36 events', async () => {
    const listener = await httpServer((_, response) =>
      response.writeHead(405, { 'x-shopsync': 'listening' }).end(),
    )
    const { stdout } = await here.run('check', '--webhook-url', `${listener.url}/webhooks`)
    expect(listener.seen.at(-1)?.headers).not.toHaveProperty('x-api-secret')
    expect(stdout).toMatch(/event names +36 to register: see below/)
    const names = stdout.match(/\b[a-z_]+\.(created|updated|deleted)\b/g) ?? []
    expect([names.length, new Set(names).size]).toEqual([36, 36])
    const lines = stdout.split('\n').filter((line) => line.includes('.created'))
    expect(Math.max(...lines.map(({ length }) => length))).toBeLessThanOrEqual(100)
  })
})

describe.skipIf(process.platform === 'win32')('a disk that is full', () => {
  test('of SQLite', async () => {
    const url = `sqlite:${join(here.folder, 'small.db')}`
    const config = configure(here.sandbox, { url, schema: '' }, ['notes'])
    const full = await new Program(program, ['check', '--json', '--config', config], { kilobytes: 2048 })
      .ended
    expect(full.code, full.stderr).toBe(1)
    expect(faultsOf(full.json<Checked>())).toMatchObject([{ hint: expect.stringContaining('free space') }])
    const roomy = await shopsync(['check', '--json', '--config', config])
    expect(faultsOf(roomy.json<Checked>())).toEqual([])
    const file = join(here.folder, 'small.db')
    if (!existsSync(file)) return
    const db = new Database(file)
    expect(db.prepare('select name from sqlite_master').all()).toEqual([])
    db.close()
  })

  test('of Postgres', async () => {
    const postgres = await startPostgres({ megabytes: 4 })
    const config = configure(here.sandbox, { url: postgres.url, schema: 'full' }, ['notes'])
    const full = await shopsync(['check', '--json', '--config', config])
    expect(full.code, full.stderr).toBe(1)
    expect(faultsOf(full.json<Checked>())).toMatchObject([{ found: expect.stringContaining('out of room') }])
    await postgres.stop()
  })
})

/* The roles described in docs/warehouse.md; on Postgres 15, nobody may create tables in the schema public. */
describe('the roles of Postgres', () => {
  const name = `check_${randomBytes(4).toString('hex')}`
  let owner: pg.Client
  const as = (role: string): string => {
    const url = new URL(postgresUrl())
    url.username = role
    return url.href
  }
  beforeAll(async () => {
    await postgresStarted()
    owner = new pg.Client({ connectionString: postgresUrl() })
    await owner.connect()
    await owner.query(`create role ${name} login; create schema ${name} authorization ${name}`)
    await owner.query(`create role ${name}_run login; create role ${name}_bi login`)
    await owner.query(`grant usage on schema ${name} to ${name}_run, ${name}_bi`)
  })
  afterAll(async () => {
    await owner.query(`drop schema ${name} cascade; drop role ${name}, ${name}_run, ${name}_bi`)
    await owner.end()
  })

  const checkAs = (role: string, autoMigrate?: false) => {
    here.configure({ warehouse: { url: as(role), schema: name, autoMigrate } })
    return here.run('check', '--json')
  }

  test('one that owns only its schema is fine, and one for daily runs that reads and writes the tables; one that only reads is not', async () => {
    expect(await checkAs(name)).toMatchObject({ code: 0 })
    const { rows } = await owner.query(`select 1 from pg_tables where schemaname = '${name}'`)
    expect(rows).toEqual([])
    expect(await here.run('migrate')).toMatchObject({ code: 0 })
    const all = `all tables in schema ${name}`
    await owner.query(`grant select, insert, update, delete on ${all} to ${name}_run`)
    await owner.query(`grant select on ${all} to ${name}_bi`)
    expect(await checkAs(`${name}_run`, false)).toMatchObject({ code: 0 })
    const reading = await checkAs(`${name}_bi`, false)
    expect(reading.code).toBe(3)
    expect(faultsOf(reading.json<Checked>())).toMatchObject([
      { what: 'warehouse', found: expect.stringContaining('permission denied') },
    ])
  })
})
