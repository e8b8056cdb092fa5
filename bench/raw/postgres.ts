/**
 * What a good engineer writes by hand for Postgres: one page after the other, one transaction a page, one statement of
 * many rows a table, over one connection. No guard, no children removed, no progress.
 */
import pg from 'pg'
import { type Columns, quoted, upsertTail } from '../floor/columns.js'
import type { Load } from '../floor/load.js'
import type { Cell, Row } from '../floor/rows.js'
import { pages, type RawPage } from './fetch.js'

/** A statement has 65,535 parameters at most. */
const mostParameters = 60_000

async function store(
  client: pg.Client,
  table: Columns[number],
  tenant: number,
  rows: readonly Row[],
): Promise<void> {
  const { columns } = table
  const syncedAt = new Date().toISOString()
  const most = Math.floor(mostParameters / columns.length)
  for (let from = 0; from < rows.length; from += most) {
    const parameters: Cell[] = []
    const values: string[] = []
    for (const row of rows.slice(from, from + most)) {
      const first = parameters.length + 1
      let at = 0
      for (const { name } of columns) {
        if (name === 'tenant_id') parameters.push(tenant)
        else if (name === '_synced_at') parameters.push(syncedAt)
        else if (name === '_deleted_at') parameters.push(null)
        else parameters.push(row[at++] ?? null)
      }
      values.push(`(${columns.map((_, i) => `$${first + i}`).join(',')})`)
    }
    const names = columns.map(({ name }) => quoted(name)).join(',')
    await client.query(
      `insert into ${quoted(table.name)} (${names}) values ${values.join(',')} ${upsertTail(table)}`,
      parameters,
    )
  }
}

export async function load(given: Load): Promise<void> {
  const options = `-c TimeZone=UTC -c search_path=${given.schema}`
  const client = new pg.Client({ connectionString: given.url, options })
  await client.connect()
  const byName = new Map(given.columns.map((table) => [table.name, table]))
  const write = async ({ tenant, tables }: RawPage): Promise<void> => {
    await client.query('begin')
    for (const [name, rows] of tables) {
      const table = byName.get(name)
      if (table) await store(client, table, tenant, rows)
    }
    await client.query('commit')
  }
  for await (const page of pages(given)) await write(page)
  await client.end()
}
