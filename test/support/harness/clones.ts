/**
 * Copies of the run's template warehouses (global.ts), one per test. They are removed after the test, or the file,
 * that made them.
 */
import { randomBytes } from 'node:crypto'
import { copyFileSync, existsSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, inject } from 'vitest'
import { afterwards } from './afterwards.js'
import { databaseAt, onServer, type PostgresTemplate } from './databases.js'
import { scratch } from './scratch.js'

/** `viewed`: as `shopsync migrate` makes it, with views. */
export type TemplateName = 'engine' | 'viewed'

const asked = new Map<string, Promise<void>>()

/** Waits for vitest's main process, which makes the template when the run's first test requests it. */
function made(name: 'sqlite' | 'sqlite/viewed' | 'postgres' | 'postgres/viewed'): Promise<void> {
  const answer =
    asked.get(name) ??
    fetch(`${inject('templates')}/${name}`).then(async (response) => {
      if (!response.ok) throw new Error(await response.text())
    })
  asked.set(name, answer)
  return answer
}

/** The run's Postgres, at the address where it will be; the tests of a file that requests it wait until it is there. */
export function postgresOfRun(): PostgresTemplate {
  // If it fails, the code that waits for it reports that.
  made('postgres').catch(() => {})
  return inject('postgres')
}

/** When it is there. */
export const postgresStarted = (): Promise<void> => made('postgres')

export async function cloneSqlite(file: string, of: TemplateName = 'engine'): Promise<void> {
  await made(of === 'viewed' ? 'sqlite/viewed' : 'sqlite')
  copyFileSync(inject('sqlite')[of === 'viewed' ? 'viewed' : 'file'], file)
}

const drop = (name: string): Promise<void> =>
  onServer(inject('postgres').url, `drop database ${name} with (force)`)

/** Nobody waits for these: the next test has its own. */
const dropping: Promise<void>[] = []

/** The address of a new database. */
export async function clonePostgres(of: TemplateName = 'engine'): Promise<string> {
  const { database, viewed } = postgresOfRun()
  await made(of === 'viewed' ? 'postgres/viewed' : 'postgres')
  return databaseLike(of === 'viewed' ? viewed : database)
}

async function databaseLike(from: string): Promise<string> {
  const { url } = postgresOfRun()
  const name = `t_${randomBytes(6).toString('hex')}`
  await onServer(url, `create database ${name} template ${from} strategy file_copy`)
  afterwards(() => void dropping.push(drop(name)))
  return databaseAt(url, name)
}

/** A copy of a warehouse that is filled once for several tests. Nobody may have it open; on Postgres, it is a database of its own. */
export async function copied<A extends { readonly url: string; readonly schema: string }>({
  url,
  ...where
}: A): Promise<Omit<A, 'url'> & { readonly url: string }> {
  if (!url.startsWith('sqlite:')) return { url: await databaseLike(new URL(url).pathname.slice(1)), ...where }
  const [from, to] = [url.slice('sqlite:'.length), join(scratch(), 'warehouse.db')]
  for (const end of ['', '-wal', '.events', '.events-wal'])
    if (existsSync(from + end)) copyFileSync(from + end, to + end)
  return { url: `sqlite:${to}`, ...where }
}

/** For every file of tests. */
export function removeClones(): void {
  beforeAll(() => asked.get('postgres'))
  afterAll(() => Promise.all(dropping.splice(0)))
}
