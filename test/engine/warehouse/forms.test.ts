/**
 * A field has a form: in `_extra`, in a column of its own, hidden. The configuration says which, and may change it. The list
 * is read again, and both forms stand meanwhile; what no list shows keeps its form, and is copied, hidden and forgotten in it.
 * Privacy that hides more rewrites what is stored, without a request; privacy that hides less is refused until it is told to.
 */
import { sql } from 'kysely'
import { describe, expect, it } from 'vitest'
import { resources } from '../../../schema/index.js'
import { systemClock } from '../../../src/engine/base/clock.js'
import { Skip } from '../../../src/engine/base/errors.js'
import type { Privacy } from '../../../src/engine/config/treatment.js'
import { type Sandbox, template } from '../../../src/sandbox/index.js'
import { Desk } from '../../support/harness/desk.js'
import { model } from '../../support/harness/model.js'
import type { Address } from '../../support/harness/place.js'
import { sync } from '../../support/harness/runs.js'
import { sandboxOfFile } from '../../support/harness/sandbox.js'
import {
  bothWarehouses,
  type Kind,
  migrate,
  openLease,
  openWarehouse,
  RowSettings,
  reopen,
  rowsOf,
  warehouses,
} from '../../support/harness/warehouse.js'
import { Between } from '../../support/world/between.js'

const key = Buffer.alloc(32, 3).toString('base64')
const otherKey = Buffer.alloc(32, 4).toString('base64')
const at = (n: number): string => new Date(Date.parse('2026-01-01T00:00:00Z') + n * 60_000).toISOString()

type Row = Readonly<Record<string, unknown>>
type List = 'customers' | 'vehicles'

interface World {
  readonly sandbox: Sandbox
  readonly address: Address
}

/** A version of a record, with fields that the document doesn't show. */
const put = ({ sandbox }: Pick<World, 'sandbox'>, list: List, id: number, version: number): void =>
  sandbox.store.put(1, list, {
    ...template(list, id, at(id + version * 100)),
    ...(list === 'customers' && { first_name: `Ada ${id}`, last_name: `Byron ${id}` }),
    nick: `nick ${id}.${version}`,
    make: `make ${id}`,
  })
const remove = ({ sandbox }: World, list: List, ...ids: readonly number[]): void => {
  for (const id of ids) sandbox.store.remove(1, list, id)
}

/** Where a row has the field, and as what. */
function formOf(row: Row, field: string): string {
  const { [field]: column = null, _extra } = row
  const extra = (typeof _extra === 'string' ? JSON.parse(_extra) : (_extra ?? {})) as Row
  const ofColumn = column === null ? [] : [/^h\d(?=:)/.exec(String(column))?.[0] ?? 'column']
  return [...ofColumn, ...(field in extra ? ['extra'] : [])].join('+') || '-'
}

interface Step {
  /** What happens before. */
  readonly first?: (world: World) => void | Promise<void>
  readonly columns?: Readonly<Record<string, string>>
  readonly privacy?: object
  readonly words: string
  /** What it ends with, if not with 0. */
  readonly code?: number
  readonly says?: RegExp
  readonly requests?: number
  /** The forms of the rows then, by id. */
  readonly rows?: string
  /** The forms of the versions that have ended, each once. */
  readonly ended?: string
}

/** Plays the steps in one warehouse: commands, each with its configuration. */
async function play(kind: Kind, list: List, field: string, steps: readonly Step[]): Promise<void> {
  const world: World = { sandbox: await sandboxOfFile(), address: await kind.viewed() }
  const { sandbox, address } = world
  sandbox.store.addTenant({ id: 1 })
  for (const id of [1, 2, 3, 4]) put(world, list, id, 1)
  const desk = new Desk(sandbox, address, [list])
  const forms = async (table: string, of: Address): Promise<string[]> =>
    (
      await new Desk(sandbox, of, [list]).look(({ db, dialect }) => {
        const name = dialect.views().sql.table(table)
        return sql.raw<Row>(`select * from ${name} order by id`).execute(db)
      })
    ).rows.map((row) => formOf(row, field))
  for (const [n, { first, columns = {}, privacy, words, code = 0, ...then }] of steps.entries()) {
    await first?.(world)
    desk.set({ resources: { [list]: { history: true, columns } }, privacy })
    const before = sandbox.requests.length
    const target = kind.address()
    const to = ['--to', target.url, ...(kind.name === 'sqlite' ? [] : ['--to-schema', target.schema])]
    const isCopy = words === 'copy'
    const ended = await desk.run(words, ...(isCopy ? to : []))
    const what = `${n + 1}. ${words}`
    expect([what, ended.code, ended.stderr]).toEqual([what, code, expect.any(String)])
    if (then.says) expect(ended.stdout + ended.stderr, what).toMatch(then.says)
    if (then.requests !== undefined) expect(sandbox.requests.length - before, what).toBe(then.requests)
    const there = isCopy ? target : address
    if (then.rows !== undefined) expect((await forms(list, there)).join(' '), what).toBe(then.rows)
    if (then.ended === undefined) continue
    const versions = new Set(await forms(`${list}_history`, there))
    expect([...versions].sort().join(' '), what).toBe(then.ended)
  }
}

