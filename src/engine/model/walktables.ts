import { id, integer, text, timestamp } from '../../../schema/resource.js'
import { define } from './statetable.js'

const cursor = { tenant_id: id('Tenant.'), resource: text('Resource.') }

/** Where readings that were cut short go on. Part of state.ts. */
export const walkTables = {
  sync_walk_parts: define({
    doc: 'The ids that a walk under way has seen, a row a page; empty when none is.',
    key: ['tenant_id', 'resource', 'fills', 'part'],
    grown: { column: 'fills', value: 0 },
    fields: {
      ...cursor,
      fills: integer('1: of the walk in sync_cursors.refill_walk; 0: of the one in sync_cursors.walk.'),
      part: integer('Number of the part.'),
      ids: text('Ids first seen on that page: sorted, as differences in base 36.'),
      entered: text('Ids that entered the list while it was read, likewise.'),
    },
  }),
  sync_backfills: define({
    doc: 'Backfills that were cut short: how far each has come; empty when none was.',
    key: ['tenant_id', 'resource', 'from_at', 'to_at'],
    fields: {
      ...cursor,
      from_at: timestamp('Beginning of the range.'),
      to_at: timestamp('End of the range; it does not belong to it.'),
      boundary: timestamp('Everything of the range that is newer is stored.'),
      run_id: text('The run that last worked on it.'),
    },
  }),
}
