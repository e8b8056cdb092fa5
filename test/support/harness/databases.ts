/** Databases on the tests' Postgres, wherever it was started. */
import pg from 'pg'

export const postgresUrlOf = (port: number | undefined): string =>
  `postgres://postgres@127.0.0.1:${port}/postgres`

/** The schema of the template, and of every warehouse copied from it. */
export const templateSchema = 'shopsync'

export interface PostgresTemplate {
  /** The server's own database, where tests make their schemas. */
  readonly url: string
  /** The database that is copied. */
  readonly database: string
  /** The same with views. */
  readonly viewed: string
}

/** Runs statements on a Postgres, outside any transaction. */
export async function onServer(url: string, ...statements: string[]): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    for (const statement of statements) await client.query(statement)
  } finally {
    await client.end()
  }
}

/** The rows of one query, in a session of its own. */
export async function askServer<T extends object>(
  url: string,
  text: string,
  values: unknown[] = [],
): Promise<T[]> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    return (await client.query<T>(text, values)).rows
  } finally {
    await client.end()
  }
}

/** The address of another database on the same server. */
export function databaseAt(server: string, database: string): string {
  const url = new URL(server)
  url.pathname = `/${database}`
  return url.href
}
