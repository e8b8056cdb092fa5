import { claims } from './claims.js'
import { copy } from './copy.js'
import { customers } from './customers.js'
import { events } from './events.js'
import { freshness } from './freshness.js'
import { increments } from './increments.js'
import { metrics } from './metrics.js'
import { premises } from './premises.js'
import { privacy } from './privacy.js'
import type { Promised } from './promise.js'
import { readers } from './readers.js'
import { scale } from './scale.js'
import { service } from './service.js'
import { shards } from './shards.js'
import { following } from './then.js'
import { unlisted } from './unlisted.js'
import { workers } from './workers.js'

/** Every promise with a test that fails without it; those of the laws have their own cases (laws.ts, year.ts). */
export const promises: readonly Promised[] = [
  ...premises,
  ...unlisted,
  ...claims,
  ...service,
  ...copy,
  ...events,
  ...metrics,
  ...freshness,
  ...readers,
  ...privacy,
  ...customers,
  ...shards,
  ...scale,
  ...workers,
  ...following,
  ...increments,
]
