import { id, json, text, timestamp } from '../../../schema/resource.js'
import { define } from './statetable.js'

/** Who stays away: tenants, and customers with their records. */
export const forgottenTables = {
  sync_forgotten: define({
    doc: 'Forgotten tenants. Runs skip them, granted or not, until `shopsync forget --tenant ID --lift`.',
    vouches: true,
    key: ['tenant_id'],
    fields: {
      tenant_id: id('Tenant.'),
      forgotten_at: timestamp('When it was forgotten.'),
    },
  }),
  sync_forgotten_records: define({
    doc: 'Forgotten customers, and the records that were forgotten with them. They are stored without what says something about a person, until `shopsync forget --customer ID --lift`.',
    vouches: true,
    key: ['tenant_id', 'resource', 'record_id'],
    indexes: [['tenant_id', 'owner_id']],
    fields: {
      tenant_id: id('Tenant.'),
      resource: text('Resource.'),
      record_id: id('Id of the record.'),
      owner_id: id('Id of the customer with whom it was forgotten.'),
      state: text(
        '`hidden`: it is stored without personal values. `kept`: it is not, since it belongs to other customers too. `wanted`: it belongs to another customer by now, and is requested by id.',
      ),
      since: timestamp('When it got here.'),
      receipt: json(
        'For the customer: when the work began and was done, rows by table, what was kept and what is left; null for other records.',
      ),
    },
  }),
} as const
