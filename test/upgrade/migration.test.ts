/**
 * Migrations add, in one transaction: any interruption leaves the warehouse as it was. The inbox of 0.2.0 has another
 * key, and is copied. What is refused, with what to type: test/transcripts/upgrade.txt.
 */
import { sql } from 'kysely'
import { describe, expect, it } from 'vitest'
import { resources } from '../../schema/index.js'
import { sendEvent } from '../support/harness/listening.js'
import { model } from '../support/harness/model.js'
import { configure } from '../support/harness/place.js'
import { freePort } from '../support/harness/postgres.js'
import { Program, program } from '../support/harness/process.js'
import { eventBody, rightSecret } from '../support/harness/receiver.js'
import { Killed } from '../support/harness/runs.js'
import { sandboxOfFile } from '../support/harness/sandbox.js'
import { sized } from '../support/harness/size.js'
import { bothWarehouses, migrate, reopen, Warehouse } from '../support/harness/warehouse.js'
import { EventBench } from '../support/world/events.js'
import { atEachMoment, killsAt } from '../support/world/through.js'
import { keptWarehouse } from '../support/world/upgrades.js'

const known = model(resources, { repair_orders: { history: true }, canned_jobs: { history: true } })
const sandbox = await sandboxOfFile()
/** Everything recorded about tables, indexes, triggers and views, and what the program knows about its work. */
async function outline({ db, dialect }: Warehouse): Promise<unknown> {
  const catalog = dialect.locksRows
    ? sql`select table_name as name, column_name as type, data_type as text from information_schema.columns
        where table_schema = 'shopsync' order by 1, 2`
    : sql`select type, name, sql as text from sqlite_schema order by type, name`
  const state: unknown[] = []
  for (const name of ['sync_cursors', 'sync_meta', 'sync_run_cursors', 'repair_order_parts']) {
    const rows = db.selectFrom(name as 'tenants').selectAll()
    state.push(await rows.orderBy(sql`1`).orderBy(sql`2`).execute())
  }
  return { state, catalog: (await catalog.execute(db)).rows, indexes: await dialect.catalog.liveIndexes() }
}

