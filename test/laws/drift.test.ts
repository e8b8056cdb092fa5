/** Law 7: an unknown field loses no data, and is reported once, by whichever process sees it first. */
import { describe, expect, it } from 'vitest'
import { template } from '../../src/sandbox/index.js'
import { syncInOrder } from '../support/harness/runs.js'
import { sandboxOfFile } from '../support/harness/sandbox.js'
import { bothWarehouses, kept, reopen, rowsOf } from '../support/harness/warehouse.js'
import { at } from '../support/world/notes.js'

const sandbox = await sandboxOfFile()

describe.each(bothWarehouses())('$name', (kind) => {
  const place = kept(kind)

  it('an unknown field is stored with its record, and reported once', async () => {
    const runs: Readonly<Record<number, Record<string, unknown>>>[] = [
      { 1: { mood: '' }, 2: {}, 3: { mood: 'blue', colour: { level: 7 } } },
      { 1: { mood: 1.5, warranty: true }, 2: { colour: { level: -1 } }, 4: {} },
      { 2: {}, 3: { warranty: 'blue', mood: true } },
    ]
    const warehouse = await place.open()
    // Also behind a play that failed: mutants are played one after the other.
    sandbox.reset()
    sandbox.store.addTenant({ id: 1 })
    const notices: [string, Record<string, unknown>][] = []
    for (const [run, notes] of runs.entries()) {
      for (const [id, unknown] of Object.entries(notes))
        sandbox.store.put(1, 'notes', {
          ...template('notes', Number(id), at(100 * run + Number(id))),
          ...unknown,
        })
      // Each process remembers only what it has reported itself.
      const own = await reopen(place.address)
      const { status } = await syncInOrder(sandbox, own, { resources: ['notes'], notices })
      expect(status).toBe('ok')
    }
    const extras = Object.entries(Object.assign({}, ...runs)).map(([id, unknown]) => [
      Number(id),
      Object.keys(unknown as object).length > 0 ? unknown : null,
    ])
    expect((await rowsOf(warehouse, 'notes')).map(({ id, _extra }) => [Number(id), _extra])).toEqual(extras)
    const names = ['colour', 'mood', 'warranty']
    expect((await rowsOf(warehouse, 'sync_drift')).map(({ path }) => path).sort()).toEqual(names)
    for (const name of names)
      expect(
        notices.filter(([, { found }]) => String(found).includes(name)),
        name,
      ).toHaveLength(1)
  })
})
