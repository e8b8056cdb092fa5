/** Law 5: at every commit, every record at or before a committed watermark is in the warehouse. */
import { expect, it } from 'vitest'
import { template } from '../../src/sandbox/index.js'
import { fromMicros } from '../../src/timestamp.js'
import type { Batch } from '../../src/warehouse/batch.js'
import { moveCursor } from '../../src/warehouse/cursors.js'
import type { Warehouse } from '../../src/warehouse/warehouse.js'
import { sync } from '../support/run.js'
import { sandboxOfFile } from '../support/sandbox.js'
import { describeBothWays, open } from '../support/warehouse.js'

const base = 1_767_225_600_000_000n
const at = (n: number): string => fromMicros(base + BigInt(n) * 1_000_000n)

const sandbox = await sandboxOfFile()

/** Records of the source that a committed watermark passes without their being stored. */
async function passedBy(warehouse: Warehouse): Promise<number> {
  const cursor = await warehouse.db.selectFrom('sync_cursors').select('watermark').executeTakeFirst()
  if (!cursor?.watermark) return 0
  const rows = await warehouse.db.selectFrom('notes').select(['id', 'updated_at']).execute()
  const stored = new Map(rows.map((row) => [row.id, row.updated_at]))
  return sandbox.store
    .all(1, 'notes')
    .filter((record) => String(record.updated_at) <= (cursor.watermark ?? ''))
    .filter((record) => (stored.get(Number(record.id)) ?? '') < String(record.updated_at)).length
}

/** Looks after every commit of a page. */
function watched(
  warehouse: Warehouse,
  found: number[],
  change: (batch: Batch) => Batch = (batch) => batch,
): Warehouse {
  return new Proxy(warehouse, {
    get: (target, name) => {
      if (name === 'apply')
        return async (batch: Batch) => {
          const applied = await target.apply(change(batch))
          found.push(await passedBy(target))
          return applied
        }
      const value = Reflect.get(target, name, target) as unknown
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
}

function prepare(): () => void {
  sandbox.reset()
  sandbox.store.addTenant({ id: 1 })
  for (let id = 1; id <= 350; id++) sandbox.store.put(1, 'notes', template('notes', id, at(id)))
  let requests = 0
  return sandbox.onRequest(({ resource }) => {
    if (resource !== 'notes') return
    requests++
    sandbox.store.put(1, 'notes', template('notes', 1000 + requests, at(1000 + requests)))
    sandbox.store.change(1, 'notes', 3 * requests, { description: 'changed' })
  })
}

describeBothWays((kind) => {
  it('holds at every commit of a walk under motion', async () => {
    const stop = prepare()
    const warehouse = await open(kind)
    const found: number[] = []
    for (let run = 0; run < 3; run++) await sync(sandbox, watched(warehouse, found), { resources: ['notes'] })
    stop()
    expect(found.length).toBeGreaterThan(5)
    expect(found.filter((count) => count > 0)).toEqual([])
    await warehouse.close()
  })

  it('would notice a watermark that moves with the first page (mutant)', async () => {
    const stop = prepare()
    const warehouse = await open(kind)
    const found: number[] = []
    const early = (batch: Batch): Batch => {
      const watermark = batch.page.records[0]?.updatedAt ?? null
      const moved = moveCursor(
        warehouse.db,
        { tenantId: batch.tenantId, resource: batch.resource },
        { watermark },
      )
      return { ...batch, statements: [...batch.statements, moved] }
    }
    await sync(sandbox, watched(warehouse, found, early), { resources: ['notes'] })
    stop()
    expect(found.some((count) => count > 0)).toBe(true)
    await warehouse.close()
  })
})
