/** The stories of lateness.txt, and the overlap that is learned. */
import { expect, it } from 'vitest'
import { latenessOf, overlapOf } from '../../support/harness/runs.js'
import { statusText } from '../../support/harness/status.js'
import { between } from '../../support/world/between.js'
import { statusNow, timedStories } from '../../support/world/timedstories.js'

await timedStories('test/engine/run/lateness.txt', { overlapMs: 600_000 }, () => ({
  'status in words': async (story) => {
    const lines = statusText(await statusNow(story, 30 * 86_400_000)).split('\n')
    return lines.flatMap((line) => (/all fresh|may lack/.test(line) ? line.trim() : [])).join(' / ')
  },
  'counts are lost': (story) => {
    const around = between(async (_request, ask) => ({ ...(await ask()), total: undefined }) as never)
    story.options = { around }
  },
}))

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
