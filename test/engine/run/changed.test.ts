/** What a run reports about records: those that were new or changed, and those that it only read again. */
import { describe, expect, it } from 'vitest'
import { sandboxOfFile } from '../../support/harness/sandbox.js'
import { rowsOf, warehouses } from '../../support/harness/warehouse.js'
import { at } from '../../support/world/notes.js'
import { moreThan, OneList } from '../../support/world/onelist.js'

const sandbox = await sandboxOfFile()

describe.each(warehouses())('$name', (kind) => {
  const list = new OneList(sandbox, kind)

  it('counts each new or changed record once, and none that was only read again', async () => {
    await list.begin(130)
    await list.sync({ records_changed: 130, records: moreThan(129) })
    await list.sync({ records_changed: 0, records: moreThan(40) })
    for (const id of [5, 131]) list.put(id, at(10_000))
    await list.sync({ records_changed: 2 })
    list.remove(6)
    await list.reconcile({ records_changed: 0, rows_deleted: 1 })
    await list.full({ records_changed: 0 })
    const stored = (await rowsOf(list.warehouse, 'sync_run_cursors')).map((row) =>
      Number(row.records_changed),
    )
    expect(stored.toSorted((a, b) => a - b)).toEqual([0, 0, 0, 2, 130])
  })
})
