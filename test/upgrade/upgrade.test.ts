/**
 * Warehouses that 0.1.0 wrote, with tombstones, quarantine, drift and a walk of notes that was killed half-way, are
 * brought up to date by the next run: nothing is lost, and an idle cursor costs one request, as in 0.1.0.
 */
import { randomBytes } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import pg from 'pg'
import { describe, expect, it } from 'vitest'
import type { Sandbox } from '../../src/sandbox/index.js'
import type { Warehouse } from '../../src/warehouse/warehouse.js'
import type { Address } from '../support/place.js'
import { known, sync } from '../support/run.js'
import { sandboxOfFile } from '../support/sandbox.js'
import { scratch } from '../support/scratch.js'
import { refusal } from '../support/server.js'
import { ask, prepareViews } from '../support/views.js'
import { contents, postgresUrl, reopen, rowsOf } from '../support/warehouse.js'

const fixture = (name: string): Buffer =>
  gunzipSync(readFileSync(join(import.meta.dirname, '../fixtures/0.1.0', `${name}.gz`)))

type Records = Record<string, (Record<string, unknown> | string)[]>

/** The source as it was when the fixtures were made. */
function fill({ store }: Sandbox): void {
  const source = JSON.parse(fixture('source.json').toString()) as Record<string, Records>
  for (const [id, lists] of Object.entries(source)) {
    const tenant = Number(id)
    store.addTenant({ id: tenant })
    for (const [path, records] of Object.entries(lists)) {
      const resource = path.split('/').at(-1) ?? ''
      const names = records.filter((record) => typeof record === 'string')
      if (names.length > 0) store.tenant(tenant).strings.set(resource, names)
      for (const record of records)
        if (typeof record !== 'string')
          store.put(tenant, resource, record, {
            key: Number(record.id),
            at: String(record.updated_at ?? '2026-10-02T00:00:00Z'),
          })
    }
  }
}

async function sqlite(): Promise<Address> {
  const file = join(scratch(), 'warehouse.db')
  writeFileSync(file, fixture('warehouse.db'))
  return { url: `sqlite:${file}`, schema: 'shopsync' }
}

async function postgres(): Promise<Address> {
  const name = `upgrade_${randomBytes(6).toString('hex')}`
  const run = async (url: string, text: string): Promise<void> => {
    const client = new pg.Client({ connectionString: url })
    await client.connect()
    await client.query(text)
    await client.end()
  }
  await run(postgresUrl(), `create database ${name}`)
  const url = new URL(postgresUrl())
  url.pathname = `/${name}`
  await run(url.href, fixture('warehouse.sql').toString())
  return { url: url.href, schema: 'shopsync' }
}

const ways = [
  ['sqlite', sqlite],
  ['postgres', postgres],
] as const

/** How many live rows and tombstones a table of records has. */
async function counts(warehouse: Warehouse, table: string): Promise<{ live: number; deleted: number }> {
  const rows = await rowsOf(warehouse, table)
  const deleted = rows.filter((row) => row._deleted_at !== null).length
  return { live: rows.length - deleted, deleted }
}

/** The cursors of its runs, with the columns that they have. */
const rowsAsTheyAre = (warehouse: Warehouse) =>
  warehouse.db
    .selectFrom('sync_run_cursors')
    .selectAll()
    .orderBy('tenant_id')
    .orderBy('resource')
    .orderBy('run_id')
    .execute()

const sandbox = await sandboxOfFile()
fill(sandbox)

describe.each(postgresUrl() === '' ? ways.slice(0, 1) : ways)('%s', (_name, address) => {
  it('is brought up to date, resumes what was killed, and costs no request more', async () => {
    const warehouse = await reopen(await address())
    const tables = known.list.flatMap((resource) => resource.tables)
    const before = await contents(warehouse, known, tables)
    const turns = await rowsAsTheyAre(warehouse)
    await warehouse.migrate()
    // The key of these rows has grown: each is the first step of its run, and nothing else of it has changed.
    expect(turns.length).toBeGreaterThan(0)
    expect(await rowsAsTheyAre(warehouse)).toMatchObject(turns.map((row) => ({ ...row, step: 1 })))
    // Columns that came since are not in `before`.
    expect(await contents(warehouse)).toMatchObject(before)

    const notices: [string, Record<string, unknown>][] = []
    const report = await sync(sandbox, warehouse, { notices })
    const failed = report.cursors.filter(({ status }) => status !== 'ok')
    // One category has no updated_at, and could not be stored by 0.1.0 either.
    expect(failed.map(({ tenant_id, resource }) => [tenant_id, resource])).toEqual([[101, 'categories']])
    const notes = report.cursors.find(({ tenant_id, resource }) => tenant_id === 102 && resource === 'notes')
    expect(notes).toMatchObject({ completeness: 'proven', rows_deleted: 0 })
    expect(notices.map(([message]) => message)).toContain('Resuming a walk')
    const idle = report.cursors.filter((cursor) => cursor !== notes)
    expect(idle.map(({ requests }) => requests)).toEqual(idle.map(() => 1))

    // 0.1.0 stored no source: the warehouse belongs to the first one that it meets, and refuses another from now on.
    expect(await rowsOf(warehouse, 'sync_source')).toMatchObject([
      { base_url: sandbox.url, partner_id: '42' },
    ])
    const stranger = { url: `${sandbox.url}/other`, secret: sandbox.secret, partnerId: '42' }
    expect(await refusal(sync(stranger, warehouse))).toMatchObject({ exitCode: 2 })

    const reconciled = await sync(sandbox, warehouse, { mode: 'reconcile' })
    expect(reconciled.rows_deleted).toBe(0)
    expect(await counts(warehouse, 'repair_orders')).toEqual({ live: 59, deleted: 6 })
    const all = [101, 102].reduce((sum, tenant) => sum + sandbox.store.count(tenant, 'notes'), 0)
    expect(await counts(warehouse, 'notes')).toEqual({ live: all, deleted: 6 })

    // The views stand on its tables as on those of a new warehouse: each id once, and flagged where it is deleted.
    await prepareViews(warehouse)
    const { live, deleted } = await counts(warehouse, 'customers')
    const customers = await ask(warehouse, 'dim_customers')
    const gone = customers.filter(({ is_deleted }) => is_deleted)
    expect(new Set(customers.map(({ customer_key }) => customer_key)).size).toBe(customers.length)
    expect(customers.length).toBeGreaterThanOrEqual(live + deleted)
    expect(gone).toHaveLength(deleted)
    expect(await ask(warehouse, 'freshness', 'select verdict from {view}')).toHaveLength(
      report.cursors.length,
    )
    await warehouse.close()
  })
})
