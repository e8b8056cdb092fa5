/**
 * What every database has to make of pages, one after the other: which version stands, what becomes of nested rows, what a
 * batch says of itself. The code above relies on it, so that is tested on only one of them.
 */
import { type Expression, type Kysely, sql } from 'kysely'
import { beforeEach, describe, expect, it } from 'vitest'
import { id, integer, many, number, scalars, text } from '../../../schema/resource.js'
import { exact } from '../../../src/engine/base/int64.js'
import { model } from '../../support/harness/model.js'
import { known as usual } from '../../support/harness/runs.js'
import {
  bothWarehouses,
  kept,
  readCursors,
  reopen,
  rowsOf,
  type Warehouse,
} from '../../support/harness/warehouse.js'
import { box as boxOf } from '../../support/world/boxes.js'

const parts = many({ table: 'parts', key: 'id', fields: { id: id('Id.'), name: text('Name.') } }, 'Parts.')
// Items without ids inside other items: their keys name every owner, so positions under two owners don't collide.
const slots = many({ table: 'slots', key: 'position', fields: { size: integer('Size.') } }, 'Slots.')
const tags = scalars({ table: 'tags', column: 'tag', key: 'position', of: text('Tag.') }, 'Tags.')
const marks = scalars({ table: 'marks', column: 'mark', key: 'value', of: text('Mark.') }, 'Marks.')
const trays = many(
  { table: 'trays', key: 'id', ownerColumn: 'tray_id', fields: { id: id('Id.'), slots, tags, marks } },
  'Trays.',
)
const known = model({ boxes: boxOf({ name: text('Name.'), width: number('Width.'), parts, trays }) })
const boxes = known.byName.get('boxes')!

/** An id that no double can hold. */
const far = 9_007_199_254_740_993n
const at = (second: number): string => `2026-02-01T00:00:0${second}.000000Z`
const secondOf = (stamp: unknown): string => String(stamp).slice(18, 19)

/** A record in that version. */
const box = (id: number | bigint, version: number, more: object = {}) => ({
  id,
  created_at: at(0),
  updated_at: at(version),
  name: `box ${id}`,
  ...more,
})
const tray = (id: number, sizes: readonly number[], tags: readonly string[]) => ({
  id,
  tags,
  marks: tags,
  slots: sizes.map((size) => ({ size })),
})

const idOf = (text: string): number | bigint => (text === 'far' ? far : exact(BigInt(text)))
/** `1v2 =name: 1 bolt, 2 nut`: a record, its version, its name if that isn't the usual one, its parts. */
function recordOf(text: string): object {
  const [, id = '', version, name, parts] = /^(\w+)v(\d)(?: =([\w ]+))?(?:: (.*))?$/.exec(text) ?? []
  const items = (parts?.split(', ') ?? []).map((part) => part.split(/ (.*)/))
  return box(idOf(id), Number(version), {
    ...(name && { name }),
    parts: items.map(([of = '', called]) => ({ id: idOf(of), name: called })),
  })
}

/**
 * Pages, each with the second at which it was asked for, and what somebody does to the rows; what is stored then, as
 * `record @second of its request`; what the last page says of itself.
 */
const lives: readonly [what: string, events: readonly string[], stored: readonly string[], last: object][] = [
  ['a newer version stands, whenever it was asked for', ['@3 1v1', '@2 1v2'], ['1v2 @2'], { changed: 1 }],
  [
    'an older version never overwrites a newer one',
    ['@2 1v2', '@3 1v1 =older'],
    ['1v2 @2'],
    { written: 0, stale: 1 },
  ],
  [
    'of one version, what was asked for first is stale',
    ['@2 1v2', '@1 1v2 =b'],
    ['1v2 @2'],
    { written: 0, stale: 1 },
  ],
  [
    'of one version, what was asked for last stands',
    ['@2 1v2; 2v2', '@3 1v2 =after; 2v2'],
    ['1v2 =after @3', '2v2 @3'],
    { written: 1, stale: 0 },
  ],
  [
    'the same again only moves its stamp',
    ['@1 1v1: 1 bolt', '@2 1v1: 1 bolt'],
    ['1v1: bolt @2'],
    { written: 0, changed: 0, removed: 0 },
  ],
  [
    'a tombstone stands against what was asked for before it',
    ['@1 1v1', 'all are marked as deleted at 2', '@2 1v3'],
    ['1v1 @2 gone'],
    { written: 0, stale: 1 },
  ],
  [
    'a tombstone yields to what was asked for after it',
    ['@1 1v1', 'all are marked as deleted at 2', '@3 1v1'],
    ['1v1 @3'],
    { written: 1 },
  ],
  [
    'ids are told apart beyond 2^53, and tenants',
    ['@1 farv1; 9007199254740992v1', 'tenant 8 @2 farv2 =of another', '@3 farv2 =newer'],
    ['9007199254740992v1 @1', `${far}v2 =newer @3`],
    { changed: 1 },
  ],
  [
    'nested rows are those of the new version, and of no other record',
    ['@1 1v1: 1 bolt, far nut; 2v1: 1 belt', '@2 1v2: far nut'],
    ['1v2: nut @2', '2v1: belt @1'],
    { removed: 1 },
  ],
  [
    'nested rows alone may be others under the same version',
    ['@1 1v1: 1 bolt; 2v1: 1 belt', '@2 1v1: 1 a better bolt, 2 nut; 2v1: 1 belt'],
    ['1v1: a better bolt, nut @2', '2v1: belt @2'],
    { written: 2, removed: 0 },
  ],
  [
    'nested rows of an older version are not stored',
    ['@2 1v2: 1 bolt', '@3 1v1: 1 older, 2 nut'],
    ['1v2: bolt @2'],
    { written: 0, removed: 0, stale: 1 },
  ],
  [
    'a record is stored whose nested rows are there without it',
    [
      '@1 1v1: 1 bolt, 2 nut',
      'the boxes are gone, and their parts are not',
      '@2 1v2: 1 bolt, 2 a better nut, 3 belt',
    ],
    ['1v2: bolt, a better nut, belt @2'],
    { changed: 1 },
  ],
]

