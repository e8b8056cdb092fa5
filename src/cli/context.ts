import type { Logger } from 'pino'
import { resources } from '../../schema/index.js'
import type { Source } from '../api/source.js'
import { type Clock, Stamps, systemClock } from '../clock.js'
import type { Config, LogLevel } from '../config/config.js'
import { load } from '../config/load.js'
import { Stop } from '../errors.js'
import { type Model, model } from '../model/registry.js'
import type { Warehouse } from '../warehouse/warehouse.js'
import type { Invocation } from './command.js'
import { collectAt } from './heap.js'
import { createLog } from './log.js'
import { packageVersion } from './package.js'

/**
 * What commands work with: configuration, model, warehouse, source. Each part is opened when it is first asked for,
 * and all are closed in reverse order, whatever happens.
 */
export class CommandContext {
  readonly invocation: Invocation
  readonly config: Config
  readonly model: Model
  readonly clock: Clock = systemClock
  readonly log: Logger
  /** Where the log goes; a progress display on the same terminal puts itself around it. */
  writeLog: (text: string) => void = (text) => void process.stderr.write(text)
  readonly #closers: (() => Promise<void>)[] = []
  #warehouse: Warehouse | undefined
  #source: Source | undefined

  constructor(invocation: Invocation, config: Config) {
    this.invocation = invocation
    this.config = config
    this.model = model(resources, config.resources)
    this.log = createLog({
      level: levelOf(invocation, config),
      text: config.log.format === 'text' || (config.log.format === 'auto' && process.stderr.isTTY === true),
      secrets: [config.api.secret.reveal(), ...passwords(config)],
      write: (text) => this.writeLog(text),
    })
  }

  /** The warehouse as it is: for commands that only read, or that migrate. */
  async warehouse(): Promise<Warehouse> {
    if (this.#warehouse) return this.#warehouse
    const { openWarehouse } = await import('../warehouse/open.js')
    const { url, schema } = this.config.warehouse
    const warehouse = await openWarehouse({ url: url.reveal(), schema, model: this.model, clock: this.clock })
    collectAt(warehouse.dialect.heapGrowth)
    this.#closers.push(() => warehouse.close())
    this.#warehouse = warehouse
    return warehouse
  }

  /** The warehouse with its tables up to date, as every command that writes needs it. */
  async readyWarehouse(): Promise<Warehouse> {
    const warehouse = await this.warehouse()
    if (this.config.warehouse.autoMigrate) {
      const changes = await warehouse.migrate()
      if (changes.length > 0) this.log.info({ changes: changes.length }, 'Tables brought up to date')
      return warehouse
    }
    const [first, ...more] = await warehouse.plan()
    if (!first) return warehouse
    throw new Stop(
      `The warehouse lacks ${more.length + 1} changes, the first of them: ${first.what} ${first.table}; expected none, since warehouse.autoMigrate is false`,
      { exitCode: 2, hint: 'Type shopsync migrate' },
    )
  }

  /** Stamps that lie after everything the warehouse has seen. */
  async stamps(warehouse: Warehouse): Promise<Stamps> {
    return new Stamps(this.clock, await warehouse.newestStamp())
  }

  async source(stamps: Stamps, attempts = this.config.api.retry.attempts): Promise<Source> {
    if (this.#source) return this.#source
    const { createSource } = await import('../api/client.js')
    const { secret, retry, concurrency, ...api } = this.config.api
    const source = createSource({
      ...api,
      secret: secret.reveal(),
      connections: concurrency,
      retry: { ...retry, attempts },
      clock: this.clock,
      stamps,
      userAgent: `shopsync/${packageVersion()}`,
      onRetry: (info) => this.log.info(info, 'Trying again'),
      onRequest: (info) => this.log.debug(info, 'Request'),
    })
    this.#closers.push(() => source.close())
    this.#source = source
    return source
  }

  async close(): Promise<void> {
    for (const close of this.#closers.reverse()) {
      await close().catch((error: unknown) => this.log.warn({ error: String(error) }, 'Could not close'))
    }
  }
}

function levelOf({ globals, out }: Invocation, config: Config): LogLevel {
  if (globals.logLevel) return globals.logLevel
  if (out.quiet) return 'error'
  return config.log.level ?? (process.stderr.isTTY ? 'warn' : 'info')
}

/** The warehouse's password, as it stands in the address and as it is meant. */
function passwords(config: Config): string[] {
  const url = config.warehouse.url.reveal()
  const password = URL.canParse(url) ? new URL(url).password : ''
  return password === '' ? [] : [password, decodeURIComponent(password)]
}

/** Does something with a context of the configuration that the command line names. */
export async function withContext<T>(
  invocation: Invocation,
  use: (context: CommandContext) => Promise<T>,
): Promise<T> {
  const { config } = load({
    file: invocation.globals.config,
    environment: process.env,
    workingDirectory: process.cwd(),
  })
  return withConfig(invocation, config, use)
}

export async function withConfig<T>(
  invocation: Invocation,
  config: Config,
  use: (context: CommandContext) => Promise<T>,
): Promise<T> {
  const context = new CommandContext(invocation, config)
  try {
    return await use(context)
  } finally {
    await context.close()
  }
}
