/** The stories of cost.txt, and what an idle warehouse costs. */
import { describe, expect, it } from 'vitest'
import { systemClock } from '../../../src/engine/base/clock.js'
import { Killed, sync } from '../../support/harness/runs.js'
import { sandboxOfFile } from '../../support/harness/sandbox.js'
import { kept, warehouses } from '../../support/harness/warehouse.js'
import { between } from '../../support/world/between.js'
import { stories } from '../../support/world/listwords.js'
import { at } from '../../support/world/notes.js'

stories(
  'test/engine/run/cost.txt',
  await sandboxOfFile(),
  { overlapMs: 0, clock: systemClock },
  {
    'a second apart N\\.\\.N': ({ list }, from, to) => {
      for (let id = Number(from); id <= Number(to); id++) list.put(id, at(id))
    },
    'killed after N pages': (story, pages) => {
      let asked = 0
      const around = between(async (_request, ask) => {
        if (++asked > Number(pages)) throw new Killed()
        return ask()
      })
      story.options = { around, readAhead: 0, concurrency: 1 }
    },
    'alive again': (story) => {
      story.options = { readAhead: 0 }
    },
  },
)

describe.each(warehouses())('$name', (kind) => {
  const place = kept(kind)

  it('requests every cursor of an idle warehouse exactly once, and the authorizations once', async () => {
    const shops = await sandboxOfFile({ tenants: 2, repairOrders: 6, seed: 3 })
    const warehouse = await place.open()
    expect((await sync(shops, warehouse)).status).toBe('ok')
    const idle = await sync(shops, warehouse)
    expect(idle).toMatchObject({ requests: idle.cursors.length + 1, rows_upserted: 0 })
  })
})
