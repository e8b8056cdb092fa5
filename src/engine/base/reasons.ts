/**
 * Why a verdict is not `proven`, or why a run is not whole: a short code that people count, and what it says. The codes
 * stand in `sync_cursors`, `sync_run_cursors`, `sync_runs` and in the JSON of runs; docs/guarantees.md says what each
 * does to verdict, watermark and exit code.
 */
export const reasons = {
  read_again: 'places in doubt were read again',
  ties: 'records of one updated_at change their order and were read again',
  future_stamps: 'records are stamped ahead of the source’s own clock',
  order: 'the list is not newest first',
  listed_twice: 'the list shows records twice',
  counted_not_shown: 'the source counts records that it never shows',
  no_count: 'the source has no true total',
  unreadable: 'a page never answers',
  moving: 'the list never stood still',
  totals_disagree: 'the totals do not agree with the records shown',
  loss_suspected: 'more records vanished than is believed',
  breaker: 'more rows would be marked deleted than is believed',
  record_unstorable: 'records could not be stored at all',
  answers_differ: 'the source answers differently by id and in the list',
  before_all: 'the source counts more records without a filter by time',
  gone: 'it answers 404 and once answered',
  unreachable: 'the API did not answer',
  grants_incomplete: 'the list of authorizations is shorter than its total',
  revoked: 'the tenant is no longer granted',
  no_grants: 'no tenant is granted',
  source_went_back: 'the source went back to older versions',
  told_to_wait: 'the API asked for a longer wait than is sat out',
  warehouse: 'the database refused the rows',
  time_limit: 'the time limit ended the run',
  interrupted: 'a signal ended the run',
} as const

export type Reason = keyof typeof reasons
