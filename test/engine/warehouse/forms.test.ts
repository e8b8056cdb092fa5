/**
 * A field has a form: in `_extra`, in a column of its own, hidden. The configuration says which, and may change it. The list
 * is read again, and both forms stand meanwhile; what no list shows keeps its form, and is copied, hidden and forgotten in it.
 * Privacy that hides more rewrites what is stored, without a request; privacy that hides less is refused until it is told to.
 */
import { sql } from 'kysely'
import { expect } from 'vitest'
import { resources } from '../../../schema/index.js'
import { systemClock } from '../../../src/engine/base/clock.js'
import type { Privacy } from '../../../src/engine/config/treatment.js'
import { template } from '../../../src/sandbox/index.js'
import { Desk } from '../../support/harness/desk.js'
import { model } from '../../support/harness/model.js'
import type { Address } from '../../support/harness/place.js'
import { sandboxOfFile } from '../../support/harness/sandbox.js'
import {
  bothWarehouses,
  type Kind,
  migrate,
  openLease,
  RowSettings,
  reopen,
  type Warehouse,
} from '../../support/harness/warehouse.js'
import {
  type AtDesk,
  anywhere,
  deskWords,
  idsOf,
  Steps,
  storyTests,
  type WordsOf,
} from '../../support/world/stories.js'

const key = Buffer.alloc(32, 3).toString('base64')
const otherKey = Buffer.alloc(32, 4).toString('base64')
const at = (n: number): string => new Date(Date.parse('2026-01-01T00:00:00Z') + n * 600_000).toISOString()

type Row = Readonly<Record<string, unknown>>
type List = 'customers' | 'vehicles'

const sandbox = await sandboxOfFile()

/** A version of a record, with fields that the document doesn't show. */
const put = (list: List, id: number, version: number): void =>
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

/** A warehouse whose settings change, of which a field is looked at. */
interface Formed extends AtDesk {
  readonly kind: Kind
  list: List
  field: string
  /** A program that opened it before. */
  stale?: Warehouse
}

async function formsIn({ list, field }: Formed, address: Address): Promise<string> {
  const desk = new Desk(sandbox, address, [list])
  const forms = (table: string): Promise<string[]> =>
    desk.look(async ({ db, dialect }) => {
      const query = sql.raw<Row>(`select * from ${dialect.views().sql.table(table)} order by id`)
      return (await query.execute(db)).rows.map((row) => formOf(row, field))
    })
  const ended = [...new Set(await forms(`${list}_history`))].sort()
  return (await forms(list)).join(' ') + (ended.length > 0 ? `, ended ${ended.join(' ')}` : '')
}

const words: WordsOf<Formed> = {
  'four (customers|vehicles), of which WORD is looked at': async (story, list, field) => {
    const { kind } = story
    Object.assign(story, { list, field })
    sandbox.reset()
    sandbox.store.addTenant({ id: 1 })
    for (const id of [1, 2, 3, 4]) put(story.list, id, 1)
    story.desk = new Desk(sandbox, await kind.viewed(), [list!])
    story.desk.set({ resources: { [list!]: { history: true } } })
  },
  'config REST': ({ desk, list }, text) => {
    const settings = JSON.parse(text!.replace('"KEY"', `"${key}"`).replace('"OTHER"', `"${otherKey}"`))
    const { columns = {}, privacy, names } = settings as Record<string, object>
    const report = names && { names: { [list]: names } }
    desk.set({ resources: { [list]: { history: true, columns } }, privacy, report })
  },
  'record N has REST': ({ list }, id, fields) =>
    sandbox.store.put(1, list, { ...template(list, Number(id), at(Number(id))), ...JSON.parse(fields!) }),
  'request N for its list is refused': ({ list }, nth) => {
    const when = { resource: list, kind: 'list', nth: Number(nth) } as const
    sandbox.script([{ when, fault: { kind: 'status', status: 403 } }])
  },
  names: async ({ desk, list }) => (await desk.rows(list)).map(({ _name }) => _name ?? '-').join(', '),
  cursor: async ({ desk }) => {
    const [{ watermark, refill }] = (await desk.rows('sync_cursors')) as [Record<string, unknown>]
    return `to ${watermark}, ${/[a-z]+\.[a-z]+/.exec(String(refill))?.[0] ?? 'nothing'} is read again`
  },
  'change IDS': ({ list }, ids) => {
    for (const id of idsOf(ids!)) put(list, id, 2)
  },
  'remove IDS': ({ list }, ids) => {
    for (const id of idsOf(ids!)) sandbox.store.remove(1, list, id)
  },
  '\\$ REST': async (story, command) => {
    const before = sandbox.requests.length
    const told = await deskWords['\\$ REST']!(story, command!)
    if (command === 'migrate' || String(told).startsWith('exit 2'))
      expect(sandbox.requests.length).toBe(before)
    return told
  },
  // One database writes its types in capitals.
  'says REST': async (story, text) =>
    String(await deskWords['says REST']!(story, text!)).replaceAll('TEXT', 'text'),
  forms: (story) => formsIn(story, story.desk.address),
  'forms of a copy': async (story) => {
    const { url, schema } = story.kind.address()
    await story.desk.done('copy --to', url, ...(story.kind.name === 'sqlite' ? [] : ['--to-schema', schema]))
    return formsIn(story, { url, schema })
  },
  'another program opens it': async (story) => {
    const policy: Privacy = { preset: 'pseudonymous', columns: {}, key: Buffer.alloc(32, 3), keyVersion: 1 }
    const known = model(resources, { vehicles: { columns: { make: 'text' }, history: true } }, policy)
    const rowSettings = new RowSettings('{}')
    story.stale = await reopen({ ...story.desk.address, rowSettings }, known)
    await migrate(story.stale)
  },
  'that program takes the lease': ({ stale }) =>
    openLease({ warehouse: stale!, clock: systemClock }, 'listen').then(
      () => 'it does',
      (error: Error) => anywhere(`${error.name}: ${error.message}`),
    ),
}

const steps = new Steps(words)
const begin = (kind: Kind) => () => ({ kind }) as Formed
storyTests('test/engine/warehouse/forms.txt', steps, begin, bothWarehouses())
// What is above the dialects: on each of them, hiding.test.ts shows how rows are rewritten.
storyTests('test/engine/warehouse/looser.txt', steps, begin)
