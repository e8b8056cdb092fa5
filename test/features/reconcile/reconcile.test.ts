/** The stories of reconcile.txt, and tags, which also come inside other records. */
import { describe, expect, it } from 'vitest'
import { fromMicros } from '../../../src/engine/base/timestamp.js'
import { template } from '../../../src/sandbox/index.js'
import { sync } from '../../support/harness/runs.js'
import { sandboxOfFile } from '../../support/harness/sandbox.js'
import { rowsOf, warehouses } from '../../support/harness/warehouse.js'
import { registersAgree } from '../../support/oracle/registers.js'
import { between } from '../../support/world/between.js'
import type { Words } from '../../support/world/liststory.js'
import { stories } from '../../support/world/listwords.js'
import { at, liveIds, reconcile } from '../../support/world/notes.js'
import { OneList } from '../../support/world/onelist.js'

const sandbox = await sandboxOfFile()

/** Somebody whose clock is ahead, or who is about to read, marks a row as deleted. */
const mark = (list: OneList, id: number, at: string) => list.write({ _deleted_at: at, _synced_at: at }, id)

const words: Words = {
  registers: async ({ list }) => {
    const [register] = await rowsOf(list.warehouse, 'sync_registers')
    if (register?.live_rows == null) return 'no register'
    await registersAgree(list.warehouse, 1)
    return `a register of ${register.live_rows} rows, which it agrees with`
  },
  'no registers': async ({ list }) => {
    await list.warehouse.write([list.warehouse.db.deleteFrom('sync_registers').compile()])
  },
  'marked N at 2099': async ({ list }, id) => {
    await mark(list, Number(id), '2099-03-01T13:00:00.000000Z')
  },
  'marked N at page N': (story, id, place) => {
    const around = between(async ({ page }, ask) => {
      const answer = await ask()
      if (page === Number(place)) await mark(story.list, Number(id), fromMicros(story.list.clock.nowMicros()))
      return answer
    })
    story.options = { around }
  },
}

stories('test/features/reconcile/reconcile.txt', sandbox, {}, words)

describe.each(warehouses())('$name', (kind) => {
  const list = new OneList(sandbox, kind)

  it('tags inside other records are reconciled by their own cursor, and have no register', async () => {
    await list.begin(0)
    const { warehouse, clock } = list
    const options = { resources: ['categories', 'integrator_tags'], clock }
    const tag = (id: number) => template('integrator_tags', id, at(id))
    const category = (time: number, ...tags: readonly number[]): void =>
      sandbox.store.put(1, 'categories', {
        ...template('categories', 1, at(time)),
        integrator_tags: tags.map(tag),
      })
    for (const id of [1, 2, 3]) sandbox.store.put(1, 'integrator_tags', tag(id))
    category(9, 1, 2)
    await sync(sandbox, warehouse, options)
    sandbox.store.remove(1, 'integrator_tags', 2)
    category(20, 1)
    await reconcile(sandbox, warehouse, options)
    expect(await liveIds(warehouse, 'integrator_tags')).toEqual([1, 3])
    const registers = await rowsOf(warehouse, 'sync_registers')
    expect(registers.map(({ resource }) => resource)).toEqual(['categories'])
  })
})
