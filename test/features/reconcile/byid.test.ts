/** What a source can answer to the request for one record, and what follows for rows that its list no longer shows. */
import { describe, expect, it } from 'vitest'
import { Stamps } from '../../../src/engine/base/clock.js'
import type { Rule } from '../../../src/sandbox/index.js'
import { replay } from '../../support/harness/commands.js'
import { ById, type CursorList } from '../../support/harness/runs.js'
import { sandboxOfFile } from '../../support/harness/sandbox.js'
import { sample, sized, someOf } from '../../support/harness/size.js'
import { rowsOf, warehouses } from '../../support/harness/warehouse.js'
import { HandClock } from '../../support/world/clocks.js'
import { day, moreThan, OneList, proven, unproven } from '../../support/world/onelist.js'

const sandbox = await sandboxOfFile()

/** Responses to requests by id: of one record, or of all. */
const byId = (status: number, body?: string, id?: number): Rule => ({
  when: { kind: 'item', ...(id !== undefined && { id }) },
  fault: { kind: 'status', status, ...(body !== undefined && { body }) },
})

const other = '{"id":9,"updated_at":"2026-01-01T00:01:00Z","description":"another"}'

/** Answers without the record, and how a message names them. */
const unclear: readonly (readonly [status: number, body: string | undefined, found: string])[] = [
  ...[400, 403, 405, 406, 501, 500, 301].map((status) => [status, undefined, String(status)] as const),
  [204, '', '204'],
  [200, 'null', 'null'],
  [200, other, 'record 9'],
  [200, '{}', 'an object without an id'],
  [200, '[]', 'an array'],
  [200, '"gone"', 'a string'],
  [200, 'gone', 'no JSON'],
]

describe.each(warehouses())('$name', (kind) => {
  const list = new OneList(sandbox, kind)
  const doubt = { ...unproven, reason: 'answers_differ' }

  async function without(...ids: readonly number[]): Promise<void> {
    await list.loaded(40)
    list.remove(...ids)
  }

  it.each(someOf(3, unclear))(
    '%i %s for one record leaves its row, and the others are marked deleted',
    async (...answer) => {
      const [status, body, found] = answer
      await without(5, 6, 7)
      sandbox.script([byId(status, body, 5)])
      await list.verify({ reason: 'answers_differ' })
      const { error } = await list.reconcile({ ...doubt, rows_deleted: 2 }, { lacks: null })
      expect(error).toContain(`5 (found ${found})`)
      expect((await list.live()).size).toBe(38)
      expect((await list.row(5))?._deleted_at).toBeNull()
      expect((await list.row(9))?.description).not.toBe('another')
      // The next reconcile asks again, and the answer is clear.
      sandbox.script([])
      await list.reconcile({ ...proven, rows_deleted: 1 })
    },
  )

  it('a row in doubt costs one more comparison, and not one after the other', async () => {
    const count = sized(1000, 3000)
    await list.loaded(count)
    const quiet = (await list.reconcile({})).requests
    list.remove(count / 5)
    sandbox.script([byId(403, undefined, count / 5)])
    const error = expect.stringContaining(`${count / 5} (found 403)`)
    const report = await list.reconcile({ reason: 'answers_differ', error }, { lacks: null })
    // Two comparisons, of which each narrows the place down in 30 requests.
    expect(report.requests).toBeLessThan(quiet + 2 * 35)
  })

  it('410 for one record means that it is gone', async () => {
    await without(5, 6)
    sandbox.script([byId(410, undefined, 5)])
    await list.reconcile({ status: 'ok', rows_deleted: 2 })
  })

  const everywhere = [
    ...[404, 403, 410, 400, 405, 406, 501].map((status) => [status, undefined] as const),
    [200, other],
    [200, 'null'],
  ] as const
  it.each(sample(everywhere, 2))(
    '%i %s for every id: the second list decides, for a week without a request',
    async (status, body) => {
      await without(5, 6)
      sandbox.script([byId(status, body)])
      await list.reconcile({ status: 'ok', rows_deleted: 2 })
      expect((await list.cursor()).by_id_refused_at).not.toBeNull()
      for (const [days, asked] of [
        [6, 0],
        [2, moreThan(0)],
      ] as const) {
        list.clock.pass(days * day)
        list.remove(10 + days)
        await list.reconcile({ status: 'ok', rows_deleted: 1 })
        expect(list.byId).toEqual(asked)
      }
      list.clock.pass(8 * day)
      sandbox.script([])
      list.remove(20)
      await list.reconcile({ status: 'ok', rows_deleted: 1 })
      expect((await list.cursor()).by_id_refused_at).toBeNull()
    },
  )

  it.each([
    [410, undefined, 'gone', 'removed from quarantine'],
    [403, undefined, 'failed', 'found 403'],
    [200, other, 'failed', 'found record 9'],
  ] as const)(
    '%i %s for a record in quarantine: a replay finds it %s',
    async (status, body, outcome, words) => {
      await list.loaded(40)
      const bad = { id: 200, updated_at: 'yesterday' }
      sandbox.store.put(1, 'notes', bad, { key: 200, at: '2026-01-01T00:30:00Z' })
      await list.reconcile({}, { lacks: [200] })
      sandbox.script([byId(status, body, 200)])
      const [replayed] = await replay(sandbox, list.warehouse, { clock: list.clock })
      expect(replayed).toMatchObject({ record_id: '200', outcome, detail: expect.stringContaining(words) })
      expect(await rowsOf(list.warehouse, 'sync_quarantine')).toHaveLength(outcome === 'gone' ? 0 : 1)
    },
  )

  it('401 is about the credentials, whatever was requested', async () => {
    await without(5, 6)
    sandbox.script([byId(401, undefined, 5)])
    await expect(list.reconcile({})).rejects.toThrow('the credentials are refused')
    expect((await list.live()).size).toBe(40)
  })

  it('a source that answers no id costs a few requests, not one for each row or sampled record', async () => {
    await without(...Array.from({ length: 30 }, (_, i) => i + 5))
    sandbox.script([byId(403)])
    await list.reconcile({}, { acceptDeletes: true })
    expect(list.byId).toBeLessThanOrEqual(10)
    sandbox.resetRequests()
    await list.verify({}, { sample: 20 })
    expect(list.byId).toBe(0)
  })
})

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
