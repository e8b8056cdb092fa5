/**
 * Why a verdict isn't `proven`, or why a run is incomplete: a short code that people count, and its text. The codes are
 * in `sync_cursors`, `sync_run_cursors`, `sync_runs` and in the JSON of runs. docs/guarantees.md shows how each affects
 * verdict, watermark and exit code.
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

/** For each reason, the exit code of a run and what the reader should do; for docs/messages.md. */
export const actionOf: Readonly<Record<Reason, readonly [exit: string, advice: string]>> = {
  read_again: ['0', 'nothing'],
  ties: ['0', 'nothing'],
  future_stamps: ['0', "tell the API's operator if it stays: these records are read again by each run"],
  order: ['0 or 1', 'nothing while it is `repaired`; each run reads every page. Tell the operator'],
  listed_twice: ['0', 'nothing'],
  counted_not_shown: ['1, later 0', '`shopsync reconcile --full` of that cursor, once'],
  no_count: ['0', 'nothing: the verdict is `listed`'],
  unreadable: ['1', 'tell the operator the times that `status` shows'],
  moving: ['1', 'nothing; if it stays, a run at a quiet hour'],
  totals_disagree: ['1', 'nothing; if it stays, `shopsync reconcile --full`'],
  loss_suspected: ['1', 'was it meant? `shopsync reconcile --accept-deletes`'],
  breaker: ['1', 'the same'],
  record_unstorable: ['1', '`shopsync quarantine list`; mended at the source: `shopsync quarantine replay`'],
  answers_differ: ['1', 'nothing: the next reconcile asks again'],
  before_all: ['1', 'nothing: the list is read without the filter from now on'],
  gone: ['1', '`resources.NAME.path` if it has moved, `"enabled": false` if it is gone'],
  unreachable: ['1, or 3', 'nothing, unless it stays: `shopsync check`'],
  grants_incomplete: ['1', 'tell the operator if it stays; nobody is taken for revoked'],
  revoked: ['1', 'a grant, `sync.exceptTenants`, or `shopsync forget --tenant ID`'],
  no_grants: ['1', 'ask the operator'],
  source_went_back: [
    '0; 1 of `sync --full`',
    'of `reconcile`: nothing, what the source says twice is stored and counted; of `sync --full`: `shopsync reconcile`',
  ],
  told_to_wait: ['1, or 3', 'nothing, unless it stays; `api.maxWait`'],
  warehouse: ['1', 'what the message says; the other cursors are stored'],
  time_limit: ['1', 'nothing: the next run goes on with those that waited longest'],
  interrupted: ['130, 143', 'nothing: the next run resumes'],
}
