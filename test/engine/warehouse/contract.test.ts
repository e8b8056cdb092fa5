/**
 * What every database has to make of pages, one after the other: which version stands, what becomes of nested rows, what a
 * batch says of itself. The code above relies on it, so that is tested on only one of them.
 */
import { type CompiledQuery, type Expression, type Kysely, sql } from 'kysely'
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
import { Steps, storyTests, type WordsOf } from '../../support/world/stories.js'

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
const idOf = (text: string): number | bigint => (text === 'far' ? far : exact(BigInt(text)))

/** `12 3 4 a b`: a tray, the sizes of its slots, and its tags, which are its marks, too. */
function trayOf(text: string): object {
  const [id, ...all] = text.split(' ')
  const tags = all.filter((one) => /\D/.test(one))
  const slots = all.filter((one) => !tags.includes(one)).map((size) => ({ size: Number(size) }))
  return { id: Number(id), tags, marks: tags, slots }
}

/** `1v2 =name: 1 bolt, 2 nut [12 3 4 a b, 13 5] wide`: a record, its version, name, parts and trays, and whether it is odd. */
function recordOf(text: string): object {
  const [, id = '', version, name, parts, trays, odd] =
    /^(\w+)v(\d)(?: =([\w ]+))?(?:: ([^[]*))?(?: ?\[(.*)\])?( wide)?$/.exec(text) ?? []
  const items = (parts?.split(', ') ?? []).map((part) => part.split(/ (.*)/))
  return {
    id: idOf(id),
    created_at: at(0),
    updated_at: at(Number(version)),
    name: name ?? `box ${idOf(id)}`,
    parts: items.map(([of = '', called]) => ({ id: idOf(of), name: called })),
    trays: trays?.split(', ').map(trayOf) ?? [],
    width: odd ? 'wide' : 1,
  }
}

/** Made-up tables aren't in the database's type. */
const anyTable = ({ db }: Warehouse) => db as unknown as Kysely<Record<string, Record<string, unknown>>>

const store = (
  warehouse: Warehouse,
  second: number,
  records: string,
  tenantId = 7,
  statements: CompiledQuery[] = [],
) => {
  const key = { tenantId, resource: 'boxes' }
  const page = warehouse.encode(boxes.flatten(tenantId, records.split(' / ').map(recordOf), true), key)
  return warehouse.apply({ ...key, page, syncedAt: at(second), statements })
}

/** Each record with the second of the request that brought it. */
async function stored(warehouse: Warehouse): Promise<string> {
  const nested = await rowsOf(warehouse, 'box_parts')
  const all = (await rowsOf(warehouse, 'boxes')).flatMap((row) => {
    if (row.tenant_id !== 7) return []
    const own = nested.filter(({ tenant_id, box_id }) => tenant_id === 7 && box_id === row.id)
    const name = row.name === `box ${row.id}` ? '' : ` =${row.name}`
    const parts = own.length > 0 ? `: ${own.map((part) => part.name).join(', ')}` : ''
    const gone = row._deleted_at ? ' gone' : ''
    return `${row.id}v${secondOf(row.updated_at)}${name}${parts} @${secondOf(row._synced_at)}${gone}`
  })
  return all.join(' / ')
}

const words: WordsOf<Warehouse> = {
  '(?:tenant N )?@N REST': async (warehouse, tenant, second, records) => {
    const said = await store(warehouse, Number(second), records!, Number(tenant ?? 7))
    const counts = ['written', 'changed', 'removed', 'stale'] as const
    return counts.flatMap((what) => (said[what] ? `${said[what]} ${what}` : [])).join(', ') || 'nothing'
  },
  'all are marked as deleted at N': async (warehouse, second) => {
    const stamp = at(Number(second))
    await anyTable(warehouse).updateTable('boxes').set({ _deleted_at: stamp, _synced_at: stamp }).execute()
  },
  'the boxes are gone, and their parts are not': async (warehouse) => {
    await anyTable(warehouse).deleteFrom('boxes').execute()
  },
  stored,
  '(slots|tags|marks)': async (warehouse, what) => {
    const rows = await rowsOf(warehouse, `box_${what}`)
    const column = { slots: 'size', tags: 'tag', marks: 'mark' }[what!]!
    return `${what}: ${rows.map((row) => [row.box_id, row.tray_id, row.position, row[column]].join(' ')).join(', ')}`
  },
  quarantine: async (warehouse) => {
    const rows = await rowsOf(warehouse, 'sync_quarantine')
    return rows
      .map((row) => `${row.record_id} ${row.path}`)
      .toSorted()
      .join(', ')
  },
}

storyTests(
  'test/engine/warehouse/contract.txt',
  new Steps(words),
  (kind) => kept(kind, known).open,
  bothWarehouses(),
)

describe.each(bothWarehouses())('$name', (kind) => {
  const place = kept(kind, known)
  let warehouse: Warehouse
  beforeEach(async () => {
    warehouse = await place.open()
  })

  it('a batch that fails leaves nothing of itself', async () => {
    await store(warehouse, 1, '1v1')
    const broken = sql`select nothing from nowhere`.compile(warehouse.db)
    await expect(store(warehouse, 2, '1v2 / 2v2: 1 bolt', 7, [broken])).rejects.toThrow()
    expect(await stored(warehouse)).toBe('1v1 @1')
    expect(await rowsOf(warehouse, 'box_parts')).toEqual([])
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
    const halves = await Promise.all(
      [0, 1].map((index) => readCursors(warehouse, { shard: { index, of: 2 } })),
    )
    expect(halves.every(({ size }) => size > 0)).toBe(true)
    expect(halves.flatMap((half) => [...half.keys()]).sort()).toEqual([...all.keys()].sort())
  })

  it('one instant shows nothing that is written later', async () => {
    await store(warehouse, 1, '1v1')
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
      await store(warehouse, 2, '2v1')
      return [before, await count()]
    })
    expect(seen).toEqual([1, 1])
    expect(await stored(warehouse)).toBe('1v1 @1 / 2v1 @2')
  })

  it('reads members of _extra without parsing a number', async () => {
    const { extra } = warehouse.dialect.sql
    await store(warehouse, 1, '1v1')
    const asked = async (value: Expression<unknown>): Promise<unknown> => {
      const [row] = await anyTable(warehouse).selectFrom('boxes').select(sql`${value}`.as('v')).execute()
      return row?.v
    }
    const long = '12345678901234567.10'
    const _extra = `{"a.b": ${long}, "quo\\"te": null}`
    await anyTable(warehouse).updateTable('boxes').set({ _extra }).execute()
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
