import { id, integer, json, text, timestamp } from '../../../schema/resource.js'
import { define } from './statetable.js'

/** What processes at work on one warehouse share: who may write, and what they have taken of the rate limit. */
export const leaseTables = {
  sync_lease: define({
    doc: 'Which processes may write: one row for the whole warehouse, and one for each shard that was ever claimed.',
    key: ['name'],
    fields: {
      name: text('`run`: the whole warehouse. `I/N`, such as `3/8`: the tenants of that shard.'),
      token: integer('Fencing token. Every claim takes a higher one, and every commit checks it.'),
      owner: text('Run id of the holder; null if nobody holds it.'),
      host: text('Host the holder runs on.'),
      pid: integer('Its process id.'),
      command: text('What it is doing.'),
      claimed_at: timestamp('Since when.'),
      expires_at: timestamp('When others may take it. The holder moves this forward while it is alive.'),
      wanted_at: timestamp(
        'When a waiting process last asked for it. Row `run`: shards and listeners then end their turns. Row of a shard: a listener does. null if nobody is waiting.',
      ),
      stamps_from: timestamp(
        "Later than every `_synced_at` so far, and earlier than every one of this holder's, whatever the clocks of both show.",
      ),
      stamps_until: timestamp(
        "No `_synced_at` of this holder is later. Moves forward with the expiry; after the holder's end, its last one.",
      ),
      forgotten: integer(
        'How often `sync_forgotten_records` has changed: a page that was prepared before a change is prepared again. null: never.',
      ),
      row_settings: text(
        'Digests of the settings that shape the rows of the holder, by name: shards that work at the same time are compared by them.',
      ),
    },
  }),
  sync_rate: define({
    doc: 'What processes that share a rate limit have taken of its current window (docs/scale.md): one row per rule.',
    key: ['rule'],
    fields: {
      rule: text(
        'What the limit counts by: an IP address or a partner id, as X-Ratelimit-Matchkey names it.',
      ),
      resets_at: integer("When the window ends: seconds since 1970 by the API's clock."),
      limit: integer('Requests allowed per window.'),
      taken: integer('How many of them processes have taken, or others have used.'),
    },
  }),
}

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
        '`hidden`: it is stored without personal values. `expected`: the same, but it has never been stored, so nobody knows yet whom it names. `kept`: it is stored whole, since it belongs to other customers too. `wanted`: it belongs to another customer by now, and is requested by id.',
      ),
      since: timestamp('When it got here.'),
      receipt: json(
        'For the customer: when the work began and was done, rows by table, what was kept and what is left; null for other records.',
      ),
    },
  }),
} as const
