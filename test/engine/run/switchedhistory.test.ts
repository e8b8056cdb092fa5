/**
 * A history follows the configuration: runs write it while it is switched on, report when it is switched on or off,
 * send no extra requests for it, and never claim what came while it was off.
 */
import { CompiledQuery } from 'kysely'
import { describe, expect, it } from 'vitest'
import { resources } from '../../../schema/index.js'
import type { Settings } from '../../../src/engine/model/registry.js'
import type { Model } from '../../../src/engine/model/resourcemodel.js'
import { template } from '../../../src/sandbox/index.js'
import { shopsync } from '../../support/harness/call.js'
import { forget, why } from '../../support/harness/commands.js'
import { model } from '../../support/harness/model.js'
import { type Address, configure } from '../../support/harness/place.js'
import { known, sync } from '../../support/harness/runs.js'
import { sandboxOfFile } from '../../support/harness/sandbox.js'
import {
  migrate,
  plannedChanges,
  reopen,
  rowsOf,
  type Warehouse,
  warehouses,
} from '../../support/harness/warehouse.js'
import { at, fill, reconcile } from '../../support/world/notes.js'

const sandbox = await sandboxOfFile()
const configured = (notes: Settings[string]): Model => model(resources, { notes })
const on = configured({ history: true })
const promoted = configured({ history: true, columns: { mood: 'text' } })
const table = 'notes_history'
type Row = Record<string, unknown>
interface Described {
  readonly name: string
  readonly part: string
  readonly key: readonly string[]
  readonly examples: readonly { readonly sql: string }[]
}

const write = (id: number, second: number, description: string, more: Row = {}): void =>
  sandbox.store.put(1, 'notes', { ...template('notes', id, at(second)), description, ...more })

