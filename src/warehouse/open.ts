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
}

/** Drivers are loaded when their kind of warehouse is opened, and not before: start-up time. */
async function dialectOf(url: string, schema: string): Promise<Dialect> {
  if (url.startsWith('sqlite:')) return (await import('./sqlite/dialect.js')).sqliteDialect(url)
  if (/^postgres(ql)?:\/\//.test(url))
    return (await import('./postgres/dialect.js')).postgresDialect(url, schema)
  throw new Stop(`warehouse.url starts with ${JSON.stringify(url.split(':')[0])}`, {
    exitCode: 2,
    hint: 'Expected sqlite:PATH or postgres://user:password@host:port/database',
  })
}

/** Opens a warehouse; its tables are made by `migrate`. Throws Stop when it cannot be reached or used. */
export async function openWarehouse({ url, schema, ...rest }: OpenOptions): Promise<Warehouse> {
  return new Warehouse({ dialect: await dialectOf(url, schema), ...rest })
}
