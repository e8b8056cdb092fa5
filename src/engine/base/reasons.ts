/**
 * Why a verdict isn't `proven`, or why a run is incomplete: a short code that people count, and its text. The codes are
 * in `sync_cursors`, `sync_run_cursors`, `sync_runs` and in the JSON of runs. docs/guarantees.md shows how each affects
 * verdict, watermark and exit code.
 */
export const reasons = {
  read_again: 'doubtful parts of the list were read again',
  ties: 'records with the same updated_at change their order, and were read again',
  future_stamps: "records are stamped ahead of the source's own clock",
  order: 'the list is not sorted newest first',
  listed_twice: 'the list shows some records twice',
  counted_not_shown: 'the source counts records that it never shows',
  left_the_list: 'records have left the list and its total but can be read by id',
  no_count: 'the source has no true total',
  unreadable: 'a page never answers',
  moving: 'the list kept changing',
  totals_disagree: 'the totals do not match the records shown',
  loss_suspected: 'more records vanished than is plausible',
  breaker: 'more rows would be marked deleted than is plausible',
  record_unstorable: 'some records could not be stored at all',
  answers_differ: 'the source gives different answers by id and in the list',
  before_all: 'the source counts more records without a time filter',
  gone: 'the API answers 404, and used to answer',
  unreachable: 'the API did not answer',
  grants_incomplete: 'the list of authorizations is shorter than its total, or has none and lacks a tenant',
  revoked: 'the tenant is no longer granted',
  no_grants: 'no tenant is granted',
  source_went_back: 'the source went back to older versions',
  told_to_wait: 'the API asked for a longer wait than api.maxWait allows',
  warehouse_went_back: 'the warehouse went back to an earlier state',
  warehouse: 'the database refused the rows',
  bug: 'shopsync itself failed',
  not_migrated: 'a table could not be changed as this version or configuration asks',
  time_limit: 'the time limit ended the run',
  wanted: 'another command needed the whole warehouse',
  interrupted: 'a signal ended the run',
} as const

export type Reason = keyof typeof reasons

/** For each reason, the exit code of a run and what the reader should do; for docs/runbook.md. */
export const actionOf: Readonly<Record<Reason, readonly [exit: string, advice: string]>> = {
  read_again: ['0', 'nothing'],
  ties: ['0', 'nothing'],
  future_stamps: ['0', 'if it persists, tell the operator: every run reads these records again'],
  order: [
    '0 or 1',
    'nothing while the verdict is `repaired`, but every run reads every page: tell the operator',
  ],
  listed_twice: ['0', 'nothing'],
  counted_not_shown: [
    '1, later 0',
    'type `shopsync reconcile --full --tenant ID --resource NAME` once: it lists every id, and from then on the list counts as `listed`, unless it hides more than a fifth of what it counts. Tell the operator that the total is higher than what is shown',
  ],
  left_the_list: [
    '1, later 0',
    'nothing if they were archived, as at most sources: their rows stay, and a reconcile on another day, such as the nightly job, confirms it, or `shopsync reconcile --full --tenant ID --resource NAME` at once. If they should be in the list, tell the operator; the message and `--json` name ids. `report.unlisted` says whether views show them',
  ],
  no_count: ['0', 'nothing: the verdict is `listed`'],
  unreadable: [
    '1',
    'one record breaks every response that would include it; all others arrive. Tell the operator the times that `status` shows',
  ],
  moving: [
    '1',
    'nothing: the next run walks again. If it persists for a day, type `shopsync sync --tenant ID --resource NAME` at a quiet hour',
  ],
  totals_disagree: ['1', 'as for `moving`; if it still persists, type `shopsync reconcile --full`'],
  loss_suspected: [
    '1',
    'more than a fifth disappeared. A sync checks again in its next run. If a reconcile keeps reporting it and the records were really deleted, type `shopsync reconcile --tenant ID --resource NAME --accept-deletes`. If they were not, nothing: the rows stay',
  ],
  breaker: ['1', 'the same'],
  record_unstorable: [
    '1',
    'type `shopsync quarantine list`; once fixed at the source, `shopsync quarantine replay`',
  ],
  answers_differ: [
    '1',
    'nothing: a replica is behind, or a record left the list and is refused by id or answered with something else. Nothing was changed for these records; the next reconcile checks them again and names them. If it persists, ask the operator about their ids',
  ],
  before_all: ['1', 'nothing: the list is read without the filter from now on'],
  gone: [
    '1',
    'set `resources.NAME.path` if it has moved, `"enabled": false` if it is gone for good; the watermark stays, and each run asks again',
  ],
  unreachable: ['1, or 3', 'nothing; if it persists, type `shopsync check`'],
  grants_incomplete: ['1', 'if it persists, tell the operator; no tenant is treated as revoked'],
  revoked: [
    '1',
    'get a new grant, add the tenant to `sync.exceptTenants`, or type `shopsync forget --tenant ID`',
  ],
  no_grants: ['1', 'ask the operator, or forget the tenants'],
  source_went_back: [
    '0; 1 of `sync --full`',
    'after `reconcile`: nothing; what the source confirms twice is stored and counted. After `sync --full`: type `shopsync reconcile --full`',
  ],
  told_to_wait: ['1, or 3', 'nothing; if it persists, raise `api.maxWait`'],
  warehouse_went_back: [
    '1',
    'nothing: the next run continues from what is stored. If a backup was restored, type `shopsync reconcile --full` once',
  ],
  warehouse: ['1', 'follow the message; the other cursors are stored'],
  bug: ['70', 'report it, with the lines of the log: the other cursors are stored'],
  not_migrated: [
    '1',
    'follow the message: the next run changes the table; the lists of other tables are stored',
  ],
  time_limit: ['1', 'nothing: the next run starts with the cursors that have waited longest'],
  wanted: ['1', 'nothing: the next run of the shard continues'],
  interrupted: ['130, 143', 'nothing: the next run resumes'],
}
