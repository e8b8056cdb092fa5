/** The stories of backfill.txt, lists of names, and several tenants. */
import { describe, expect, it } from 'vitest'
import { template } from '../../../src/sandbox/index.js'
import { type RunOptions, sync } from '../../support/harness/runs.js'
import { sandboxOfFile } from '../../support/harness/sandbox.js'
import { rowsOf, warehouses } from '../../support/harness/warehouse.js'
import { instantOf, type Words } from '../../support/world/liststory.js'
import { stories } from '../../support/world/listwords.js'
import { at, only } from '../../support/world/notes.js'
import { OneList } from '../../support/world/onelist.js'

const sandbox = await sandboxOfFile()

const words: Words = {
  // In seconds after the first record, or as an instant.
  'range WORD WORD': (story, from, to) => {
    story.options = { ranges: [{ from: instantOf('at', from!), to: instantOf('at', to!) }] }
  },
  'thirty of the newest go with each of 20 requests': ({ list }) =>
    list.onList((asked) => {
      for (let n = 0; n < 30 && asked <= 20; n++) list.remove(3000 - asked * 30 - n)
    }),
  // Each in orders that no run before it has seen.
  'backfills until one is whole': async ({ list, options }) => {
    const run = { ...options, resources: ['notes'], mode: 'backfill' } as const
    for (let n = 0; n < 20; n++)
      if ((await sync(sandbox, list.warehouse, run)).status === 'ok') return 'whole'
    return 'not whole'
  },
  progress: async ({ list }) => {
    const kept = await rowsOf(list.warehouse, 'sync_backfills')
    const [first] = kept
    return first?.boundary == null ? `${kept.length} kept` : 'the next one goes on'
  },
}

stories('test/features/backfill/backfill.txt', sandbox, {}, words)

describe.each(warehouses())('$name', (kind) => {
  const list = new OneList(sandbox, kind)
  const backfill = (options: RunOptions) =>
    sync(sandbox, list.warehouse, { resources: ['notes'], ...options, mode: 'backfill' })

  it('reads a list of names whole, which has no times: what it calls complete was read', async () => {
    const names = 'customer_payment_types'
    await list.begin(0)
    sandbox.store.tenant(1).strings.set(names, ['Cash', 'Card'])
    const report = await backfill({ ranges: [{ from: at(9), to: at(10) }], resources: [names] })
    expect(only(report, names)).toMatchObject({ completeness: 'proven', records: 2, requests: 1 })
    expect((await rowsOf(list.warehouse, names)).map(({ name }) => name)).toEqual(['Card', 'Cash'])
  })

  it('several ranges and tenants in one sync', async () => {
    await list.begin(1000)
    sandbox.store.addTenant({ id: 2 })
    for (let id = 1; id <= 50; id++) sandbox.store.put(2, 'notes', template('notes', id, at(id * 7)))
    const between = (first: number, last: number) => ({ from: at(first * 7), to: at(last * 7) })
    const report = await backfill({ ranges: [between(10, 20), between(900, 950)] })
    const pulled = report.cursors.map((cursor) => `${cursor.tenant_id}: ${cursor.records}`)
    expect(pulled.sort()).toEqual(['1: 60', '2: 10'])
  })
})
