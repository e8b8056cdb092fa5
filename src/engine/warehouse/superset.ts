import type { SupersetTarget } from '../../features/dictionary/supersetexport.js'
import type { DbtPlace } from './dbt.js'

/** What Superset has to know of the warehouse at an address. */
export async function supersetTargetOf({ url, schema, views }: DbtPlace): Promise<SupersetTarget> {
  if (url.startsWith('sqlite:')) return (await import('./sqlite/superset.js')).supersetTarget(url)
  return (await import('./postgres/superset.js')).supersetTarget(url, schema, views)
}
