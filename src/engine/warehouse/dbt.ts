import type { DbtTarget } from '../../features/dictionary/dbtmodels.js'

/** Where a warehouse is, as far as what other tools have to know depends on it. */
export interface DbtPlace {
  readonly url: string
  readonly schema: string
  /** Schema of the views, where it is not the usual one. */
  readonly views?: string | undefined
}

/** What dbt has to know of the warehouse at an address. */
export async function dbtTargetOf({ url, schema, views }: DbtPlace): Promise<DbtTarget> {
  if (url.startsWith('sqlite:')) return (await import('./sqlite/dbt.js')).dbtTarget()
  return (await import('./postgres/dbt.js')).dbtTarget(schema, views)
}
