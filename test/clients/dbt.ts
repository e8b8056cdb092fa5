/** Runs dbt in a test's project, and reads what it found. */
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Address } from '../support/harness/place.js'
import { client, run } from './environment.js'

/** What dbt writes about each test, or about each source whose freshness it checked. */
export interface Result {
  readonly unique_id: string
  readonly status: string
  readonly message?: string | null
}

/** How dbt connects to a warehouse; `models`: where it puts what it makes. */
export function profileOf({ url, schema }: Address, models?: string): object {
  if (url.startsWith('sqlite:')) {
    const file = url.slice('sqlite:'.length)
    const own = models === undefined ? {} : { [models]: join(dirname(file), `${models}.db`) }
    const paths = { schemas_and_paths: { main: file, ...own }, schema_directory: dirname(file) }
    return { type: 'sqlite', threads: 1, database: 'warehouse', schema: models ?? 'main', ...paths }
  }
  const { hostname, port, username, password, pathname } = new URL(url)
  const place = { host: hostname, port: Number(port), user: username, password, dbname: pathname.slice(1) }
  return { type: 'postgres', threads: 2, schema: models ?? schema, ...place }
}

/** Runs dbt, and reads what it found. dbt exits with 1 if a test fails, and its results show which one. */
export async function dbt(folder: string, words: readonly string[], results: string): Promise<Result[]> {
  const env = { ...process.env, DBT_SEND_ANONYMOUS_USAGE_STATS: 'false' }
  const ended = await run(client('dbt'), ['--quiet', ...words, '--profiles-dir', folder], {
    cwd: folder,
    env,
    maxBuffer: 1e8,
  }).catch((error: { code?: number; stdout?: string }) => {
    if (error.code !== 1) throw error
    return { stdout: error.stdout ?? '' }
  })
  try {
    const text = readFileSync(join(folder, 'target', results), 'utf8')
    return (JSON.parse(text) as { results: Result[] }).results
  } catch {
    throw new Error(`dbt left no ${results}: ${ended.stdout}`)
  }
}