const nick = { nick: 'text' }
const pseudonymous = { preset: 'pseudonymous', key }

describe.each(bothWarehouses())('$name', (kind) => {
  it('a column is filled by reading its list again, and so is what takes its place; what no list shows keeps its form, and is copied, forgotten and hidden in it', () =>
    play(kind, 'customers', 'nick', [
      { words: 'sync', rows: 'extra extra extra extra', ended: '' },
      { words: 'plan', columns: nick, says: /add column nick text/i },
      // Nobody has read the list yet, and nothing is wrong.
      { words: 'migrate', columns: nick, rows: 'extra extra extra extra', requests: 0 },
      { words: 'verify --full', columns: nick },
      {
        words: 'sync',
        columns: nick,
        first: (world) => put(world, 'customers', 1, 2),
        rows: 'column column column column',
        ended: 'extra',
      },
      {
        words: 'reconcile',
        columns: nick,
        first: (world) => remove(world, 'customers', 2, 4),
        rows: 'column column column column',
        ended: 'column extra',
      },
      { words: 'plan', says: /leave the column nick, which is no longer configured/ },
      { words: 'sync', rows: 'extra column extra column' },
      { words: 'verify --full' },
      {
        words: 'reconcile',
        first: (world) => remove(world, 'customers', 3),
        rows: 'extra column extra column',
      },
      { words: 'copy', rows: 'extra column extra column', ended: 'column extra' },
      // One list is read, and the receipt names the others.
      { words: 'forget --tenant 1 --customer 2 --yes', code: 1, rows: 'extra - extra column' },
      { words: 'migrate', privacy: pseudonymous, rows: '- - - -', ended: '-', requests: 0 },
    ]))
})

const firstName = (treatment: object, more: object = {}) => ({ key, customers: treatment, ...more })

