import type { DbtTarget } from '../../../features/dictionary/dbtmodels.js'

/**
 * The oldest `complete_through` of a resource's cursors, without those of revoked tenants, which stand still for good,
 * and of lists that the API does not offer. One cursor that was never complete makes the answer null, which dbt takes
 * for infinitely old; the minimum of the others would hide it.
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

export const dbtTarget = (schema: string, views = `${schema}_analytics`): DbtTarget => ({
  schema,
  views,
  typeOf: (column) => column.postgres,
  completeThrough: (resource) => completeThrough(schema, resource),
})