describe.each(warehouses())('$name', (kind) => {
  const notices: [string, Row][] = []
  const run = async (warehouse: Warehouse, known: Model) =>
    (await sync(sandbox, warehouse, { resources: ['notes'], known, notices })).cursors[0]
  /** Uses the warehouse as a program with that configuration would. */
  const as = async <T>(
    address: Address,
    known: Model,
    work: (warehouse: Warehouse) => Promise<T>,
  ): Promise<T> => {
    const warehouse = await reopen(address, known)
    try {
      await migrate(warehouse)
      return await work(warehouse)
    } finally {
      await warehouse.close()
    }
  }
  const note = async (warehouse: Warehouse, id: number): Promise<Row> =>
    (await rowsOf(warehouse, 'notes')).find((row) => row.id === id)!
  /** As a BI tool would query. */
  const ask = (warehouse: Warehouse, { schema }: Address, sql: string): Promise<Row[]> =>
    warehouse.db.connection().execute(async (db) => {
      if (kind.name === 'postgres') await db.executeQuery(CompiledQuery.raw(`set search_path to "${schema}"`))
      return (await db.executeQuery<Row>(CompiledQuery.raw(sql))).rows
    })
  const histories = async (warehouse: Warehouse): Promise<unknown[]> =>
    (await rowsOf(warehouse, table)).map((row) => [row.id, row.description, row._ended_by])

  it('is kept while it is switched on, and claims nothing about the time before', async () => {
    sandbox.reset()
    sandbox.store.addTenant({ id: 1 })
    fill(sandbox, 120)
    const address = kind.address()
    await as(address, known, (warehouse) => run(warehouse, known))

    const planned = await reopen(address, on)
    expect(
      (await plannedChanges(planned)).map(({ table: of, what, refills }) => [of, what, refills(1)]),
    ).toEqual([
      ['notes', expect.stringMatching(/^add column _seen_from/), false],
      [table, 'create table', false],
    ])
    await planned.close()
    const before = await as(address, on, async (warehouse) => {
      const stored = await note(warehouse, 7)
      expect(await run(warehouse, on)).toMatchObject({ status: 'ok', requests: 1, rows_upserted: 0 })
      expect(await rowsOf(warehouse, table)).toEqual([])
      return String(stored._synced_at)
    })
    expect(notices.splice(0).map(([text]) => text)).toContainEqual(
      expect.stringContaining('Ended versions are kept from now on'),
    )

    write(7, 5000, 'second')
    sandbox.store.remove(1, 'notes', 8)
    await as(address, on, async (warehouse) => {
      expect(await run(warehouse, on)).toMatchObject({ requests: 1 })
      expect(notices.splice(0)).toEqual([])
      expect((await reconcile(sandbox, warehouse, { known: on })).status).toBe('ok')
      const rows = await rowsOf(warehouse, table)
      expect(rows.map(({ id, _ended_by }) => [id, _ended_by])).toEqual([
        [7, 'replaced'],
        [8, 'deleted'],
      ])
      const [first, gone] = rows
      expect(first).toMatchObject({ _seen_from: before, _seen_to: (await note(warehouse, 7))._seen_from })
      expect(gone).toMatchObject({ _seen_to: (await note(warehouse, 8))._deleted_at, _children: {} })
      expect(first!._seen_to! > before).toBe(true)
    })

    // Off: versions end and are not kept. On again: the current version counts from now on.
    await as(address, known, async (warehouse) => {
      write(7, 6000, 'third')
      await run(warehouse, known)
      expect(notices.splice(0).map(([text]) => text)).toContainEqual(
        expect.stringContaining('the existing history stays'),
      )
      write(7, 7000, 'fourth')
      await run(warehouse, known)
      expect(notices.splice(0)).toEqual([])
      expect(await warehouse.has(table)).toBe(true)
    })
    await as(address, on, async (warehouse) => {
      const { _synced_at: seen } = await note(warehouse, 7)
      write(7, 8000, 'fifth', { mood: 'fine' })
      await run(warehouse, on)
      const rows = (await rowsOf(warehouse, table)).filter(({ id }) => id === 7)
      expect(rows.map(({ description, _seen_from }) => [description, _seen_from])).toEqual([
        [expect.anything(), before],
        ['fourth', seen],
      ])
    })

    // A column of the table is one of its history; what was kept stays as it was. Its list is read again, in the other form.
    await as(address, promoted, async (warehouse) => {
      await run(warehouse, promoted)
      write(7, 9000, 'sixth', { mood: 'bad' })
      await run(warehouse, promoted)
      write(7, 9500, 'seventh')
      await run(warehouse, promoted)
      const rows = (await rowsOf(warehouse, table)).filter(({ id }) => id === 7).slice(2)
      expect(rows.map(({ description, mood, _extra }) => [description, mood, _extra])).toEqual([
        ['fifth', null, { mood: 'fine' }],
        ['fifth', 'fine', null],
        ['sixth', 'bad', null],
      ])
    })
    await as(address, on, async (warehouse) => {
      await run(warehouse, on)
      write(7, 9900, 'eighth')
      await run(warehouse, on)
      expect((await histories(warehouse)).at(-2)).toEqual([7, 'seventh', 'replaced'])
      const [told] = (await why(sandbox, warehouse, { id: 7 }, { known: on })).rows
      expect(told!.versions.map(({ ended_by }) => ended_by)).toEqual(Array(6).fill('replaced'))
    })

    // Forgetting erases it, even if it is switched off.
    await as(address, known, async (warehouse) => {
      const { tables } = await forget(sandbox, warehouse, 1)
      expect(tables).toContainEqual({ table, rows: 7 })
    })
    await as(address, on, async (warehouse) => expect(await rowsOf(warehouse, table)).toEqual([]))
  })

  it("shows a record as it was on a given day, with the dictionary's examples", async () => {
    sandbox.reset()
    sandbox.store.addTenant({ id: 1 })
    fill(sandbox, 3)
    const address = kind.address()
    await as(address, on, async (warehouse) => {
      await run(warehouse, on)
      write(1, 5000, 'second')
      await run(warehouse, on)
      const config = configure(sandbox, address, ['notes'], { resources: { notes: { history: true } } })
      const dictionary = await shopsync(['dictionary', '--format', 'json', '--config', config])
      const { tables } = dictionary.json<{ tables: Described[] }>()
      const { examples, part, key } = tables.find(({ name }) => name === table)!
      expect([part, key]).toEqual(['derived', ['tenant_id', 'id', '_seen_from', '_valid_from']])
      const [asOf, life] = examples.map(({ sql }) => sql)
      const { _seen_from: first, _seen_to: then } = (await rowsOf(warehouse, table))[0]!
      const on_ = async (instant: unknown): Promise<unknown[]> =>
        (await ask(warehouse, address, asOf!.replaceAll('2026-01-31T00:00:00.000000Z', String(instant)))).map(
          ({ id, updated_at }) => [id, updated_at],
        )
      const [one, two, three] = [1, 2, 3].map((id) => [id, at(id * 7, (id * 7919) % 1_000_000)])
      expect(await on_(first)).toEqual([one, two, three])
      expect(await on_(then)).toEqual([[1, at(5000)], two, three])
      expect(await on_('2020-01-01T00:00:00.000000Z')).toEqual([])
      expect((await ask(warehouse, address, life!)).map(({ id, _ended_by }) => [id, _ended_by])).toEqual([
        [1, 'replaced'],
        [1, 'present'],
        [2, 'present'],
        [3, 'present'],
      ])
    })
  })

  it('is made again after someone has dropped its column, and claims less', async () => {
    sandbox.reset()
    sandbox.store.addTenant({ id: 1 })
    fill(sandbox, 3)
    const address = kind.address()
    await as(address, on, async (warehouse) => {
      await run(warehouse, on)
      await ask(warehouse, address, 'alter table notes drop column _seen_from')
      const { _synced_at: seen } = await note(
        { tables: known.tables, db: warehouse.db, dialect: warehouse.dialect } as never,
        1,
      )
      await migrate(warehouse)
      expect(await run(warehouse, on)).toMatchObject({ requests: 1 })
      expect((await note(warehouse, 1))._seen_from).toBe(seen)
    })
  })
})
