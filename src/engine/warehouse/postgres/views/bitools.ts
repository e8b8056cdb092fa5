import { isFault, postgresPlace, readPostgresAddress } from '../../../config/postgresaddress.js'
import type { BiTools, ToolPlace } from '../../views/bitools.js'

/** What Superset shows in place of a password. */
const supersetMask = 'XXXXXXXXXX'

/**
 * The oldest `complete_through` of a resource's cursors, without those of revoked tenants, which never change again,
 * and without lists that the API doesn't offer. One cursor that was never complete makes the result null, which dbt
 * treats as infinitely old; the minimum of the others would hide it.
 */
const completeThrough = (schema: string, resource: string): string =>
  [
    "select case when bool_and(status is not distinct from 'unavailable') then now()",
    "  when bool_and(complete_through is not null or status is not distinct from 'unavailable')",
    "  then min(complete_through) filter (where status is distinct from 'unavailable') end",
    `from "${schema}".sync_cursors`,
    `where resource = '${resource}'`,
    `  and tenant_id not in (select tenant_id from "${schema}".tenants where revoked_at is not null)`,
    '',
  ].join('\n')

/** The role that docs/production.md creates for reading; the configured one may write. */
const reader = 'bi'

export function biTools({ url, schema, views = `${schema}_analytics` }: ToolPlace): BiTools {
  const address = readPostgresAddress(url)
  // Without a configuration, the import has a placeholder address for people to correct.
  const known = isFault(address) ? undefined : address
  const place = known ? postgresPlace(known) : 'localhost:5432/warehouse'
  const mode = known?.tls.mode
  return {
    schema,
    views,
    materialized: 'view',
    typeOf: (column) => column.postgres,
    completeThrough: (resource) => completeThrough(schema, resource),
    name: `shopsync ${place} ${schema}`,
    uri: `postgresql+psycopg2://${reader}:${supersetMask}@${place}${mode === undefined ? '' : `?sslmode=${mode}`}`,
    timeOf: ({ kind }) => (kind === 'day' || kind === 'timestamp' ? { format: null } : undefined),
  }
}
