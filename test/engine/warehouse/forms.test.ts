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

/** A version of a record, with fields that the document doesn't show. */
const put = (sandbox: Sandbox, list: List, id: number, version: number): void =>
  sandbox.store.put(1, list, {
    ...template(list, id, at(id + version * 100)),
    ...(list === 'customers' && { first_name: `Ada ${id}`, last_name: `Byron ${id}` }),
    nick: `nick ${id}.${version}`,
    make: `make ${id}`,
  })
/** Where a row has the field, and as what. */
function formOf(row: Row, field: string): string {
  const { [field]: column = null, _extra } = row
  const extra = (typeof _extra === 'string' ? JSON.parse(_extra) : (_extra ?? {})) as Row
  const ofColumn = column === null ? [] : [/^h\d(?=:)/.exec(String(column))?.[0] ?? 'column']
  return [...ofColumn, ...(field in extra ? ['extra'] : [])].join('+') || '-'
}

interface Settings {
  readonly columns?: Readonly<Record<string, string>>
  readonly privacy?: object
}

/** In a text, … stands for anything. */
const saying = (text: string): RegExp =>
  new RegExp(text.replaceAll(/[.*+?()[\]{}|\\^$]/g, '\\$&').replaceAll('…', '[^]*'), 'i')

/**
 * Plays a life in one warehouse, line by line: settings | commands | exit code, if not 0 | forms of the rows then, by id |
 * those of the versions that have ended, each once | what they say. Other lines are what happens in between.
 */
async function play(
  kind: Kind,
  list: List,
  field: string,
  settings: Readonly<Record<string, Settings>>,
  life: string,
  happens: Readonly<Record<string, (address: Address) => Promise<void>>> = {},
): Promise<void> {
  const sandbox = await sandboxOfFile()
  const address = await kind.viewed()
  sandbox.store.addTenant({ id: 1 })
  for (const id of [1, 2, 3, 4]) put(sandbox, list, id, 1)
  const desk = new Desk(sandbox, address, [list])
  const forms = async (table: string, of: Address): Promise<string[]> => {
    const { rows } = await new Desk(sandbox, of, [list]).look(({ db, dialect }) =>
      sql.raw<Row>(`select * from ${dialect.views().sql.table(table)} order by id`).execute(db),
    )
    return rows.map((row) => formOf(row, field))
  }
  for (const line of life.trim().split('\n')) {
    const [first = '', every, code, rows, ended, says] = line.split('|').map((cell) => cell.trim())
    if (every === undefined) {
      const [what = '', ...ids] = first.split(' ')
      if (what === 'change') for (const id of ids) put(sandbox, list, Number(id), 2)
      else if (what === 'remove') for (const id of ids) sandbox.store.remove(1, list, Number(id))
      else await happens[first]?.(address)
      continue
    }
    const { columns = {}, privacy } = settings[first] ?? {}
    desk.set({ resources: { [list]: { history: true, columns } }, privacy })
    for (const words of every.split(', ')) {
      const before = sandbox.requests.length
      const target = kind.address()
      const to = ['--to', target.url, ...(kind.name === 'sqlite' ? [] : ['--to-schema', target.schema])]
      const done = await desk.run(words, ...(words === 'copy' ? to : []))
      expect([line, done.code, done.stderr]).toEqual([line, Number(code || 0), expect.any(String)])
      if (says) expect(done.stdout + done.stderr, line).toMatch(saying(says))
      if (code === '2' || words === 'migrate') expect(sandbox.requests.length, line).toBe(before)
      const there = words === 'copy' ? target : address
      if (rows) expect((await forms(list, there)).join(' '), line).toBe(rows)
      if (!ended) continue
      const versions = new Set(await forms(`${list}_history`, there))
      expect([...versions].sort().join(' '), line).toBe(ended)
    }
  }
}

const nick = { nick: 'text' }
const pseudonymous = { preset: 'pseudonymous', key }

describe.each(bothWarehouses())('$name', (kind) => {
  // Before the list is read, nothing is wrong. Of the customer, one list is read, and the receipt names the others.
  it('a column is filled by reading its list again, and so is what takes its place; what no list shows keeps its form, and is copied, forgotten and hidden in it', () =>
    play(
      kind,
      'customers',
      'nick',
      { nick: { columns: nick }, hidden: { privacy: pseudonymous } },
      `
             | sync            |   | extra extra extra extra     |              |
      nick   | plan            |   |                             |              | add column nick text
      nick   | migrate         |   | extra extra extra extra     |              |
      nick   | verify --full   |   |                             |              |
      change 1
      nick   | sync            |   | column column column column | extra        |
      remove 2 4
      nick   | reconcile       |   | column column column column | column extra |
             | plan            |   |                             |              | leave the column nick, which is no longer configured
             | sync            |   | extra column extra column   |              |
             | verify --full   |   |                             |              |
      remove 3
             | reconcile       |   | extra column extra column   |              |
             | copy            |   | extra column extra column   | column extra |
             | forget --tenant 1 --customer 2 --yes | 1 | extra - extra column | |
      hidden | migrate         |   | - - - -                     | -            |
      `,
    ))
})

