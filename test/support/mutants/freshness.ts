/** How fresh lists are (docs/freshness.md), and which of them are quiet: one function is broken at a time. */
import type * as freshnessOf from '../../../src/engine/run/freshness.js'
import type * as quiet from '../../../src/features/health/quietlists.js'
import type * as ranking from '../../../src/features/targets/pollranking.js'
import { breaking } from './breakage.js'
import { both, type Promised } from './promise.js'

export const freshness: readonly Promised[] = [
  {
    promise: "a tenant's own target comes before its resource's",
    broken: "ranks its lists by the resource's target",
    breakage: breaking<typeof ranking>('src/features/targets/pollranking.ts').function(
      'targetIn',
      () => (list, targetOf) => targetOf(list.resource),
    ),
    test: 'test/features/targets/owntargets.test.ts',
    name: "a tenant's own target comes before the resource's",
    on: both,
  },
  {
    promise: 'a weekend makes no list quiet',
    broken: 'calls a list quiet as soon as 40 records should have come',
    breakage: breaking<typeof quiet>('src/features/health/quietlists.ts').function(
      'quietAfter',
      (sound) => (usual) => sound(usual) && (24 * 40) / usual,
    ),
    test: 'test/features/status/quietlists.test.ts',
    name: 'calls at most one list in a hundred quiet',
    on: [],
  },
  {
    promise: 'only polls that were complete make a list quiet',
    broken: 'counts polls that failed',
    breakage: breaking<typeof freshnessOf>('src/engine/run/freshness.ts').method(
      'Freshness',
      'polled',
      (sound) =>
        function (at, outcome) {
          return sound.call(this, at, { ...outcome, verdict: 'proven' })
        },
    ),
    test: 'test/engine/run/polls.test.ts',
    name: 'complete polls that find nothing count',
    on: both,
  },
]
