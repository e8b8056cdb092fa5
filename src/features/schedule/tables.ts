import type { Kysely } from 'kysely'
import { integer, text, timestamp } from '../../../schema/resource.js'
import { define, type RowsOf } from '../../engine/model/statetable.js'
import type { Database, Db } from '../../engine/warehouse/database.js'

/** What `shopsync schedule` stores about the jobs it runs (src/features/schedule/sql.ts). */
export const jobTables = {
  sync_jobs: define({
    doc: 'When each scheduled job is due next and when it last ran, so missed runs are caught up.',
    after: 'sync_derived',
    key: ['job'],
    fields: {
      job: text('Name of the job file.'),
      schedule: text('Its schedule when planned_at was computed.'),
      time_zone: text('The time zone of the schedule.'),
      planned_at: timestamp('When it is due next; while it runs, the time it is running for.'),
      last_planned_at: timestamp('The last scheduled time it ran for, on time or late.'),
      started_at: timestamp('Start of its last run by `schedule`.'),
      finished_at: timestamp('End of that run; null while it runs, or if it was interrupted.'),
      exit_code: integer('Exit code of that run.'),
      attempts: integer('How many times it was started for planned_at and did not finish.'),
    },
  }),
} as const

export const withJobs = (db: Db): Kysely<Database & RowsOf<typeof jobTables>> =>
  db.withTables<RowsOf<typeof jobTables>>()