describe.each(bothWarehouses())('$name', (kind) => {
  const place = kept(kind, known)
  let warehouse: Warehouse
  beforeEach(async () => {
    warehouse = await place.open()
  })
  /** Made-up tables aren't in the database's type. */
  const anyTable = () => warehouse.db as unknown as Kysely<Record<string, Record<string, unknown>>>

  const store = (tenantId: number, second: number, records: readonly object[], more: object = {}) => {
    const key = { tenantId, resource: 'boxes' }
    const page = warehouse.encode(boxes.flatten(tenantId, records, true), key)
    return warehouse.apply({ ...key, page, syncedAt: at(second), statements: [], ...more })
  }

  async function happens(event: string): Promise<unknown> {
    if (event === 'all are marked as deleted at 2')
      return anyTable()
        .updateTable('boxes')
        .set({ _deleted_at: at(2), _synced_at: at(2) })
        .execute()
    if (event === 'the boxes are gone, and their parts are not')
      return anyTable().deleteFrom('boxes').execute()
    const [, tenant = 7, second, records = ''] = /^(?:tenant (\d) )?@(\d) (.*)$/.exec(event) ?? []
    return store(Number(tenant), Number(second), records.split('; ').map(recordOf))
  }

  async function stored(): Promise<string[]> {
    const nested = await rowsOf(warehouse, 'box_parts')
    return (await rowsOf(warehouse, 'boxes')).flatMap((row) => {
      if (row.tenant_id !== 7) return []
      const own = nested.filter(({ tenant_id, box_id }) => tenant_id === 7 && box_id === row.id)
      const name = row.name === `box ${row.id}` ? '' : ` =${row.name}`
      const parts = own.length > 0 ? `: ${own.map((part) => part.name).join(', ')}` : ''
      const gone = row._deleted_at ? ' gone' : ''
      return `${row.id}v${secondOf(row.updated_at)}${name}${parts} @${secondOf(row._synced_at)}${gone}`
    })
  }

  it.each(lives)('%s', async (_what, events, wanted, last) => {
    let said: unknown
    for (const event of events) said = await happens(event)
    expect(await stored()).toEqual(wanted)
    expect(said).toMatchObject(last)
  })

  it('items without ids are stored for each owner, and exactly those of the new version', async () => {
    const nested = async (table: string, value: string) =>
      (await rowsOf(warehouse, table)).map((row) =>
        [row.box_id, row.tray_id, row.position, row[value]].join(' '),
      )
    await store(7, 1, [
      box(1, 1, { trays: [tray(11, [3, 4], ['a', 'b']), tray(12, [5], ['a'])] }),
      box(2, 1, { trays: [tray(21, [6], [])] }),
    ])
    expect(await nested('box_slots', 'size')).toEqual(['1 11 0 3', '1 11 1 4', '1 12 0 5', '2 21 0 6'])
    for (const [table, value] of [
      ['box_tags', 'tag'],
      ['box_marks', 'mark'],
    ] as const)
      expect(await nested(table, value)).toEqual(['1 11 0 a', '1 11 1 b', '1 12 0 a'])
    await store(7, 2, [box(1, 2, { trays: [tray(12, [7, 8], ['c'])] })])
    expect(await nested('box_slots', 'size')).toEqual(['1 12 0 7', '1 12 1 8', '2 21 0 6'])
    expect(await nested('box_tags', 'tag')).toEqual(['1 12 0 c'])
  })

  it('a batch that fails leaves nothing of itself', async () => {
    await store(7, 1, [box(1, 1)])
    const broken = sql`select nothing from nowhere`.compile(warehouse.db)
    const page = ['1v2', '2v2: 1 bolt'].map(recordOf)
    await expect(store(7, 2, page, { statements: [broken] })).rejects.toThrow()
    expect(await stored()).toEqual(['1v1 @1'])
    expect(await rowsOf(warehouse, 'box_parts')).toEqual([])
  })

  it('what a later version no longer has of oddities leaves quarantine, and an older one changes nothing there', async () => {
    const left = async () =>
      (await rowsOf(warehouse, 'sync_quarantine')).map((row) => [row.record_id, row.path].join(' '))
    const odd = { width: 'wide' }
    await store(7, 2, [box(1, 2, odd), box(2, 2, odd), box(3, 2, odd)])
    await store(7, 3, [box(1, 2), box(2, 1), box(3, 3, odd)])
    expect((await left()).toSorted()).toEqual(['2 width', '3 width'])
  })

  it('reads the states of more lists than one read takes, each once', async () => {
    const resources = ['notes', 'payments', 'payment_transactions']
    const tenants = [...Array.from({ length: 1400 }, (_, i) => i + 1), far]
    const lists = tenants.flatMap((tenant_id) => resources.map((resource) => ({ tenant_id, resource })))
    for (let i = 0; i < lists.length; i += 500) {
      const some = warehouse.db.insertInto('sync_cursors').values(lists.slice(i, i + 500))
      await warehouse.write([some.compile()])
    }
    const all = await readCursors(warehouse)
    expect(new Set(all.keys())).toEqual(new Set(lists.map((list) => `${list.tenant_id} ${list.resource}`)))
    const halves = await Promise.all([0, 1].map((index) => readCursors(warehouse, { index, of: 2 })))
    expect(halves.every(({ size }) => size > 0)).toBe(true)
    expect(halves.flatMap((half) => [...half.keys()]).sort()).toEqual([...all.keys()].sort())
  })

  it('one instant shows nothing that is written later', async () => {
    await store(7, 1, [box(1, 1)])
    const other = await reopen(place.address, known)
    const seen = await other.dialect.atOneInstant(async ({ db }) => {
      const count = async (): Promise<number> =>
        (
          await db
            .selectFrom('boxes' as 'tenants')
            .selectAll()
            .execute()
        ).length
      const before = await count()
      await store(7, 2, [box(2, 1)])
      return [before, await count()]
    })
    await other.close()
    expect(seen).toEqual([1, 1])
    expect(await stored()).toHaveLength(2)
  })

  it('reads members of _extra without parsing a number', async () => {
    const { extra } = warehouse.dialect.sql
    await store(7, 1, [box(1, 1)])
    const asked = async (value: Expression<unknown>): Promise<unknown> => {
      const [row] = await anyTable().selectFrom('boxes').select(sql`${value}`.as('v')).execute()
      return row?.v
    }
    const long = '12345678901234567.10'
    const _extra = `{"a.b": ${long}, "quo\\"te": null}`
    await anyTable().updateTable('boxes').set({ _extra }).execute()
    const there = [
      await asked(extra.has('a.b')),
      await asked(extra.has('quo"te')),
      await asked(extra.has('a')),
    ]
    expect(there.map(Boolean)).toEqual([true, true, false])
    expect(await asked(sql`cast(${extra.member('a.b')} as text)`)).toBe(long)
  })
})

/** A tag that shows other tags: rows of its own resource that aren't among the page's records. */
describe.each(bothWarehouses())('$name', (kind) => {
  const place = kept(kind)
  const { embedded } = usual
  const resource = embedded!.name
  const tag = (id: number, year: number, ...others: object[]) => ({
    id,
    updated_at: `${year}-01-01T00:00:00Z`,
    ...(others.length > 0 && { [embedded!.resource.embeddedAs!]: others }),
  })

  it('a record that shows others of its own list stores newer ones, and leaves older ones as they are', async () => {
    const warehouse = await place.open()
    const store = (second: number, ...records: object[]) => {
      const page = warehouse.encode(embedded!.flatten(7, records, false), { tenantId: 7, resource })
      return warehouse.apply({ tenantId: 7, resource, page, syncedAt: at(second), statements: [] })
    }
    await store(1, tag(1, 2024))
    const { changed } = await store(2, tag(2, 2024, tag(1, 1999), tag(3, 1999)))
    const years = (await rowsOf(warehouse, resource)).map((row) => String(row.updated_at).slice(0, 4))
    expect([changed, ...years]).toEqual([2, '2024', '2024', '1999'])
  })
})
