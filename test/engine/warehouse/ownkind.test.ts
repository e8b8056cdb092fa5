/** A tag that shows other tags: rows of its own resource that aren't among the page's records. */
import { describe, expect, it } from 'vitest'
import { known } from '../../support/harness/runs.js'
import { bothWarehouses, open, rowsOf } from '../../support/harness/warehouse.js'

const { embedded } = known
const name = embedded!.name
const inside = embedded!.resource.embeddedAs!

describe.each(bothWarehouses())('$name', (kind) => {
  it('stores newer ones, and leaves older ones as they are', async () => {
    const warehouse = await open(kind)
    const store = (second: number, records: readonly unknown[]) =>
      warehouse.apply({
        tenantId: 7,
        resource: name,
        page: warehouse.encode(embedded!.flatten(7, records, false), { tenantId: 7, resource: name }),
        syncedAt: `2026-02-01T00:00:0${second}.000000Z`,
        statements: [],
      })
    const tag = (id: number, year: number, more = {}) => ({
      id,
      updated_at: `${year}-01-01T00:00:00Z`,
      ...more,
    })

    await store(1, [tag(1, 2024)])
    const { changed } = await store(2, [tag(2, 2024, { [inside]: [tag(1, 1999), tag(3, 1999)] })])
    const rows = async () => (await rowsOf(warehouse, name)).map((row) => [row.id, row.updated_at])
    const year = (text: string) => expect.stringContaining(text)
    expect([await rows(), changed]).toEqual([
      [
        [1, year('2024')],
        [2, year('2024')],
        [3, year('1999')],
      ],
      2,
    ])
  })
})
