import {
  type BiTools,
  type DbtTarget,
  type SupersetTarget,
  supersetMask,
  type ToolPlace,
} from '../bitools.js'

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

const dbtTarget = (schema: string, views: string): DbtTarget => ({
  schema,
  views,
  materialized: 'view',
  typeOf: (column) => column.postgres,
  completeThrough: (resource) => completeThrough(schema, resource),
})

/** The role that docs/bi.md creates for reading; the configured one may write. */
const reader = 'bi'

/** Without a configuration, the import has a placeholder address for people to correct. */
function supersetTarget(url: string, schema: string, views: string): SupersetTarget {
  const { host, pathname, searchParams } = new URL(
    URL.canParse(url) ? url : 'postgres://localhost:5432/warehouse',
  )
  const mode = searchParams.get('sslmode')
  return {
    name: `shopsync ${host}${pathname} ${schema}`,
    uri: `postgresql+psycopg2://${reader}:${supersetMask}@${host}${pathname}${mode === null ? '' : `?sslmode=${mode}`}`,
    schema: views,
    typeOf: (column) => column.postgres,
    timeOf: ({ kind }) => (kind === 'day' || kind === 'timestamp' ? { format: null } : undefined),
  }
}

export const biTools = ({ url, schema, views = `${schema}_analytics` }: ToolPlace): BiTools => ({
  dbt: dbtTarget(schema, views),
  superset: supersetTarget(url, schema, views),
})
