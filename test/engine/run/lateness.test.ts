/** The stories of lateness.txt, what status says of lists that may lack late records, and the overlap that is learned. */
import { describe, expect, it } from 'vitest'
import { latenessOf, overlapOf, type RunOptions } from '../../support/harness/runs.js'
import { statusText } from '../../support/harness/status.js'
import { warehouses } from '../../support/harness/warehouse.js'
import { Between } from '../../support/world/between.js'
import { later, TimedList } from '../../support/world/timedlist.js'
import { timedStories } from '../../support/world/timedstories.js'

const day = 86_400

const { clock, sandbox } = await timedStories('test/engine/run/lateness.txt', { overlapMs: 600_000 }, () => ({
  'counts are lost': (story) => {
    const around: RunOptions['around'] = (source) =>
      new Between(source, async (_request, ask) => ({ ...(await ask()), total: undefined }) as never)
    story.options = { around }
  },
}))

describe.each(warehouses())('$name', (kind) => {
  const list = new TimedList(sandbox, kind, clock, { overlapMs: 300_000 })
  const orders = new TimedList(sandbox, kind, clock, { overlapMs: 300_000 }, 'repair_orders')

  it.each([
    ['notes', list],
    ['repair_orders', orders],
  ])('%s may lack late records until a reading of the whole list finds none', async (resource, own) => {
    const expectSaid = async (words: string): Promise<void> =>
      expect(statusText(await own.status({ deletesUncheckedAfterMs: 30 * day * 1000 }))).toContain(words)
    const doubted = (since: string): string => `${resource} may lack late records since ${since}`
    await own.begin(5)
    await own.sync({})
    await expectSaid('all fresh')
    own.wait(day)
    own.put(9, later(-3 * day))
    // At once, after each walk that looks back less far, and even if those have caught up with what was claimed before.
    await own.reconcile({})
    await expectSaid(`${doubted('Feb 26')}; every cursor`)
    own.wait(3600)
    await own.sync({})
    await expectSaid(`${doubted('Feb 26')}; every cursor`)
    own.wait(6 * day)
    await own.sync({})
    await expectSaid(doubted('Mar 4'))
    await own.sync({}, { mode: resource === 'notes' ? 'reconcile' : 'full' })
    await expectSaid('all fresh')
    own.wait(3600)
    await own.sync({})
    await expectSaid('all fresh')
  })
})

it('of a thousand records, status shows how late 999 were at most, and how late the latest was', () => {
  const bucket = (records: number, upToMs: number) =>
    ({ resource: 'notes', way: 'walk', records, upToMs, largestMicros: upToMs * 900 }) as const
  const rows = [bucket(1, 65_536), bucket(1, 1024), bucket(998, 0)]
  const shown = { mostMicros: 1_024_000, largestMicros: 58_982_400 }
  expect(latenessOf(rows).get('notes')).toMatchObject(shown)
})

const of = (records: number, seconds: number, way: 'walk' | 'reconcile' = 'walk') => ({
  resource: 'notes',
  day: '',
  upToMs: 1,
  way,
  records,
  largestMicros: seconds * 1e6,
})
it.each([
  ['is five minutes while nothing is known', [], 300],
  ['is five minutes until a thousand records were seen', [of(999, 1)], 300],
  ['is twice the largest of a thousand, even before', [of(999, 400)], 800],
  ['is twice the largest', [of(1000, 45)], 90],
  ['is a minute at least', [of(1000, 1)], 60],
  ['is six hours at most', [of(1000, 86_400)], 21_600],
  ['is doubled when reconcile brings a late record', [of(1000, 45), of(1, 9000, 'reconcile')], 180],
])('the overlap "auto" %s', (_, rows, seconds) => {
  expect(overlapOf('auto', latenessOf(rows), 'notes')).toBe(seconds * 1000)
})
