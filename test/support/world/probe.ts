import type { ProbeAnswers } from '../../../src/features/check/probe.js'

/** What a probe finds for a source that follows the API documentation. */
export const usualWays = {
  order: 'newest_first',
  beyond_end: 'empty',
  updated_after: 'strict',
  precision: 'microseconds',
  filter: 'as_printed',
  totals: 'equal',
  ties: 'stable',
  by_id: 'works',
  etag: 'stays',
  rate_headers: 'sent',
  date_skew: 'agrees',
  gzip: 'not_sent',
} as const satisfies ProbeAnswers
