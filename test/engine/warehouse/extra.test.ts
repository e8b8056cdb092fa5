/** Two unknown fields whose paths become the same name are both kept in `_extra`, and always under the same names. */
import { describe, expect, it } from 'vitest'
import { number, object } from '../../../schema/resource.js'
import { model } from '../../support/harness/model.js'
import { bothWarehouses, open, rowsOf } from '../../support/harness/warehouse.js'
import { box } from '../../support/world/boxes.js'

const boxes = box({ size: object({ width: number('Width.') }, 'Size.') })
const known = model({ boxes })

const record = {
  id: 1,
  created_at: '2026-01-01T00:00:00Z',
  updated_at: '2026-01-01T00:00:00Z',
  // A member with a dot in its name, and a member of an object: both are `size.unit`.
  'size.unit': 'of the box',
  size: { width: 2, unit: 'of its size' },
  // Postgres can't hold U+0000: it becomes U+FFFD, which another member already has in its name.
  'no\ufffd': 'a mark',
  'no\u0000': 'nothing',
}

describe.each(bothWarehouses())('$name', (kind) => {
  it('keeps both', async () => {
    const warehouse = await open(kind, known)
    const store = async (second: number): Promise<void> => {
      const flattened = known.byName.get('boxes')!.flatten(1, [record], true)
      await warehouse.apply({
        tenantId: 1,
        resource: 'boxes',
        page: warehouse.encode(flattened, { tenantId: 1, resource: 'boxes' }),
        syncedAt: `2026-02-01T00:00:0${second}.000000Z`,
        statements: [],
      })
    }
    for (const second of [1, 2]) {
      await store(second)
      const [row] = await rowsOf(warehouse, 'boxes')
      expect(row?._extra).toEqual({
        'size.unit': 'of its size',
        "size.unit'": 'of the box',
        'no\ufffd': 'a mark',
        "no\ufffd'": 'nothing',
      })
    }
    await warehouse.close()
  })
})
