/** How fresh lists are (docs/freshness.md), and which of them are quiet: one function is broken at a time. */
import { breaking } from './breakage.js'
import { mutants } from './promise.js'

export const freshness = mutants({
  "a tenant's own target comes before its resource's": {
    "test/features/targets/due.test.ts: a tenant's own target comes before the resource's": {
      "ranks its lists by the resource's target": () =>
        breaking('features/targets/pollranking').targetIn((_sound, list, targetOf) =>
          targetOf(list.resource),
        ),
    },
  },
  'a weekend makes no list quiet': {
    'test/features/status/quietlists.test.ts: calls at most one list in a hundred quiet': {
      'calls a list quiet as soon as 40 records should have come': () =>
        breaking('features/health/quietlists').quietAfter(
          (sound, usual) => sound(usual) && (24 * 40) / usual,
        ),
    },
  },
  'only polls that were complete make a list quiet': {
    'test/engine/run/polls.test.ts: complete polls that find nothing count': {
      'counts polls that failed': () =>
        breaking('engine/run/freshness').Freshness.polled((sound, at, outcome) =>
          sound(at, { ...outcome, verdict: 'proven' }),
        ),
    },
  },
})
