import type { DbtTarget } from '../model/dictionary/dbt.js'

/** What dbt has to know of the warehouse at an address. */
export async function dbtTargetOf({ url, schema }: { url: string; schema: string }): Promise<DbtTarget> {
  if (url.startsWith('sqlite:')) return (await import('./sqlite/dbt.js')).dbtTarget()
  return (await import('./postgres/dbt.js')).dbtTarget(schema)
}
