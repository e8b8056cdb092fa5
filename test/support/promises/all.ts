import { claims } from './claims.js'
import { copy } from './copy.js'
import { events } from './events.js'
import { metrics } from './metrics.js'
import { premises } from './premises.js'
import type { Promised } from './promise.js'
import { service } from './service.js'

/** Every promise that has a test which fails without it; those of the laws have cases of their own (laws.ts, year.ts). */
export const promises: readonly Promised[] = [
  ...premises,
  ...claims,
  ...service,
  ...copy,
  ...events,
  ...metrics,
]
