/**
 * Warehouses that a whole test run copies: migrated once, with the usual model, by the engine alone and as `shopsync
 * migrate` does it, with the views and their calendar. They are made in vitest's main process when the first test requests
 * them, while other tests run. Tests are in other processes, and send requests over HTTP.
 */
import { randomBytes } from 'node:crypto'
import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { migrate } from '../../../src/engine/warehouse/migrate.js'
import { openWarehouse } from '../../../src/engine/warehouse/openwarehouse.js'
import { refreshCalendar } from '../../../src/features/analytics/calendar.js'
import { databaseAt, onServer, type PostgresTemplate, postgresUrlOf, templateSchema } from './databases.js'
import { freePort, startPostgres, type TestPostgres } from './postgres.js'
import { known } from './runs.js'
import { placeOfCopies } from './scratch.js'

export interface SqliteTemplate {
  readonly file: string
  /** The same with views. */
  readonly viewed: string
}

const paths = ['/sqlite', '/sqlite/viewed', '/postgres', '/postgres/viewed'] as const
type TemplatePath = (typeof paths)[number]

export interface Templates {
  /** `GET /sqlite`, `/sqlite/viewed`, `/postgres` and `/postgres/viewed` answer when the template is ready. */
  readonly url: string
  readonly sqlite: SqliteTemplate
  readonly postgres: PostgresTemplate
  stop(): Promise<void>
}

async function fill(url: string): Promise<void> {
  const warehouse = await openWarehouse({ url, schema: templateSchema, model: known })
  await migrate(warehouse)
  await warehouse.close()
}

/** Where the shops of a sandbox are. A first sync would store the clocks of each zone that isn't known yet. */
const zones = ['America/Chicago', 'America/Denver', 'America/New_York', 'America/Phoenix']

/** With the views and their calendar, as the program makes them. */
async function fillWithViews(url: string, folder: string): Promise<void> {
  const config = join(folder, `${url.split(':', 1)[0]}.json`)
  const warehouse = url.startsWith('sqlite:') ? { url } : { url, schema: templateSchema }
  const api = { baseUrl: 'http://127.0.0.1:9', partnerId: '1', secret: 'none' }
  writeFileSync(config, JSON.stringify({ api, warehouse }), { mode: 0o600 })
  const { shopsync } = await import('./call.js')
  const { code, stderr } = await shopsync(['migrate', '--config', config])
  if (code !== 0) throw new Error(stderr)
  const filled = await openWarehouse({ url, schema: templateSchema, model: known })
  await refreshCalendar(filled, zones, 'UTC', BigInt(Date.now()) * 1000n)
  await filled.close()
}

function answer(response: ServerResponse, made: Promise<unknown>): void {
  // A connection that is kept would be closed just when a worker asks for its next template.
  response.setHeader('Connection', 'close')
  made.then(
    () => response.end(),
    (error: unknown) => response.writeHead(500).end(error instanceof Error ? error.stack : String(error)),
  )
}

/** `given`: the server of the tests within which these tests run. */
export async function startTemplates(given = process.env.TEST_POSTGRES): Promise<Templates> {
  const folder = mkdtempSync(join(placeOfCopies(), 'shopsync-templates-'))
  const sqlite = { file: join(folder, 'template.db'), viewed: join(folder, 'viewed.db') }
  const port = given ? undefined : await freePort()
  const database = `template_${randomBytes(6).toString('hex')}`
  const postgres = { url: given ?? postgresUrlOf(port), database, viewed: `${database}_viewed` }
  let server: TestPostgres | undefined
  const made = new Map<string, Promise<void>>()
  const ready = (name: TemplatePath): Promise<void> => {
    const making = made.get(name) ?? make[name]()
    made.set(name, making)
    return making
  }
  const make: Record<TemplatePath, () => Promise<void>> = {
    '/sqlite': () => fill(`sqlite:${sqlite.file}`),
    '/sqlite/viewed': async () => {
      await ready('/sqlite')
      copyFileSync(sqlite.file, sqlite.viewed)
      await fillWithViews(`sqlite:${sqlite.viewed}`, folder)
    },
    '/postgres': async () => {
      if (port !== undefined) server = await startPostgres({ port })
      await onServer(postgres.url, `create database ${postgres.database}`)
      await fill(databaseAt(postgres.url, postgres.database))
    },
    '/postgres/viewed': async () => {
      await ready('/postgres')
      await onServer(postgres.url, `create database ${postgres.viewed} template ${database}`)
      await fillWithViews(databaseAt(postgres.url, postgres.viewed), folder)
    },
  }
  const http = createServer(({ url = '' }, response) => {
    answer(response, ready(paths.find((path) => path === url) ?? '/sqlite'))
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
      await Promise.allSettled(made.values())
      await server?.stop()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
