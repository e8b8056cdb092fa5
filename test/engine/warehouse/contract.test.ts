/**
 * What src/engine/warehouse/dialect.ts requires of a database, method by method: the same tests for each. The code
 * above relies on it, so that is tested on only one of them.
 */
import { type Expression, type Kysely, sql } from 'kysely'
import { beforeEach, describe, expect, it } from 'vitest'
import { id, integer, json, many, number, text, timestamp } from '../../../schema/resource.js'
import { systemClock } from '../../../src/engine/base/clock.js'
import type { Tuple } from '../../../src/engine/model/flatten/batch.js'
import type { Table } from '../../../src/engine/model/table.js'
import { model } from '../../support/harness/model.js'
import {
  bothWarehouses,
  kept,
  readCursors,
  reopen,
  rowsOf,
  type Session,
  type Warehouse,
} from '../../support/harness/warehouse.js'
import { box } from '../../support/world/boxes.js'

const parts = many(
  { table: 'parts', key: 'id', fields: { id: id('Id.'), name: text('Name.'), count: integer('Count.') } },
  'Parts.',
)
const known = model({
  boxes: box({
    name: text('Name.'),
    width: number('Width.'),
    seen: timestamp('Seen.'),
    raw: json('Raw.'),
    parts,
  }),
})
const boxes = known.byName.get('boxes')!
const [root, child] = boxes.tables as [Table, Table]

const at = (second: number): string => `2026-02-01T00:00:0${second}.000000Z`
const stamp = (second: number) => ({ tenantId: 7, syncedAt: at(second) })
/** An id that no double can hold. */
const far = 9_007_199_254_740_993n