/** What is above the dialects: on each of them, hiding.test.ts shows how rows are rewritten. */
describe.each(warehouses())('$name', (kind) => {
  // What no list shows any more loses its pseudonym when the list is through; ended versions keep that of their time.
  it('privacy that hides more rewrites what is stored; less, or another key under the same version, is refused; a new version replaces all pseudonyms', () => {
    const customers = { first_name: 'hash' }
    return play(
      kind,
      'customers',
      'first_name',
      {
        hashed: { privacy: { key, customers } },
        keyless: { privacy: { customers } },
        wrong: { privacy: { key: otherKey, customers } },
        second: { privacy: { key: otherKey, customers, keyVersion: 2 } },
      },
      `
              | sync      |   | column column column column | |
      change 1
      remove 2
              | reconcile |   |             | column | |
      hashed  | plan      |   |             |        | customers: hide the stored values of first_name
      hashed  | migrate   |   | h1 h1 h1 h1 | h1     |
              | sync      | 2 |             |        | hides customers.first_name, and this…migrate --loosen-privacy
      keyless | sync      | 2 |             |        | privacy.key: missing
      wrong   | sync, migrate, reconcile, snapshot, quarantine replay | 2 | | | another key of version 1…keyVersion to 2
      wrong   | status, plan, runs, why customers 1 | | | |
      second  | sync      |   | h2 h1 h2 h2 |        |
      second  | sync      |   | h2 - h2 h2  | h1     |
      hashed  | sync      | 2 |             |        | keyVersion 2
              | migrate --loosen-privacy | | h2 - h2 h2 | | first_name may be stored again: the next sync reads customers whole;…deleted row…among them
              | status    |   |             |        | because privacy hides less
              | sync      |   | column - column column | |
      `,
    )
  })

  it('a promoted column that is taken out while it is hashed is dropped with _extra, or refused', () => {
    const hash = { nick: 'hash' }
    return play(
      kind,
      'customers',
      'nick',
      {
        hashed: { columns: nick, privacy: { key, customers: hash } },
        'taken out': { privacy: { key, customers: hash } },
        kept: { privacy: { key } },
        dropped: { privacy: { key, customers: { _extra: 'drop' } } },
      },
      `
      hashed    | sync              |   | h1 h1 h1 h1 | |
      taken out | sync              | 2 |             | | privacy.customers.nick …found the unknown key
      kept      | sync              | 2 |             | | hides customers.nick, and
      dropped   | sync, sync --full |   | - - - -     | |
      `,
    )
  })

  it('what the preset of an earlier version hid stays hidden until it is loosened, and the preset keeps it from then on', async () => {
    const columns = { make: 'text' } as const
    const policy: Privacy = { preset: 'pseudonymous', columns: {}, key: Buffer.alloc(32, 3), keyVersion: 1 }
    const known = model(resources, { vehicles: { columns, history: true } }, policy)
    let stale: Awaited<ReturnType<typeof openWarehouse>> | undefined
    await play(
      kind,
      'vehicles',
      'make',
      {
        before: { columns, privacy: { ...pseudonymous, vehicles: { make: 'hash' } } },
        keeping: { columns, privacy: { ...pseudonymous, vehicles: { make: 'keep' } } },
        now: { columns, privacy: pseudonymous },
      },
      `
      before  | sync  |   | h1 h1 h1 h1 | |
      keeping | sync  | 2 |             | | hides vehicles.make, and this configuration does not
      now     | sync --full, reconcile, snapshot, verify, migrate, plan | | h1 h1 h1 h1 | |
      now     | check |   |             | | vehicles.make stay hidden as before, although the preset no longer hides
      another program opens it
      now     | migrate --loosen-privacy | | | |
      now     | sync  |   | column column column column | |
      that program does not hide it again
      before  | migrate | | h1 h1 h1 h1 | |
      `,
      {
        'another program opens it': async (address) => {
          stale = await openWarehouse({ ...address, model: known, rowSettings: new RowSettings('{}') })
          await migrate(stale)
        },
        'that program does not hide it again': async () => {
          await expect(openLease({ warehouse: stale!, clock: systemClock }, 'listen')).rejects.toMatchObject({
            name: 'Stop',
            names: [],
            message: expect.stringContaining('was told to hide less since this program opened it'),
          })
          await stale?.close()
        },
      },
    )
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
    for (const id of [1, 2, 20]) put(sandbox, 'vehicles', id, 1)
    const address = await kind.migrated()
    const plain = await reopen(address)
    await sync(sandbox, plain, { resources: ['vehicles'] })
    const [{ watermark }] = (await rowsOf(plain, 'sync_cursors')) as [{ watermark: string }]
    await plain.close()
    const known = model(resources, { vehicles: { columns: { nick: 'text' } } })
    const warehouse = await reopen(address, known)
    await migrate(warehouse)
    put(sandbox, 'vehicles', 1, 2)
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