describe.each(bothWarehouses())('$name', (kind) => {
  const isSqlite = kind.name === 'sqlite'
  const open = async (): Promise<Warehouse> => reopen(await keptWarehouse(kind), known)
  const place = isSqlite ? '' : 'shopsync.'

  it('ends correctly after an interruption at any statement', async () => {
    const warehouse = await open()
    const before = await outline(warehouse)
    // On a server, each attempt takes longer, and the statements are the same.
    const step = sized(isSqlite ? 83 : 41, isSqlite ? 11 : 13)
    for (let at = sized(31, 1); ; at += step) {
      let moments = 0
      const kill = killsAt(at, (n) => {
        moments = n
      })
      // After the commit, it has been migrated.
      const dialect = atEachMoment(warehouse.dialect, (isCommit) => {
        if (!isCommit) kill()
      })
      const attempt = new Warehouse({ dialect, model: known, retryWaits: [0] })
      const failed = await migrate(attempt).catch((error: unknown) => error)
      if (!(failed instanceof Killed)) {
        expect(Array.isArray(failed), String(failed)).toBe(true)
        expect(moments).toBeGreaterThan(isSqlite ? 120 : 60)
        break
      }
      expect(await outline(warehouse), `after moment ${at}`).toEqual(before)
    }
    expect(await migrate(warehouse)).toEqual([])
    await warehouse.close()
  })

  it('the inbox of 0.2.0 is copied, whatever interrupts it', async () => {
    const warehouse = await open()
    const dialect = (await warehouse.dialect.beside({
      name: 'events',
      table: 'sync_events',
      creates: false,
    }))!
    const look = async () => ({
      rows: (await sql`select * from ${sql.raw(`${place}sync_events`)} order by event_id`.execute(dialect.db))
        .rows,
      tables: (await dialect.catalog.liveColumns()).filter(({ table }) => table.startsWith('sync_events')),
      indexes: (await dialect.catalog.liveIndexes()).filter(({ table }) => table.startsWith('sync_events')),
    })
    const before = await look()
    expect(before.rows).toHaveLength(3)
    const ofKey = ({ indexes }: typeof before) => indexes.find(({ isPrimary }) => isPrimary)?.columns
    for (let at = 1; ; at++) {
      const beside = async () => ({ ...atEachMoment(dialect, killsAt(at)), close: async () => {} })
      const broken = { dialect: { ...warehouse.dialect, beside } } as unknown as Warehouse
      const opened = await EventBench.open(sandbox, broken).catch((error) => error)
      const after = await look()
      expect(after.rows, `after moment ${at}`).toEqual(before.rows)
      if (!(opened instanceof Error)) break
      expect(opened.message).toContain('at moment')
      // Once it has been copied, only its indexes may be missing.
      if (ofKey(after)?.length === 3) expect(after).toEqual(before)
    }
    const { tables, indexes } = await look()
    expect(ofKey({ ...before, indexes })).toEqual([
      ...['tenant_id', 'event_id', 'resource', 'type', 'action', 'record_id'],
    ])
    expect(new Set(tables.map(({ table }) => table))).toEqual(new Set(['sync_events']))
    expect(
      indexes
        .filter(({ isPrimary }) => !isPrimary)
        .map(({ name }) => name)
        .sort(),
    ).toEqual(
      ['reason', 'received_at', 'resource_state', 'state_due_at'].map((name) => `sync_events_by_${name}`),
    )
    await dialect.close()
    await warehouse.close()
  })

  it('a listener answers 503 while the inbox of 0.2.0 is copied', async () => {
    const address = await keptWarehouse(kind)
    const warehouse = await reopen(address, known)
    await migrate(warehouse)
    const { db, close } = (await warehouse.dialect.beside({
      name: 'events',
      table: 'sync_events',
      creates: false,
    }))!
    const listed = { url: 'http://127.0.0.1:9', partnerId: '42', secret: rightSecret }
    // The stored inbox has an event that was settled in November 2026: for ten years, it isn't too old.
    const config = configure(listed, address, ['notes'], { events: { keep: 'P3650D' } })
    const source = { base_url: 'http://127.0.0.1:9', partner_id: '42' }
    await warehouse.write([warehouse.db.updateTable('sync_source').set(source).compile()])
    const port = await freePort()
    const send = () =>
      sendEvent(`http://127.0.0.1:${port}/webhooks`, rightSecret, eventBody({ id: 'e4', tenant: 1 })).catch(
        () => 0,
      )
    let listener: Program | undefined
    const answers = new Set<number>()
    const sendUntil = async (wanted: number): Promise<void> => {
      for (let last = 0; last !== wanted; answers.add(last)) {
        last = await send()
        await new Promise((resolve) => setTimeout(resolve, 20))
      }
    }
    await db.connection().execute(async (held) => {
      // As if there were much to copy.
      await sql.raw(isSqlite ? 'begin immediate' : 'begin').execute(held)
      if (!isSqlite) await sql`lock table shopsync.sync_events in share mode`.execute(held)
      listener = new Program(program, ['listen', '--config', config, '--port', String(port), '--no-ring'])
      // For longer than SQLite waits for a lock by itself.
      for (let times = 0; times < 20; times++) await sendUntil(503)
      await sql`commit`.execute(held)
    })
    await sendUntil(200)
    // What is not up yet refuses the connection.
    expect([...answers].filter((answer) => answer !== 0)).toEqual([503, 200])
    const { rows } = await sql`select event_id from ${sql.raw(`${place}sync_events`)} order by 1`.execute(db)
    expect(rows).toEqual(['e1', 'e2', 'e3', 'e4'].map((event_id) => ({ event_id })))
    listener?.kill('SIGTERM')
    expect(await listener?.ended).toMatchObject({ code: 0 })
    await close()
    await warehouse.close()
  })
})
