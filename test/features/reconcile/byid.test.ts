/** The stories of byid.txt, and whether a source answers by id. */
import { describe, expect, it } from 'vitest'
import { Stamps } from '../../../src/engine/base/clock.js'
import { replay } from '../../support/harness/commands.js'
import { ById, type CursorList } from '../../support/harness/runs.js'
import { sandboxOfFile } from '../../support/harness/sandbox.js'
import { rowsOf } from '../../support/harness/warehouse.js'
import { HandClock } from '../../support/world/clocks.js'
import type { Words } from '../../support/world/liststory.js'
import { stories } from '../../support/world/listwords.js'

const words: Words = {
  'an unstorable record N': ({ list }, id) => {
    const bad = { id: Number(id), updated_at: 'yesterday' }
    list.sandbox.store.put(1, 'notes', bad, { key: Number(id), at: '2026-01-01T00:30:00Z' })
  },
  replay: async ({ list }) => {
    const [one] = await replay(list.sandbox, list.warehouse, { clock: list.clock })
    const left = (await rowsOf(list.warehouse, 'sync_quarantine')).length
    return `${one?.record_id} ${one?.outcome}: ${one?.detail}; ${left} in quarantine`
  },
}

stories('test/features/reconcile/byid.txt', await sandboxOfFile(), {}, words)

describe('record 1 is gone, which shows nothing until the source shows another', () => {
  /** What the list shows, look after look; what the source shows by id; what is asked for; whether it answers by id. */
  it.each<[name: string, lists: string, shown: string, asked: string, answersById?: boolean]>([
    ['the newest is shown', '2 3', '2 3', '1 list 2', true],
    ['the newest is refused for its own sake', '2 3', '3', '1 list 2 list 3', true],
    ['the newest is deleted meanwhile', '2 3, 3', '3', '1 list 2 list 3', true],
    ['two are deleted meanwhile', '2, 3, 4', '4', '1 list 2 list 3 list 4', true],
    ['the last one that was listed, 5, is shown', '2 3', '5', '1 5', true],
    ['two are listed, none is shown', '2 3', '', '1 list 2 list 3', false],
    ['one is listed, none is shown', '2', '', '1 list 2 list', false],
    ['one of the newest, 2, was listed before', '2 3', '', '1 2 list 3', false],
    ['one far behind, 9, was listed before', '2 3', '', '1 9 list 2 list', false],
    ['nothing else is listed', '1', '', '1 list'],
    ['each is deleted before it is asked for', '2, 3, 4, 5', '', '1 list 2 list 3 list 4'],
  ])('%s', async (name, lists, shown, requests, answersById) => {
    const probe = /, (\d),/.exec(name)?.[1]
    const all = lists.split(', ').map((ids) => ids.split(' ').map(Number))
    const asked: unknown[] = []
    let [looks, remembered] = [0, false]
    const list = {
      probeId: probe && Number(probe),
      fetch: async () => {
        asked.push('list')
        const ids = all[Math.min(looks++, all.length - 1)] ?? []
        return { observed: ids.map((id) => ({ id })) }
      },
      item: async (id: number) => {
        asked.push(id)
        return { kind: shown.includes(String(id)) ? 'record' : 'gone' }
      },
    } as unknown as CursorList
    const now = '2026-03-01T12:00:00.000000Z'
    const byId = new ById({
      list,
      stamps: new Stamps(new HandClock(now, 1n)),
      now: () => now,
      refusedAt: null,
      remember: async (at) => {
        remembered = at !== null
      },
    })
    const { isOffered } = await byId.ask([1])
    // Only what is known is remembered.
    const told = { asked: requests, isOffered: answersById === true, remembered: answersById === false }
    expect({ asked: asked.join(' '), isOffered, remembered }).toEqual(told)
  })
})
