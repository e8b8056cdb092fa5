import type { Kysely } from 'kysely'
import { integer, text, timestamp } from '../../../schema/resource.js'
import { define, type RowsOf } from '../../engine/model/statetable.js'
import type { Database, Db } from '../../engine/warehouse/database.js'

/** What `shopsync schedule` stores about the jobs it runs (src/features/schedule/sql.ts). */
export const jobTables = {
  sync_jobs: define({
    doc: 'When each job with a schedule is due next, and when it was last: so that what was missed is caught up.',
    after: 'sync_derived',
    key: ['job'],
    fields: {
      job: text('Name of the job file.'),
      schedule: text('Its schedule when the next instant was planned.'),
      time_zone: text('The time zone that the schedule was meant in.'),
      planned_at: timestamp('The next instant at which it is due; while it runs, the one that it runs for.'),
      last_planned_at: timestamp('The last instant that it ran for, in time or behind time.'),
      started_at: timestamp('Beginning of the last run that `schedule` made of it.'),
      finished_at: timestamp('End of that run; null while it runs, and where it was cut short.'),
      exit_code: integer('Exit code of that run.'),
      attempts: integer('How often it was begun for planned_at and did not come to its end.'),
    },
  }),
} as const

/** The database with this table. */
export const withJobs = (db: Db): Kysely<Database & RowsOf<typeof jobTables>> =>
  db.withTables<RowsOf<typeof jobTables>>()