/** What is above the dialects: on each of them, hiding.test.ts shows how rows are rewritten. */
describe.each(warehouses())('$name', (kind) => {
  it('privacy that hides more rewrites what is stored; less, or another key under the same version, is refused; a new version replaces all pseudonyms', () => {
    const hashed = { first_name: 'hash' }
    const wrong = { key: otherKey, customers: hashed }
    return play(kind, 'customers', 'first_name', [
      { words: 'sync', rows: 'column column column column' },
      {
        words: 'reconcile',
        first: (world) => {
          put(world, 'customers', 1, 2)
          remove(world, 'customers', 2)
        },
        ended: 'column',
      },
      {
        words: 'plan',
        privacy: firstName(hashed),
        says: /customers: hide the stored values of first_name\b/,
      },
      { words: 'migrate', privacy: firstName(hashed), rows: 'h1 h1 h1 h1', ended: 'h1', requests: 0 },
      { words: 'sync', code: 2, says: /hides customers\.first_name, and this.*migrate --loosen-privacy/s },
      { words: 'sync', privacy: { customers: hashed }, code: 2, says: /privacy\.key: missing/ },
      ...['sync', 'migrate', 'reconcile', 'snapshot', 'quarantine replay'].map((words) => ({
        words,
        privacy: wrong,
        code: 2,
        says: /another key of version 1.*keyVersion to 2/s,
        requests: 0,
      })),
      ...['status', 'plan', 'runs', 'why customers 1'].map((words) => ({ words, privacy: wrong })),
      // What no list shows any more loses its pseudonym when the list is through; ended versions keep that of their time.
      { words: 'sync', privacy: { ...wrong, keyVersion: 2 }, rows: 'h2 h1 h2 h2' },
      { words: 'sync', privacy: { ...wrong, keyVersion: 2 }, rows: 'h2 - h2 h2', ended: 'h1' },
      { words: 'sync', privacy: firstName(hashed), code: 2, says: /keyVersion 2/ },
      {
        words: 'migrate --loosen-privacy',
        says: /first_name may be stored again: the next sync reads customers whole; .*, \d+ deleted rows? among them/,
        rows: 'h2 - h2 h2',
      },
      { words: 'status', says: /because privacy hides less/ },
      { words: 'sync', rows: 'column - column column' },
    ])
  })

  it('a promoted column that is taken out while it is hashed is dropped with _extra, or refused', () => {
    const hashed = { key, customers: { nick: 'hash' } }
    return play(kind, 'customers', 'nick', [
      { words: 'sync', columns: nick, privacy: hashed, rows: 'h1 h1 h1 h1' },
      { words: 'sync', privacy: hashed, code: 2, says: /privacy\.customers\.nick .*found the unknown key/ },
      { words: 'sync', privacy: { key }, code: 2, says: /hides customers\.nick, and/ },
      { words: 'sync', privacy: { key, customers: { _extra: 'drop' } }, rows: '- - - -' },
      { words: 'sync --full', privacy: { key, customers: { _extra: 'drop' } }, rows: '- - - -' },
    ])
  })

  it('what the preset of an earlier version hid stays hidden until it is loosened, and the preset keeps it from then on', async () => {
    const columns = { make: 'text' } as const
    const before = { ...pseudonymous, vehicles: { make: 'hash' } }
    const kept = ['sync --full', 'reconcile', 'snapshot', 'verify', 'migrate', 'plan']
    const policy: Privacy = { preset: 'pseudonymous', columns: {}, key: Buffer.alloc(32, 3), keyVersion: 1 }
    const known = model(resources, { vehicles: { columns, history: true } }, policy)
    let stale: Awaited<ReturnType<typeof openWarehouse>> | undefined
    await play(kind, 'vehicles', 'make', [
      { words: 'sync', columns, privacy: before, rows: 'h1 h1 h1 h1' },
      {
        words: 'sync',
        columns,
        privacy: { ...pseudonymous, vehicles: { make: 'keep' } },
        code: 2,
        says: /hides vehicles\.make, and this configuration does not/,
      },
      ...kept.map((words) => ({ words, columns, privacy: pseudonymous, rows: 'h1 h1 h1 h1' })),
      {
        words: 'check',
        columns,
        privacy: pseudonymous,
        says: /vehicles\.make stay hidden as before, although the preset no longer hides/,
      },
      {
        first: async ({ address }) => {
          stale = await openWarehouse({ ...address, model: known, rowSettings: new RowSettings('{}') })
          await migrate(stale)
        },
        words: 'migrate --loosen-privacy',
        columns,
        privacy: pseudonymous,
      },
      { words: 'sync', columns, privacy: pseudonymous, rows: 'column column column column' },
      // A program that opened the warehouse before doesn't hide it again.
      {
        first: async () => {
          await expect(openLease({ warehouse: stale!, clock: systemClock }, 'listen')).rejects.toMatchObject({
            name: 'Stop',
            names: [],
            message: expect.stringContaining('was told to hide less since this program opened it'),
          })
          await stale?.close()
        },
        words: 'migrate',
        columns,
        privacy: before,
        rows: 'h1 h1 h1 h1',
      },
    ])
  })

  it('names follow the configuration, without a request', async () => {
    const sandbox = await sandboxOfFile()
    sandbox.store.addTenant({ id: 1 })
    const texts = [{ nick: 'a', make: 'b' }, { nick: ' ' }, { make: 7, nick: { not: 'a text' } }]
    for (const [i, more] of texts.entries())
      sandbox.store.put(1, 'vehicles', { ...template('vehicles', i + 1, at(i)), ...more })
    const desk = new Desk(sandbox, await kind.viewed(), ['vehicles'])
    const call = async (words: string, names: readonly string[]): Promise<unknown[]> => {
      desk.set({ report: { names: { vehicles: names } } })
      await desk.done(words)
      return (await desk.rows('vehicles')).map(({ _name }) => _name)
    }
    expect(await call('sync', ['nick'])).toEqual(['a', null, null])
    const before = sandbox.requests.length
    expect(await call('migrate', ['make', 'nick'])).toEqual(['b a', null, '7'])
    expect(sandbox.requests.length).toBe(before)
  })

  it('records that change meanwhile arrive in the new form, and the watermark moves', async () => {
    const sandbox = await sandboxOfFile()
    sandbox.store.addTenant({ id: 1 })
    // What is within the overlap of the newest one is read, too.
    for (const id of [1, 2, 20]) put({ sandbox }, 'vehicles', id, 1)
    const address = await kind.migrated()
    const plain = await reopen(address)
    await sync(sandbox, plain, { resources: ['vehicles'] })
    const [{ watermark }] = (await rowsOf(plain, 'sync_cursors')) as [{ watermark: string }]
    await plain.close()
    const known = model(resources, { vehicles: { columns: { nick: 'text' } } })
    const warehouse = await reopen(address, known)
    await migrate(warehouse)
    put({ sandbox }, 'vehicles', 1, 2)
    // What is new is fetched, and the whole list can't be read.
    const { cursors } = await sync(sandbox, warehouse, {
      resources: ['vehicles'],
      known,
      around: (source) =>
        new Between(source, async (request, ask) => {
          if (request.updatedAfter?.startsWith('0001')) throw new Skip('cut short', { reason: 'failed' })
          return ask()
        }),
    })
    expect(cursors).toMatchObject([{ status: 'failed' }])
    const [cursor] = (await rowsOf(warehouse, 'sync_cursors')) as [{ watermark: string; refill: string }]
    expect(cursor.refill).toContain('vehicles.nick')
    expect(cursor.watermark > watermark).toBe(true)
    expect((await rowsOf(warehouse, 'vehicles')).map((row) => formOf(row, 'nick'))).toEqual([
      'column',
      'extra',
      'column',
    ])
    await warehouse.close()
  })
})
