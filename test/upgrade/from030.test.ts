/** What 0.3.0 wrote and 0.4.0 doesn't: it stays as it was, and what stands for it holds from the first run on. */
import { describe, expect, it } from 'vitest'
import { sync } from '../support/harness/runs.js'
import { sandboxOfFile } from '../support/harness/sandbox.js'
import { bothWarehouses, migrate, reopen, rowsOf } from '../support/harness/warehouse.js'
import { registersAgree } from '../support/oracle/registers.js'
import { fill, lose } from '../support/world/notes.js'

const sandbox = await sandboxOfFile()
const notes = { resources: ['notes'] }

describe.each(bothWarehouses())('$name', (kind) => {
  it('registers go on without their sketches', async () => {
    sandbox.reset()
    sandbox.store.addTenant({ id: 1 })
    fill(sandbox, 900)
    const warehouse = await reopen(await kind.migrated())
    await sync(sandbox, warehouse, notes)
    const { db } = warehouse
    await db.schema.alterTable('sync_registers').addColumn('sketch', 'text').execute()
    const sketch = { sketch: 'of before' } as object
    const meta = { schema_version: '4', model: 'of before' }
    await warehouse.write([
      db.updateTable('sync_registers').set(sketch).compile(),
      ...Object.entries(meta).map(([name, value]) =>
        db.updateTable('sync_meta').set({ value }).where('name', '=', name).compile(),
      ),
    ])
    await migrate(warehouse)
    expect(await rowsOf(warehouse, 'sync_meta')).toContainEqual({ name: 'schema_version', value: '5' })

    fill(sandbox, 2, { from: 901 })
    sandbox.store.remove(1, 'notes', 3)
    const counted = await sync(sandbox, warehouse, { ...notes, mode: 'reconcile' })
    expect(counted.cursors[0]?.reconciled).toMatchObject({ deleted: 1, stored: 0 })
    // The two cancel out in every count but one between them.
    await lose(warehouse, [500])
    sandbox.store.remove(1, 'notes', 501)
    const listed = await sync(sandbox, warehouse, { ...notes, mode: 'reconcile' })
    expect(listed.cursors[0]?.reconciled).toMatchObject({ method: 'listing', deleted: 1, stored: 1 })
    await registersAgree(warehouse, 1)
    expect(await rowsOf(warehouse, 'sync_registers')).toMatchObject([{ live_rows: 900, ...sketch }])
    await warehouse.close()
  })
})
