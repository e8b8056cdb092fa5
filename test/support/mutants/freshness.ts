/** How fresh lists are (docs/freshness.md), and which of them are quiet: one function is broken at a time. */
import { breaking } from './breakage.js'
import { mutants } from './promise.js'

const freshnessFile = breaking(() => import('../../../src/engine/run/freshness.js'))
const quietlists = breaking(() => import('../../../src/features/health/quietlists.js'))
const pollranking = breaking(() => import('../../../src/features/targets/pollranking.js'))

export const freshness = mutants([
  [
    "a tenant's own target comes before its resource's",
    "ranks its lists by the resource's target",
    pollranking.function('targetIn', () => (list, targetOf) => targetOf(list.resource)),
    "test/features/targets/owntargets.test.ts: a tenant's own target comes before the resource's",
  ],
  [
    'a weekend makes no list quiet',
    'calls a list quiet as soon as 40 records should have come',
    quietlists.function('quietAfter', (sound) => (usual) => sound(usual) && (24 * 40) / usual),
    'test/features/status/quietlists.test.ts: calls at most one list in a hundred quiet',
  ],
  [
    'only polls that were complete make a list quiet',
    'counts polls that failed',
    freshnessFile.method(
      'Freshness',
      'polled',
      (sound) =>
        function (at, outcome) {
          return sound.call(this, at, { ...outcome, verdict: 'proven' })
        },
    ),
    'test/engine/run/polls.test.ts: complete polls that find nothing count',
  ],
])
