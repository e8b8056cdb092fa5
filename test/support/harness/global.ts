/**
 * Run by vitest in its main process: warehouses that the tests copy, migrated once in a run, with the usual model, by the
 * engine alone and as `shopsync migrate` does it, with the views and their calendar. They are made when the first test
 * requests them, over HTTP, from its own process; meanwhile others run.
 */
import { randomBytes } from 'node:crypto'
import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type ServerResponse } from 'node:http'
import { join } from 'node:path'
import type { TestProject } from 'vitest/node'
import { migrate } from '../../../src/engine/warehouse/layout/migrate.js'
import { openWarehouse } from '../../../src/engine/warehouse/openwarehouse.js'
import { refreshCalendar } from '../../../src/features/analytics/calendar.js'
import type { LawSuite } from '../world/lawsuite.js'
import { expectCompiled } from './compiled.js'
import { databaseAt, onServer, type PostgresTemplate, postgresUrlOf, templateSchema } from './databases.js'
import { freePort, startPostgres, type TestPostgres } from './postgres.js'
import { listens } from './relays.js'
import { known } from './runs.js'
import { placeOfCopies } from './scratch.js'

interface SqliteTemplate {
  readonly file: string
  /** The same with views. */
  readonly viewed: string
}

declare module 'vitest' {
  interface ProvidedContext {
    warehouses: 'sqlite' | 'both'
    /** For `sized` (test/support/harness/size.ts). */
    size: 'some' | 'all'
    /** By runs before this one: only in `npm run test:long`. */
    played: readonly string[]
    /** Whether it was called with -u, so that what was expected is written anew. */
    rewrites: boolean
    /** Of the properties (test/support/world/searched.ts). */
    seed: number
    /** Only in `npm run test:apart -- search`. */
    search: LawSuite
    /** Where this run's templates are requested: `GET` answers when the one of that name is ready. */
    templates: string
    /** Where they are, once they were requested. */
    sqlite: SqliteTemplate
    postgres: PostgresTemplate
  }
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

async function startTemplates() {
  const folder = mkdtempSync(join(placeOfCopies(), 'shopsync-templates-'))
  const sqlite = { file: join(folder, 'template.db'), viewed: join(folder, 'viewed.db') }
  // That of the tests within which these tests run.
  const { TEST_POSTGRES: given } = process.env
  const port = given ? undefined : await freePort()
  const database = `template_${randomBytes(6).toString('hex')}`
  const postgres = { url: given ?? postgresUrlOf(port), database, viewed: `${database}_viewed` }
  let server: TestPostgres | undefined
  const make: Readonly<Record<string, () => Promise<void>>> = {
    '/sqlite': () => fill(`sqlite:${sqlite.file}`),
    '/sqlite/viewed': async () => {
      await ready('/sqlite')
      copyFileSync(sqlite.file, sqlite.viewed)
      await fillWithViews(`sqlite:${sqlite.viewed}`, folder)
    },
    '/postgres': async () => {
      if (port !== undefined) server = await startPostgres({ port })
      await onServer(postgres.url, `create database ${database}`)
      await fill(databaseAt(postgres.url, database))
    },
    '/postgres/viewed': async () => {
      await ready('/postgres')
      await onServer(postgres.url, `create database ${postgres.viewed} template ${database}`)
      await fillWithViews(databaseAt(postgres.url, postgres.viewed), folder)
    },
  }
  const made = new Map<string, Promise<void>>()
  const ready = (name: string): Promise<void> => {
    const making = made.get(name) ?? make[name]?.() ?? Promise.reject(new Error(`There is no ${name}`))
    made.set(name, making)
    return making
  }
  const http = createServer(({ url = '' }, response) => answer(response, ready(url)))
  const { port: at, close } = await listens(http)
  const stop = async (): Promise<void> => {
    await close()
    // A server that is just starting would outlive the run.
    await Promise.allSettled(made.values())
    await server?.stop()
    server = undefined
    rmSync(folder, { recursive: true, force: true })
  }
  return { templates: `http://127.0.0.1:${at}`, sqlite, postgres, stop }
}

/** vitest loads this file for each of its projects; they share one. */
const run = globalThis as { templates?: ReturnType<typeof startTemplates> }

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  expectCompiled()
  run.templates ??= startTemplates()
  const { templates, sqlite, postgres, stop } = await run.templates
  project.provide('rewrites', project.config.snapshotOptions.updateSnapshot === 'all')
  project.provide('templates', templates)
  project.provide('sqlite', sqlite)
  project.provide('postgres', postgres)
  return stop
}
