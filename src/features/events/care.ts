/*
 * What forget, adopt and copy do to the inbox, which is separate from the tables of the warehouse and contains record
 * ids and which source they belong to.
 */
import { createHash } from 'node:crypto'
import { sql } from 'kysely'
import type { Int64 } from '../../../schema/resource.js'
import { Stop } from '../../engine/base/errors.js'
import { plural } from '../../engine/base/format.js'
import { toJson } from '../../engine/base/printjson.js'
import type { SourceAddress } from '../../engine/config/sourceaddress.js'
import type { Warehouse } from '../../engine/warehouse/warehouse.js'
import type { BesideTables, CopiedBeside, ErasedBeside } from '../../shell/command.js'
import { Inbox, listenedTo } from './inbox.js'
import { type EventDb, eventTables } from './tables.js'
import { emptyJudged, forgetJudged } from './unannounced.js'
import { withInboxThere } from './watchinbox.js'

type Opened = Pick<Warehouse, 'dialect'>

/** How many rows are copied together. */
const rowsAtOnce = 500

const eraseTenant = (warehouse: Opened, tenantId: Int64): Promise<ErasedBeside | undefined> =>
  withInboxThere(warehouse, async (inbox) => {
    let rows = 0
    const { left } = await inbox.erase(async () => {
      const { db } = inbox
      rows = await inbox.write([db.deleteFrom('sync_events').where('tenant_id', '=', tenantId).compile()])
      await inbox.write([forgetJudged(db, tenantId)])
    })
    return { table: 'sync_events', rows, left }
  })

/** Events of the old source refer to the new one's records by the same ids. Counts stay. */
const adopt = async (warehouse: Opened, to: SourceAddress, sameData: boolean): Promise<void> => {
  await withInboxThere(warehouse, (inbox) => {
    const { db } = inbox
    const heard = db
      .updateTable('sync_listeners')
      .set({ source: listenedTo(to) })
      .compile()
    return inbox.write(sameData ? [heard] : [heard, db.deleteFrom('sync_events').compile(), emptyJudged(db)])
  })
}

type CopiedName = 'sync_events' | 'sync_event_counts'

/**
 * One table in key order, this many rows at a time, each batch starting after the last row: more rows arrive meanwhile.
 */
async function* rowsOf(inbox: Inbox, name: CopiedName): AsyncGenerator<Record<string, unknown>[]> {
  const key = eventTables[name].key as readonly never[]
  const columns = sql.join(key.map((column) => sql.ref(column)))
  let last: Record<string, unknown> | undefined
  for (;;) {
    const rows: Record<string, unknown>[] = await inbox.read((db) => {
      let query = db.selectFrom(name).selectAll()
      if (last) {
        const values = sql.join(key.map((column) => last?.[column]))
        query = query.where(sql<boolean>`(${columns}) > (${values})`)
      }
      for (const column of key) query = query.orderBy(column)
      return query.limit(rowsAtOnce).execute()
    })
    if (rows.length > 0) yield rows
    if (rows.length < rowsAtOnce) return
    last = rows.at(-1)
  }
}

const upsert = (db: EventDb, name: CopiedName, rows: readonly Record<string, unknown>[]) => {
  const key = eventTables[name].key as readonly never[]
  const rest = Object.keys(eventTables[name].fields).filter((column) => !key.includes(column as never))
  return db
    .insertInto(name)
    .values(rows as never)
    .onConflict((conflict) =>
      conflict
        .columns(key)
        .doUpdateSet((eb) =>
          Object.fromEntries(rest.map((column) => [column, eb.ref(`excluded.${column}` as never)])),
        ),
    )
    .compile()
}

/**
 * Two databases may order the same texts differently, so the sum of the rows' digests identifies the contents of a
 * table.
 */
class TableDigest {
  #sum = 0n
  rows = 0

  constructor(private readonly name: CopiedName) {}

  add(row: Record<string, unknown>): void {
    const line = toJson(Object.keys(eventTables[this.name].fields).map((column) => row[column] ?? null))
    this.#sum += BigInt(`0x${createHash('sha256').update(line).digest('hex')}`)
    this.rows += 1
  }

  get text(): string {
    return createHash('sha256').update(`${this.rows} ${this.#sum}`).digest('hex')
  }
}

/** What was written is read again: events that arrive meanwhile are in neither count. */
async function copyTable(from: Inbox, to: Inbox, name: CopiedName): Promise<CopiedBeside> {
  const [original, copied] = [new TableDigest(name), new TableDigest(name)]
  for await (const batch of rowsOf(from, name)) {
    await to.write([upsert(to.db, name, batch)])
    for (const row of batch) original.add(row)
  }
  for await (const batch of rowsOf(to, name)) for (const row of batch) copied.add(row)
  if (original.text !== copied.text)
    throw new Stop(
      `Of ${name}, ${plural(copied.rows, 'row')} ${copied.rows === 1 ? 'was' : 'were'} found in the copy, expected ${original.rows} of the same values`,
      { exitCode: 1, hint: 'Type the same command again' },
    )
  return { table: name, rows: original.rows, digest: copied.text }
}

const copy = async (from: Opened, to: Opened): Promise<readonly CopiedBeside[]> =>
  (await withInboxThere(from, async (source) => {
    const target = await Inbox.open(to)
    try {
      const { db } = target
      await target.write([
        db.deleteFrom('sync_events').compile(),
        db.deleteFrom('sync_event_counts').compile(),
      ])
      return [
        await copyTable(source, target, 'sync_events'),
        await copyTable(source, target, 'sync_event_counts'),
      ]
    } finally {
      await target.close()
    }
  })) ?? []

export const inboxCare: BesideTables = { names: Object.keys(eventTables), eraseTenant, adopt, copy }
