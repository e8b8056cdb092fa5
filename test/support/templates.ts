/**
 * Warehouses that a whole test run copies: migrated once, with the usual model. They are made in vitest's main process
 * when the first test requests them, while other tests run. Tests are in other processes, and send requests over HTTP.
 */
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync, statfsSync } from 'node:fs'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { migrate } from '../../src/engine/warehouse/migrate.js'
import { openWarehouse } from '../../src/engine/warehouse/openwarehouse.js'
import { databaseAt, onServer, type PostgresTemplate, postgresUrlOf, templateSchema } from './databases.js'
import { freePort, startPostgres, type TestPostgres } from './postgres.js'
import { known } from './run.js'

export interface SqliteTemplate {
  readonly file: string
}

export interface Templates {
  /** `GET /sqlite` and `GET /postgres` answer when the template is ready. */
  readonly url: string
  readonly sqlite: SqliteTemplate
  readonly postgres: PostgresTemplate
  stop(): Promise<void>
}

/**
 * In memory, where the machine has room for it: each test's database is a copy of the template, and on a disk the files
 * of a copy take as long as the test itself. A run that is killed leaves its folder, here as there: another run can't know
 * that nobody needs it.
 */
function placeOfCopies(): string {
  try {
    const { bavail, bsize } = statfsSync('/dev/shm')
    return bavail * bsize > 2 ** 31 ? '/dev/shm' : tmpdir()
  } catch {
    return tmpdir()
  }
}

async function fill(url: string): Promise<void> {
  const warehouse = await openWarehouse({ url, schema: templateSchema, model: known })
  await migrate(warehouse)
  await warehouse.close()
}

function answer(response: ServerResponse, made: Promise<unknown>): void {
  made.then(
    () => response.end(),
    (error: unknown) => response.writeHead(500).end(error instanceof Error ? error.stack : String(error)),
  )
}

/** `given`: the server of the tests within which these tests run. */
export async function startTemplates(given = process.env.TEST_POSTGRES): Promise<Templates> {
  const folder = mkdtempSync(join(tmpdir(), 'shopsync-templates-'))
  const sqlite = { file: join(folder, 'template.db') }
  const port = given ? undefined : await freePort()
  const postgres = {
    url: given ?? postgresUrlOf(port),
    database: `template_${randomBytes(6).toString('hex')}`,
  }
  let server: TestPostgres | undefined
  const make = {
    '/sqlite': () => fill(`sqlite:${sqlite.file}`),
    '/postgres': async () => {
      if (port !== undefined) server = await startPostgres({ port, place: placeOfCopies() })
      await onServer(postgres.url, `create database ${postgres.database}`)
      await fill(databaseAt(postgres.url, postgres.database))
    },
  }
  const made = new Map<string, Promise<void>>()
  const http = createServer(({ url }, response) => {
    const name = url === '/postgres' ? url : '/sqlite'
    const making = made.get(name) ?? make[name]()
    made.set(name, making)
    answer(response, making)
  })
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(http.address() as AddressInfo).port}`,
    sqlite,
    postgres,
    stop: async () => {
      http.close()
      http.closeAllConnections()
      // A server that is just starting would outlive the run.
      await made.get('/postgres')?.catch(() => {})
      await server?.stop()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
