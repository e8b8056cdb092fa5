/**
 * Postgres: whatever a stranger makes in a schema that everyone may create in, under whatever name, no command and no view
 * of ours ever calls it: in sessions of our own, and where a pooler keeps no settings between two transactions.
 */
import { randomBytes } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { postgresOfRun } from '../support/harness/clones.js'
import { place } from '../support/harness/place.js'
import { someOf } from '../support/harness/size.js'
import { Planted } from '../support/world/planted.js'

const { url: server } = postgresOfRun()

/** What opens every kind of session, and what grants. READER stands for a role. */
const usual = (url: string, copied: string): string[] => [
  ...['check', 'sync', 'grant --role READER --tenant 101', 'run mine --enqueue 2', 'worker --once'],
  ...[`copy --to ${url} --to-schema ${copied}`, 'revoke --role READER'],
]

/** A pooler may take any statement out of its session: each command, in the form that says most. */
const others = [
  'report --out report.html',
  'forget --tenant 101 --customer 1 --yes',
  'sync --full',
  'reconcile --full',
  'verify --sample 5',
  'plan reconcile',
  'backfill --from 2026-01-01T00:00:00Z --to 2026-02-01T00:00:00Z',
  'why repair_orders 1',
  'quarantine list',
  'quarantine replay',
  'events list',
  'runs',
  'status',
  'grants',
  'report --operations --out operations.html',
  'run mine',
  'migrate',
  'adopt --same-data --yes',
  'forget --tenant 102 --yes',
]

describe('what a stranger planted', () => {
  let planted: Planted
  const name = `planted_${randomBytes(4).toString('hex')}`
  const reader = `${name}_reader`

  beforeAll(async () => {
    planted = await Planted.start(server, name)
    await planted.plant()
    await planted.owner.query(`create role ${reader} login`)
  })
  afterAll(async () => {
    await planted.owner.query(`drop owned by ${reader}; drop role ${reader}`)
    await planted.stop()
  })

  test.each([
    ['a session of its own', { schema: 'shopsync' }, []],
    ['a pooler', { schema: 'pooled', pooler: true }, someOf(2, others)],
  ])('is called by no command and no view, through %s', async (_, { schema, ...how }, more) => {
    const here = await place({ tenants: 2, repairOrders: 3 })
    here.configure({ warehouse: { ...how, url: planted.url, schema }, workers: { listen: false } })
    mkdirSync(join(here.folder, 'jobs'))
    const mine = { description: 'Mine.', steps: [{ command: 'sync' }, { command: 'snapshot' }] }
    writeFileSync(join(here.folder, 'jobs/mine.json'), JSON.stringify(mine))
    const failed: unknown[] = []
    for (const line of [...usual(planted.url, `${schema}_copy`), ...more]) {
      const { code, stdout, stderr } = await here.run(...line.replace('READER', reader).split(' '))
      const wasCalled = await planted.wasCalled()
      // The receipt of a customer names what no reference leads to.
      const expected = line.includes('--customer') ? 1 : 0
      if (code !== expected || wasCalled) failed.push({ line, code, wasCalled, stdout, stderr })
      if (line.startsWith('grant ')) failed.push(...(await unreadable(reader, reader)))
    }
    failed.push(...(await unreadable(name, `${schema}_analytics`)))
    expect(failed).toEqual([])
    expect(await planted.wasCalled()).toBe(false)
  })

  /** Reads each view of a schema as a role whose sessions look in `public` first. */
  async function unreadable(role: string, schema: string): Promise<unknown[]> {
    const url = new URL(planted.url)
    url.username = role
    const client = new pg.Client({ connectionString: url.href })
    await client.connect()
    const { rows } = await planted.owner.query<{ name: string }>(
      `select viewname as name from pg_catalog.pg_views where schemaname = $1`,
      [schema],
    )
    const failed: unknown[] = []
    for (const { name } of rows)
      await client.query(`table ${schema}.${name}`).catch((error) => failed.push({ role, name, error }))
    await client.end()
    return rows.length > 20 ? failed : [{ schema, views: rows.length }]
  }
})
