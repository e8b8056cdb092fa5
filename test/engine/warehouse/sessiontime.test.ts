/**
 * A Postgres whose own time zone and date style are Berlin's: what a run stores and reads is the same as in UTC,
 * whatever the address says and whatever a pooler drops. Otherwise, the watermark would move into the future by an hour
 * per run.
 */
import { randomBytes } from 'node:crypto'
import { sql } from 'kysely'
import { beforeAll, describe, expect, it } from 'vitest'
import { template } from '../../../src/sandbox/index.js'
import { postgresOfRun } from '../../support/harness/clones.js'
import { databaseAt, onServer } from '../../support/harness/databases.js'
import { startPooler } from '../../support/harness/relays.js'
import { sync } from '../../support/harness/runs.js'
import { sandboxOfFile } from '../../support/harness/sandbox.js'
import { refusal } from '../../support/harness/server.js'
import { connecting, migrate, reopen, rowsOf, timestampOf } from '../../support/harness/warehouse.js'

const { url: server } = postgresOfRun()

describe('a timestamp as Postgres prints it', () => {
  it.each([
    ['2026-01-02 03:04:05+00', '2026-01-02T03:04:05.000000Z'],
    ['2026-01-02 03:04:05.12+00', '2026-01-02T03:04:05.120000Z'],
    ['2026-07-02 00:04:05.123456+02', '2026-07-01T22:04:05.123456Z'],
    ['2026-01-02 03:04:05+05:30', '2026-01-01T21:34:05.000000Z'],
    ['2026-12-31 23:59:59.999999-08', '2027-01-01T07:59:59.999999Z'],
    ['1890-01-01 00:53:28+00:53:28', '1890-01-01T00:00:00.000000Z'],
  ])('%s is %s', (printed, read) => {
    expect(timestampOf(printed)).toBe(read)
  })

  it.each(['02.01.2026 03:04:05 CET', 'Fri Jan 02 03:04:05 2026 UTC', 'infinity'])(
    '%s is refused',
    (text) => {
      expect(() => timestampOf(text)).toThrow('is not ISO')
    },
  )
})

it('keeps the options of the address, and puts ours after them', () => {
  const { config } = connecting(
    'postgres://me:p%40@host/db?options=-c%20statement_timeout%3D5s%20-c%20timezone%3DEurope%2FBerlin&sslmode=disable',
    false,
    {},
  )
  expect(config).toMatchObject({ user: 'me', password: 'p@', host: 'host', database: 'db', ssl: false })
  expect(config.options).toBe(
    '-c statement_timeout=5s -c timezone=Europe/Berlin -c search_path=pg_catalog,pg_temp -c TimeZone=UTC -c DateStyle=ISO,YMD',
  )
})

describe('a Postgres in Berlin', () => {
  const name = `berlin_${randomBytes(6).toString('hex')}`
  const berlin = databaseAt(server, name)
  const optioned = new URL(berlin)
  optioned.searchParams.set('options', '-c timezone=Europe/Berlin -c statement_timeout=60s')
  const sandbox = sandboxOfFile()
  const newest = '2026-07-01T10:00:00.123456Z'

  beforeAll(async () => {
    await onServer(server, `create database ${name}`, `alter database ${name} set timezone = 'Europe/Berlin'`)
    const { store } = await sandbox
    store.addTenant({ id: 1 })
    for (let id = 1; id <= 3; id++)
      store.put(1, 'notes', template('notes', id, id === 3 ? newest : `2026-0${id}-01T10:00:00Z`))
  })

  /** Two runs, and what is stored after them. */
  async function stored(url: string): Promise<void> {
    const warehouse = await reopen({ url, schema: `t_${randomBytes(6).toString('hex')}` })
    await migrate(warehouse)
    for (let run = 0; run < 2; run++) await sync(await sandbox, warehouse, { resources: ['notes'] })
    const [cursor] = await rowsOf(warehouse, 'sync_cursors')
    expect(cursor?.watermark).toBe(newest)
    const notes = await rowsOf(warehouse, 'notes')
    expect(notes.map((note) => note.updated_at)).toEqual([
      '2026-01-01T10:00:00.000000Z',
      '2026-02-01T10:00:00.000000Z',
      newest,
    ])
  }

  const zoneOf = async (url: string): Promise<unknown> => {
    const warehouse = await reopen({ url, schema: 'public' })
    const { rows } = await sql<{ TimeZone: string }>`show timezone`.execute(warehouse.db)
    return rows[0]?.TimeZone
  }

  it('is read and written in UTC, even if the address has its own options or a pooler drops those of the start', async () => {
    await stored(berlin)
    expect(await zoneOf(optioned.href)).toBe('UTC')
    await stored(optioned.href)
    const pooler = await startPooler(berlin)
    expect(await zoneOf(pooler.url)).toBe('Europe/Berlin')
    await stored(pooler.url)
  })

  it('stops, and tells you why, if a pooler drops what a transaction sets', async () => {
    const timezone = 'set local TimeZone = UTC'
    const pooler = await startPooler(berlin, (sent) => sent.replaceAll(timezone, ' '.repeat(timezone.length)))
    const warehouse = await reopen({ url: pooler.url, schema: 'dropped' })
    const error = await refusal(migrate(warehouse))
    expect(error).toMatchObject({ name: 'Stop', exitCode: 3 })
    expect(error.message).toContain('uses the time zone "Europe/Berlin", expected UTC')
    // What its transaction did isn't committed.
    const straight = await reopen({ url: berlin, schema: 'dropped' })
    expect(await straight.has('sync_meta')).toBe(false)
  })
})
