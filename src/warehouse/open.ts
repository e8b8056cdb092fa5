import type { Clock } from '../clock.js'
import { Stop } from '../errors.js'
import type { Model } from '../model/registry.js'
import type { Dialect } from './dialect.js'
import { Warehouse } from './warehouse.js'

export interface OpenOptions {
  /** `sqlite:PATH` or `postgres://…`. */
  readonly url: string
  /** Schema of the tables, where the warehouse knows schemas. */
  readonly schema: string
  readonly model: Model
  readonly clock?: Clock
  readonly patience?: readonly number[]
  /** Rows from which a page goes to SQLite's writer thread: default 300, 0 always, Infinity never. */
  readonly threadFrom?: number
}

/** Drivers are loaded when their kind of warehouse is opened, and not before: start-up time. */
async function dialectOf({ url, schema, threadFrom }: OpenOptions): Promise<Dialect> {
  if (url.startsWith('sqlite:')) return (await import('./sqlite/dialect.js')).sqliteDialect(url, threadFrom)
  if (/^postgres(ql)?:\/\//.test(url))
    return (await import('./postgres/dialect.js')).postgresDialect(url, schema)
  throw new Stop(`warehouse.url starts with ${JSON.stringify(url.split(':')[0])}`, {
    exitCode: 2,
    hint: 'Expected sqlite:PATH or postgres://user:password@host:port/database',
  })
}

/** Opens a warehouse; its tables are made by `migrate`. Throws Stop when it cannot be reached or used. */
export async function openWarehouse(options: OpenOptions): Promise<Warehouse> {
  const { url: _url, schema: _schema, threadFrom: _from, ...rest } = options
  return new Warehouse({ dialect: await dialectOf(options), ...rest })
}
