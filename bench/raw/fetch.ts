import { flatten, tablesOf } from '../floor/flatten.js'
import type { Load } from '../floor/load.js'
import type { Row } from '../floor/rows.js'

export interface RawPage {
  readonly tenant: number
  /** Rows by table. */
  readonly tables: readonly (readonly [table: string, rows: readonly Row[]])[]
}

/** Integers of 16 digits and more become text before JSON.parse rounds them; the blank is for floor/parse.ts. */
const exact = (text: string): string => text.replace(/":(\d{16,})(?=[,}\]])/g, '":" $1"')

/** The pages of all lists, one after the other. */
export async function* pages({ source, tenants, resources, updatedAfter }: Load): AsyncGenerator<RawPage> {
  for (const resource of resources)
    for (let tenant = 1; tenant <= tenants; tenant++)
      for (let [page, last] = [1, 1]; page <= last; page++) {
        const query = `updated_after=${updatedAfter}&per_page=100&page=${page}`
        const response = await fetch(`${source}/api/v1/tenants/${tenant}/${resource}?${query}`)
        const body = JSON.parse(exact(await response.text())) as { results: unknown[]; total_pages: number }
        last = body.total_pages
        const rows = flatten(tenant, resource, body.results)
        yield { tenant, tables: tablesOf[resource].map((table, i) => [table, rows[i] ?? []]) }
      }
}
