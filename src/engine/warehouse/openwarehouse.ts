import type { Clock } from '../base/clock.js'
import { Stop } from '../base/errors.js'
import type { Model } from '../model/resourcemodel.js'
import type { Dialect, DialectOptions } from './dialect.js'
import type { RowSettings } from './lease/oneconfiguration.js'
import type { BiTools, ToolPlace } from './views/bitools.js'
import { type RulesReader, type Warehouse, Writer } from './warehouse.js'

export interface OpenOptions extends DialectOptions {
  readonly model: Model
  readonly clock?: Clock
  readonly retryWaits?: readonly number[]
  readonly signal?: AbortSignal
  readonly readRules?: RulesReader | undefined
  readonly rowSettings?: RowSettings
}

/** A driver is loaded only when its kind of warehouse is opened, because commands must start quickly. */
export async function openDialect(options: DialectOptions): Promise<Dialect> {
  const { url, schema } = options
  if (url.startsWith('sqlite:')) return (await import('./sqlite/dialect.js')).sqliteDialect(url, options)
  if (/^postgres(ql)?:\/\//.test(url))
    return (await import('./postgres/dialect.js')).postgresDialect(url, schema, options)
  throw new Stop(`warehouse.url starts with ${JSON.stringify(url.split(':')[0])}`, {
    exitCode: 2,
    hint: 'Expected sqlite:PATH or postgres://user:password@host:port/database',
  })
}

/** Opens a warehouse; `migrate` creates its tables. Throws Stop if the warehouse can't be reached or used. */
export async function openWarehouse(options: OpenOptions): Promise<Writer> {
  return new Writer({ ...options, dialect: await openDialect(options) })
}

/** What is wrong with a database that can't hold every character. `copy`, `status`, `check` and, from views of this version, `report` still read it. */
export const encodingWords = (encoding: string): { readonly found: string; readonly hint: string } => ({
  found: `the database has the encoding ${encoding}, which cannot hold every character; expected UTF8`,
  hint: "Type: create database NAME encoding 'UTF8' template template0; then shopsync copy --to postgres://user:password@host:port/NAME, and name that one in warehouse.url. Until then, status and check still read this one, and report does if its views are of this version",
})

/** Throws Stop if the database can't hold every character: records would be refused for a letter in a name. */
export async function refuseNarrow<W extends Warehouse>(warehouse: W): Promise<W> {
  const encoding = await warehouse.read(() => warehouse.dialect.catalog.narrowEncoding())
  if (encoding === undefined) return warehouse
  const { found, hint } = encodingWords(encoding)
  throw new Stop(`The warehouse ${warehouse.where} cannot be used: ${found}`, { exitCode: 2, hint })
}

/** What other tools need to know about the warehouse at an address. It doesn't have to exist. */
export async function biToolsOf(place: ToolPlace): Promise<BiTools> {
  const kind = place.url.startsWith('sqlite:')
    ? import('./sqlite/views/bitools.js')
    : import('./postgres/views/bitools.js')
  return (await kind).biTools(place)
}