describe.each(bothWarehouses())('$name', (kind) => {
  const place = kept(kind, known)
  let warehouse: Warehouse
  beforeEach(async () => {
    warehouse = await place.open()
  })

  const within = <T>(work: (session: Session) => Promise<T>): Promise<T> =>
    warehouse.dialect.transaction(work)

  const record = (n: number | bigint, second: number, more: object = {}) => ({
    id: n,
    created_at: at(0),
    updated_at: at(second),
    name: `box ${n}`,
    ...more,
  })
  const rows = (table: Table, ...records: readonly object[]) => {
    const flattened = boxes.flatten(1, records, false)
    const encoded = warehouse.encode(flattened, { tenantId: 7, resource: 'boxes' })
    return warehouse.dialect.bulk.rows(encoded.rows, table)
  }
  const store = (second: number, ...records: readonly object[]): Promise<number> =>
    within((session) => session.upsert(root, rows(root, ...records), stamp(second), false))
  const storeParts = (second: number, ...records: readonly object[]): Promise<number> =>
    within((session) => session.upsert(child, rows(child, ...records), stamp(second), false))
  /** Made-up tables aren't in the database's type. */
  const anyTable = () => warehouse.db as unknown as Kysely<Record<string, Record<string, unknown>>>
  const names = async (): Promise<unknown[]> => (await rowsOf(warehouse, 'boxes')).map((row) => row.name)

  it('a transaction that throws leaves nothing', async () => {
    const failing = within(async (session) => {
      await session.upsert(root, rows(root, record(1, 1)), stamp(1), false)
      throw new Error('no further')
    })
    await expect(failing).rejects.toThrow('no further')
    expect(await names()).toEqual([])
    await store(1, record(2, 1))
    expect(await names()).toEqual(['box 2'])
  })

  it('versions come as they were stored, even for ids beyond 2^53, and only for that tenant', async () => {
    await store(1, record(1, 1), record(far, 2))
    const asked = [1, far, 3]
    const versions = await within((session) => session.versions(root, 7, asked))
    expect([...versions]).toEqual([
      [1, { updatedAt: at(1), syncedAt: at(1), deletedAt: null, unlistedAt: null }],
      [far, { updatedAt: at(2), syncedAt: at(1), deletedAt: null, unlistedAt: null }],
    ])
    expect((await within((session) => session.versions(root, 8, asked))).size).toBe(0)
  })

  it('an older version never overwrites a newer one, and an equal one writes the same again', async () => {
    await store(2, record(1, 2))
    expect(await store(3, record(1, 1, { name: 'older' }))).toBe(0)
    expect(await store(1, record(1, 2, { name: 'asked for before' }))).toBe(0)
    expect(await names()).toEqual(['box 1'])
    expect(await store(2, record(1, 2))).toBe(1)
    expect(await store(3, record(1, 3, { name: 'newer' }))).toBe(1)
    expect(await names()).toEqual(['newer'])
  })

  it('a tombstone yields only to a request that was sent after the one that found the record gone', async () => {
    await store(1, record(1, 1))
    await anyTable()
      .updateTable('boxes')
      .set({ _deleted_at: at(2), _synced_at: at(2) })
      .execute()
    expect(await store(2, record(1, 3))).toBe(0)
    expect(await store(3, record(1, 3))).toBe(1)
    const [row] = await rowsOf(warehouse, 'boxes')
    expect(row?._deleted_at).toBeNull()
  })

  it('with differing, it only writes what differs', async () => {
    await store(1, record(1, 1), record(2, 1))
    const differing = (second: number, ...records: readonly object[]): Promise<number> =>
      within((session) => session.upsert(root, rows(root, ...records), stamp(second), true))
    expect(await differing(2, record(1, 1), record(2, 1))).toBe(0)
    expect(await differing(3, record(1, 1, { width: 2.5 }), record(2, 1))).toBe(1)
    const stamps = (await rowsOf(warehouse, 'boxes')).map((row) => [row.id, row.width, row._synced_at])
    expect(stamps).toEqual([
      [1, 2.5, at(3)],
      [2, null, at(1)],
    ])
    await within((session) => session.confirm(root, [2], stamp(4)))
    expect((await rowsOf(warehouse, 'boxes')).map((row) => row._synced_at)).toEqual([at(3), at(4)])
  })

  it('counts the rows that an upsert would leave as they are', async () => {
    await store(2, record(1, 2), record(2, 2))
    const settled = (second: number, ...records: readonly object[]): Promise<number> =>
      within((session) => session.countSettled(root, rows(root, ...records), stamp(second)))
    const other = { name: 'other' }
    expect(await settled(3, record(1, 2), record(2, 2))).toBe(2)
    expect(await settled(3, record(1, 2, other), record(2, 3, other), record(3, 1))).toBe(0)
    // Those that would lose to what is stored.
    expect(await settled(1, record(1, 2, other))).toBe(1)
    expect(await settled(3, record(2, 1, other))).toBe(1)
  })

  it('compares and removes the rows of a record, and of no other', async () => {
    const of = (n: number, ...some: readonly object[]) => record(n, 1, { parts: some })
    const first = of(1, { id: 1, name: 'bolt', count: 1 }, { id: far, name: 'nut', count: 2 })
    const second = of(2, { id: 1, name: 'belt', count: 3 })
    expect(await storeParts(1, first, second)).toBe(3)
    const ask = (...records: readonly object[]) =>
      within(async (session) => ({
        alike: await session.countSettled(child, rows(child, ...records), stamp(4)),
        match: await session.childrenMatch(child, [1, 2], rows(child, ...records), stamp(4)),
      }))
    expect(await ask(first, second)).toEqual({ alike: 3, match: true })
    expect(await ask(first)).toEqual({ alike: 2, match: false })
    expect(await ask(first, of(2, { id: 1, name: 'belt', count: 4 }))).toEqual({ alike: 2, match: false })

    const shorter = of(1, { id: far, name: 'nut', count: 2 })
    expect(await within((session) => session.prune(child, 7, [1], rows(child, shorter)))).toBe(1)
    const left = (await rowsOf(warehouse, child.name)).map((row) => [row.box_id, row.id, row.name])
    expect(left).toEqual([
      [1, String(far), 'nut'],
      [2, 1, 'belt'],
    ])
    expect(await within((session) => session.prune(child, 8, [1, 2], rows(child)))).toBe(0)
    expect(await within((session) => session.prune(child, 7, [1, 2], rows(child)))).toBe(2)
  })

  it('inserts new rows; for an existing row, it reports that or writes what differs', async () => {
    const of = (count: number, ...more: readonly object[]) =>
      record(1, 1, { parts: [{ id: 1, count }, ...more] })
    const insert = (...records: readonly object[]): Promise<number> =>
      within((session) => session.insert(child, rows(child, ...records), stamp(1)))
    expect(await insert(of(1))).toBe(1)
    const again = await insert(of(2, { id: 2, count: 3 })).catch((error: unknown) => error)
    if (typeof again !== 'number') expect(warehouse.dialect.bulk.isTaken(again)).toBe(true)
    const counts = (await rowsOf(warehouse, child.name)).map((row) => row.count)
    expect(counts).toEqual(typeof again === 'number' ? [2, 3] : [1])
    expect(warehouse.dialect.bulk.isTaken(new Error('another'))).toBe(false)
  })

  it('a record is stored whose nested rows are there without it', async () => {
    const page = (second: number, ...parts: readonly object[]) => ({
      tenantId: 7,
      resource: 'boxes',
      page: warehouse.encode(boxes.flatten(1, [record(1, second, { parts })], false), {
        tenantId: 7,
        resource: 'boxes',
      }),
      syncedAt: at(second),
      statements: [],
      fence: undefined,
    })
    await warehouse.apply(page(1, { id: 1, name: 'bolt' }, { id: 2, name: 'nut' }))
    await anyTable().deleteFrom('boxes').execute()
    await warehouse.apply(
      page(2, { id: 1, name: 'bolt' }, { id: 2, name: 'a better nut' }, { id: 3, name: 'belt' }),
    )
    expect(await names()).toEqual(['box 1'])
    expect((await rowsOf(warehouse, child.name)).map((row) => row.name)).toEqual([
      'bolt',
      'a better nut',
      'belt',
    ])
  })

  it('picks the rows of some records, and has none for a table that a page lacks', async () => {
    const both = rows(
      child,
      record(1, 1, { parts: [{ id: 1 }] }),
      record(2, 1, { parts: [{ id: 1 }, { id: 2 }] }),
    )
    expect(both.owners).toEqual([1, 2, 2])
    expect(both.pick((owner) => owner === 2).owners).toEqual([2, 2])
    expect(rows(child).owners).toEqual([])
  })

  it('loads rows with their stamps as they are, and skips existing ones', async () => {
    await store(1, record(1, 1))
    const shared: Record<string, unknown> = { tenant_id: 7, _synced_at: at(5), _deleted_at: at(6) }
    const tuple = (n: number | bigint): Tuple => {
      const values: Record<string, unknown> = {
        ...shared,
        id: n,
        name: `copy ${n}`,
        updated_at: at(4),
        created_at: at(0),
      }
      return root.columns.map(({ name }) => values[name] ?? null) as Tuple
    }
    await within((session) => session.load(root, [tuple(1), tuple(far)]))
    const there = (await rowsOf(warehouse, 'boxes')).map((row) => [
      row.id,
      row.name,
      row._synced_at,
      row._deleted_at,
    ])
    expect(there).toEqual([
      [1, 'box 1', at(1), null],
      [String(far), `copy ${far}`, at(5), at(6)],
    ])
  })

  it('reads a table in key order, a few rows at a time, every value as it is', async () => {
    const raw = { deep: [1, { 'a.b': null }] }
    const records = [far, 3, 1, 2, 10].map((n, i) => record(n, 1, { width: i + 0.25, seen: at(i), raw }))
    await store(1, ...records)
    const found: Tuple[][] = []
    await warehouse.dialect.atOneInstant(async ({ db }) => {
      for await (const some of warehouse.dialect.bulk.scan(db, root, 2))
        found.push(some.map((tuple) => [...tuple]))
    })
    expect(found.map((some) => some.length)).toEqual([2, 2, 1])
    const place = (name: string): number => root.columns.findIndex((column) => column.name === name)
    const values = found
      .flat()
      .map((tuple) => [String(tuple[place('id')]), Number(tuple[place('width')]), tuple[place('seen')]])
    expect(values).toEqual([
      ['1', 2.25, at(2)],
      ['2', 3.25, at(3)],
      ['3', 1.25, at(1)],
      ['10', 4.25, at(4)],
      [String(far), 0.25, at(0)],
    ])
    expect(JSON.parse(String(found[0]![0]![place('raw')]))).toEqual(raw)
  })

  it('reads the states of more lists than one read takes, each once', async () => {
    const resources = ['notes', 'payments', 'payment_transactions']
    const tenants = [...Array.from({ length: 1400 }, (_, i) => i + 1), far]
    const lists = tenants.flatMap((tenant_id) => resources.map((resource) => ({ tenant_id, resource })))
    for (let i = 0; i < lists.length; i += 500)
      await warehouse.write([
        warehouse.db
          .insertInto('sync_cursors')
          .values(lists.slice(i, i + 500))
          .compile(),
      ])
    const all = await readCursors(warehouse)
    expect(new Set(all.keys())).toEqual(new Set(lists.map((list) => `${list.tenant_id} ${list.resource}`)))
    const halves = await Promise.all([0, 1].map((index) => readCursors(warehouse, { index, of: 2 })))
    expect(halves.every(({ size }) => size > 0)).toBe(true)
    expect(halves.flatMap((half) => [...half.keys()]).sort()).toEqual([...all.keys()].sort())
  })

  it('one instant shows nothing that is written later', async () => {
    await store(1, record(1, 1))
    const other = await reopen(place.address, known)
    const seen = await other.dialect.atOneInstant(async ({ db }) => {
      const count = async (): Promise<number> =>
        Number(
          (
            await db
              .selectFrom('boxes' as 'tenants')
              .select((eb) => eb.fn.countAll().as('n'))
              .execute()
          )[0]?.n,
        )
      const before = await count()
      await store(2, record(2, 1))
      return [before, await count()]
    })
    await other.close()
    expect(seen).toEqual([1, 1])
    expect(await names()).toEqual(['box 1', 'box 2'])
  })

  it('the catalog shows each table, its key and its indexes', async () => {
    const columns = await warehouse.dialect.catalog.liveColumns()
    const indexes = await warehouse.dialect.catalog.liveIndexes()
    for (const table of warehouse.tables) {
      const live = columns.filter((column) => column.table === table.name).map(({ name }) => name)
      expect([table.name, live.toSorted()]).toEqual([
        table.name,
        table.columns.map(({ name }) => name).toSorted(),
      ])
      const of = indexes.filter((index) => index.table === table.name)
      expect(of.filter(({ isPrimary }) => isPrimary).map((index) => index.columns)).toEqual([table.key])
      for (const wanted of table.indexes) expect(of.map((index) => index.columns)).toContainEqual(wanted)
    }
  })

  it('reads members of _extra without parsing a number', async () => {
    const { extra } = warehouse.dialect.sql
    await store(1, record(1, 1))
    const asked = async (value: Expression<unknown>): Promise<unknown> => {
      const [row] = await anyTable().selectFrom('boxes').select(sql`${value}`.as('v')).execute()
      return row?.v
    }
    const exact = '12345678901234567.10'
    await anyTable()
      .updateTable('boxes')
      .set({ _extra: `{"a.b": ${exact}, "quo\\"te": null}` })
      .execute()
    expect([await asked(extra.has('a.b')), await asked(extra.has('quo"te'))].map(Boolean)).toEqual([
      true,
      true,
    ])
    expect(Boolean(await asked(extra.has('a')))).toBe(false)
    expect(await asked(sql`cast(${extra.member('a.b')} as text)`)).toBe(exact)
  })

  it('numbers days from 1970-01-01, and knows each one’s month and beginning', async () => {
    const { rows: days } = await sql<
      Record<string, unknown>
    >`select n, from_at, day, month from (${warehouse.dialect.sql.calendar.dayRows(19_782, 19_784)}) as d order by n`.execute(
      warehouse.db,
    )
    expect(days.map((day) => [Number(day.n), String(day.day), String(day.month), day.from_at])).toEqual([
      [19_782, '2024-02-29', '2024-02-01', '2024-02-29T00:00:00.000000Z'],
      [19_783, '2024-03-01', '2024-03-01', '2024-03-01T00:00:00.000000Z'],
    ])
  })

  it('returns the time in microseconds, never going back', async () => {
    const now = (): Promise<string> => within((session) => warehouse.dialect.now(session, systemClock))
    const [first, second] = [await now(), await now()]
    expect(first).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/)
    expect(second >= first).toBe(true)
  })

  it('clears quarantine entries that were last seen before', async () => {
    const entry = (recordId: string, second: number) => {
      const seen = { first_seen_at: at(second), last_seen_at: at(second) }
      const place = { tenant_id: 7, resource: 'boxes', record_id: recordId, path: '' }
      return warehouse.db
        .insertInto('sync_quarantine')
        .values({ ...place, ...seen, value: '{}', reason: 'why' })
        .compile()
    }
    await warehouse.write([entry('1', 1), entry('2', 3), entry('3', 1)])
    await within((session) => session.clearQuarantine('boxes', ['1', '2'], stamp(2)))
    const left = await rowsOf(warehouse, 'sync_quarantine')
    expect(left.map((row) => row.record_id).toSorted()).toEqual(['2', '3'])
  })

  it('tries for room, and leaves no table', async () => {
    const before = (await warehouse.dialect.catalog.liveColumns()).length
    await within(async (session) => {
      await warehouse.dialect.catalog.tryRoom(session, { bytes: 100_000, creates: true })
      throw new Error('rolled back')
    }).catch(() => undefined)
    expect((await warehouse.dialect.catalog.liveColumns()).length).toBe(before)
  })

  it('erases permanently deleted rows, and reports what may be left', async () => {
    await store(1, record(1, 1, { name: 'a name that must go' }), record(2, 1))
    const gone = anyTable().deleteFrom('boxes').where('id', '=', 1).compile()
    const traces = await warehouse.dialect.erase(['boxes'], async () => {
      await warehouse.write([gone])
    })
    expect(traces.left).toBeNull()
    expect(traces.elsewhere).not.toBe('')
    expect(await names()).toEqual(['box 2'])
  })

  it('passes its own errors through, and does not retry a broken statement', async () => {
    const broken = await sql`select nothing from nowhere`.execute(warehouse.db).then(
      () => undefined,
      (error: unknown) => error,
    )
    const classed = warehouse.dialect.classify(broken)
    expect(classed).toBeInstanceOf(Error)
    expect(classed.name).not.toBe('Retry')
    expect(warehouse.dialect.classify(classed)).toBe(classed)
  })
})
