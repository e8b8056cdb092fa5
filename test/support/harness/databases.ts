/** Databases: files of SQLite, and those on the tests' Postgres, wherever it was started. */
import BetterSqlite3 from 'better-sqlite3'
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

/** Uses a file of SQLite, given by its path or its address. */
export function inFile<T>(file: string, use: (db: BetterSqlite3.Database) => T): T {
  const db = new BetterSqlite3(file.replace(/^sqlite:/, ''))
  try {
    return use(db)
  } finally {
    db.close()
  }
}

/** Uses a session of its own. */
export async function withClient<T>(url: string, use: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  return use(client).finally(() => client.end())
}

/** Runs statements on a Postgres, outside any transaction. */
export const onServer = (url: string, ...statements: string[]): Promise<void> =>
  withClient(url, async (client) => {
    for (const statement of statements) await client.query(statement)
  })

/** The rows of one query. */
export const askServer = async <T extends object>(
  url: string,
  text: string,
  values: unknown[] = [],
): Promise<T[]> => withClient(url, async (client) => (await client.query<T>(text, values)).rows)

/** The address of another database on the same server. */
export function databaseAt(server: string, database: string): string {
  const url = new URL(server)
  url.pathname = `/${database}`
  return url.href
}
