import { boolean, json, text, timestamp } from '../../../schema/resource.js'
import { define, type RowsOf } from '../../engine/model/statetable.js'
import type { Db } from '../../engine/warehouse/database.js'

/** Who may read which tenants. */
export const grantTables = {
  sync_grants: define({
    doc: 'Roles that see the views of some tenants and nothing else (`shopsync grant`), each in a schema of its own.',
    key: ['role'],
    fields: {
      role: text('The role; its schema has the same name.'),
      schema: text('The schema that has its views.'),
      tenants: json('The tenants it sees, as a list of ids.'),
      personal: boolean(
        'Whether it sees names, addresses and other columns that say something about a person.',
      ),
      granted_at: timestamp('When it was last granted.'),
    },
  }),
} as const

/** The database with this table. */
export const withGrants = (db: Db) => db.withTables<RowsOf<typeof grantTables>>()
