/*
 * The parts that commands work with: configuration, model, log, warehouse, source. Each part is opened when a command
 * first uses it. withContext always closes all of them, the last one first.
 */
import type { Logger } from 'pino'
import { resources } from '../../schema/index.js'
import { type Clock, Stamps, systemClock } from '../engine/base/clock.js'
import { describeError, isExpected, Stop } from '../engine/base/errors.js'
import { shortRequests, span } from '../engine/base/format.js'
import { type Shard, shardName } from '../engine/base/shard.js'
import type { Config } from '../engine/config/config.js'
import { privacyKey } from '../engine/config/privacysection.js'
import { sourceAddress } from '../engine/config/sourceaddress.js'
import { model, type Settings } from '../engine/model/registry.js'
import type { Model } from '../engine/model/resourcemodel.js'
import type { Dependencies } from '../engine/run/runcontext.js'
import type { CursorChoice } from '../engine/run/runreport.js'
import type { WindowSharing } from '../engine/source/rate/siblings.js'
import type { WaitNotice } from '../engine/source/rate/wait.js'
import type { Source } from '../engine/source/source.js'
import type { RowSettings } from '../engine/warehouse/lease/oneconfiguration.js'
import type { OpenOptions } from '../engine/warehouse/openwarehouse.js'
import type { Warehouse, Writer } from '../engine/warehouse/warehouse.js'
import { chosenByFlags } from './chosenbyflags.js'
import type { CommandContext, Feature, Invocation, SourceUse, ToWrite } from './command.js'
import { loadConfiguration, warnOfOpen } from './configuration.js'
import { stateTablesOf } from './features.js'
import { shardNamed } from './flags.js'
import { createLog, levelOf, secretsOf } from './log.js'
import { packageVersion } from './package.js'

class OpenContext implements CommandContext {
  readonly log: Logger
  writeLog: (text: string) => void = (text) => void this.invocation.io.stderr.write(text)
  readonly #closers: (() => Promise<void>)[] = []
  #warehouse: Writer | undefined
  #reading: Writer | undefined
  #source: Source | undefined
  #rowSettings: RowSettings | undefined

  constructor(
    readonly invocation: Invocation,
    readonly config: Config,
    private readonly configured: Model,
    readonly clock: Clock = systemClock,
    rowSettings?: RowSettings,
  ) {
    this.#rowSettings = rowSettings
    const { shard } = this
    this.log = createLog({
      level: levelOf(invocation, config),
      text:
        config.log.format === 'text' || (config.log.format === 'auto' && invocation.io.stderr.isTTY === true),
      secrets: secretsOf(config),
      shard: shard && shardName(shard),
      write: (text) => this.writeLog(text),
    })
  }

  /** As configured; once the warehouse is open, with what earlier configurations have left in it. */
  get model(): Model {
    return (this.#warehouse ?? this.#reading)?.model ?? this.configured
  }

  get choice(): CursorChoice {
    return chosenByFlags(this.config, this.invocation.options)
  }

  get shard(): Shard | undefined {
    return shardNamed(this.invocation.options.shard)
  }

  async refuseForgotten(): Promise<void> {
    const { choice } = this
    if (!choice.isTyped) return
    const { forgottenTenants, refuseForgotten } = await import('../engine/warehouse/state/tenants.js')
    refuseForgotten(choice, await forgottenTenants(await this.#toRead()))
  }

  async refuseUnknown(): Promise<void> {
    await this.refuseForgotten()
    const { choice } = this
    const warehouse = await this.#toRead()
    if (!choice.isTyped || !(await warehouse.has('tenants'))) return
    const { refuseUnknown, knownTenants } = await import('../engine/warehouse/state/tenants.js')
    const { exceptTenants } = this.config.sync
    const known = (await knownTenants(warehouse)).map(({ tenantId }) => tenantId)
    refuseUnknown(choice.tenants ?? [], known, exceptTenants)
  }

  async rowSettings(): Promise<RowSettings> {
    if (this.#rowSettings) return this.#rowSettings
    const [{ RowSettings }, { rowSettingsText }] = await Promise.all([
      import('../engine/warehouse/lease/oneconfiguration.js'),
      import('../engine/model/rowsettings.js'),
    ])
    const found: Record<string, unknown> = {}
    for (const feature of this.invocation.features)
      Object.assign(found, await feature.shapesRows?.(this.config))
    this.#rowSettings ??= new RowSettings(rowSettingsText(this.configured, found))
    return this.#rowSettings
  }

  open(how: 'read'): Promise<Warehouse>
  open(how: 'there'): Promise<Writer | undefined>
  open(how: 'write' | 'create', opening?: ToWrite): Promise<Writer>
  async open(
    how: 'read' | 'there' | 'write' | 'create',
    opening: ToWrite = {},
  ): Promise<Warehouse | Writer | undefined> {
    if (how === 'read') return this.#toRead()
    const { absenceStop, isNew } = await import('../engine/warehouse/layout/migrate.js')
    if (how === 'there') {
      if (!this.#warehouse && (await isNew(await this.#toRead()))) return undefined
      return this.#toWrite({})
    }
    if (how === 'write') {
      const there = await this.#toRead()
      if (await isNew(there)) throw await absenceStop(there, 2)
      this.#warehouse ??= there
    }
    const isBare = opening.tables === 'as they are'
    const warehouse = await this.#toWrite({ makesFolder: isBare })
    return isBare ? warehouse : this.#broughtUpToDate(warehouse, opening)
  }

  async #toRead(): Promise<Writer> {
    this.#reading ??= this.#warehouse ?? (await this.#openPlace({ existing: true }))
    return this.#reading
  }

  async #toWrite(how: Pick<OpenOptions, 'makesFolder'>): Promise<Writer> {
    this.#warehouse ??= await this.#openPlace(how)
    return this.#warehouse
  }

  async #openPlace(how: Pick<OpenOptions, 'existing' | 'makesFolder'>): Promise<Writer> {
    const { openWarehouse, refuseNarrow } = await import('../engine/warehouse/openwarehouse.js')
    const { url, schema, pooler } = this.config.warehouse
    const { shard } = this
    const readRules = this.invocation.features.find((feature) => feature.readRules)?.readRules
    const warehouse = await openWarehouse({
      url: url.reveal(),
      schema,
      pooler,
      model: this.configured,
      clock: this.clock,
      signal: this.invocation.signals.signal,
      rowSettings: await this.rowSettings(),
      sharedBy: shard && shard.of > 1 ? `--shard ${shardName(shard)}` : undefined,
      readRules: readRules ? (writing, tenantId) => readRules(this, writing, tenantId) : undefined,
      ...how,
    })
    // 40 percent: processes of shards often share a machine, and each keeps what it knows about many lists.
    this.invocation.io.collectAt(shard ? 40 : warehouse.dialect.bulk.heapGrowth)
    this.#closers.push(() => warehouse.close())
    const { features, command } = this.invocation
    const used = features.find((feature) => feature.command?.name === command)
    return used?.command?.readsAnyEncoding ? warehouse : refuseNarrow(warehouse)
  }

  async #broughtUpToDate(warehouse: Writer, { takesOver }: ToWrite): Promise<Writer> {
    const [{ foreignRefusal }, { migrate, plannedChanges }] = await Promise.all([
      import('../engine/warehouse/state/sourceidentity.js'),
      import('../engine/warehouse/layout/migrate.js'),
    ])
    const refusal = takesOver ? undefined : await foreignRefusal(warehouse, sourceAddress(this.config.api))
    if (this.config.warehouse.autoMigrate && !refusal) {
      const bring = this.shard ? (await import('../engine/run/catchup.js')).migrateBeforeShard : migrate
      const changes = await bring(warehouse)
      if (changes.length > 0 && warehouse.madeAs !== undefined) tellMade(this, warehouse.madeAs)
      else if (changes.length > 0) this.log.info({ changes: changes.length }, 'Tables brought up to date')
      await this.#afterMigration()
      return warehouse
    }
    const [first, ...more] = await plannedChanges(warehouse)
    if (!first) return warehouse
    if (refusal) throw refusal
    throw new Stop(
      `The warehouse is missing ${more.length + 1} changes, the first: ${first.table}, ${first.what}; expected none, because warehouse.autoMigrate is false`,
      { exitCode: 2, hint: 'Type shopsync migrate' },
    )
  }

  async #afterMigration(): Promise<void> {
    const warehouse = await this.#toWrite({})
    for (const feature of this.invocation.features) await feature.afterMigration?.(this, warehouse)
  }

  async dependencies<W extends Warehouse>(
    warehouse: W,
    { stamps, observer, siblings }: Parameters<CommandContext['dependencies']>[1] = {},
  ): Promise<Dependencies<W>> {
    const { config, clock, log, invocation, shard } = this
    const { newestStamp } = await import('../engine/warehouse/state/runs.js')
    const given = stamps ?? new Stamps(clock, await newestStamp(warehouse))
    const ofShard = shard && shard.of > 1 ? 'there' : undefined
    const besideWork = invocation.features.find((feature) => feature.besideWork)?.besideWork
    const beside = await besideWork?.(this, warehouse)
    const arrivals = invocation.features.find((feature) => feature.arrivals)?.arrivals
    const arrived = await arrivals?.(this, warehouse)
    return {
      beside,
      arrived,
      shard,
      config,
      warehouse,
      source: (await this.source(given, { siblings: siblings ?? ofShard, warehouse })).tagged(),
      clock,
      stamps: given,
      observer: {
        notice: (message, fields) => log.info(fields, message),
        warning: (message, fields) => log.warn(fields, message),
        survived: (error, message, fields) => this.survived(error, message, fields),
        ...observer,
      },
      signal: invocation.signals.signal,
      besideRows: async (run) => {
        for (const feature of invocation.features) await feature.besideRows?.(run)
      },
      afterRecompute: config.warehouse.autoMigrate ? () => this.#afterMigration() : undefined,
    }
  }

  onClose(close: () => Promise<void>): void {
    this.#closers.push(close)
  }

  get openedSource(): Source | undefined {
    return this.#source
  }

  async source(stamps: Stamps, how: SourceUse = {}): Promise<Source> {
    if (this.#source) return this.#source
    const { createSource } = await import('../engine/source/client.js')
    const { secret, retry, concurrency, ...api } = this.config.api
    const source = createSource({
      ...api,
      secret: secret.reveal(),
      connections: concurrency,
      retry: { ...retry, attempts: Math.min(how.most ?? retry.attempts, retry.attempts) },
      clock: this.clock,
      stamps,
      sharing: await windowSharing(how),
      userAgent: `shopsync/${packageVersion()}`,
      onWait: (wait) => this.#tellWait(wait),
      onRetry: (info) => this.log.info(info, 'Trying again'),
      onRequest: (info) => this.log.debug(info, 'Request'),
    })
    this.#closers.push(() => source.close())
    this.#closers.push(async () => (await import('../engine/base/trace.js')).flushSpans())
    this.#source = source
    return source
  }

  /** A wait needs no attention. Still, a person at the terminal would wonder why nothing moves. */
  #tellWait({ who, milliseconds, why }: WaitNotice): void {
    const text = `Waiting ${span(milliseconds)} (${who}): ${shortRequests(why)}`
    if (this.invocation.out.isRead) this.writeLog(`${text}\n`)
    else this.log.info({ who, why }, text)
  }

  async close(): Promise<void> {
    for (const close of this.#closers.reverse()) {
      await close().catch((error: unknown) => {
        this.log.info({ error: describeError(error) }, 'Could not close')
        this.invocation.out.survive(error)
      })
    }
  }

  /** An error ended a part of the work, and the rest goes on. */
  survived(error: unknown, message: string, fields: Record<string, unknown> = {}): void {
    this.log[isExpected(error) ? 'warn' : 'error']({ ...fields, error: describeError(error) }, message)
    this.invocation.out.survive(error)
  }
}

/** The row by which a command shares the rate limit's windows; undefined if it is the only one to use them. */
async function windowSharing({ siblings, warehouse }: SourceUse): Promise<WindowSharing | undefined> {
  if (!siblings || !warehouse) return undefined
  const { sharedWindow } = await import('../engine/warehouse/state/sharedwindow.js')
  return { siblings, row: sharedWindow(warehouse) }
}

/** Calls `use` with a context for the configuration that the command line names. */
export async function withContext<T>(
  invocation: Invocation,
  use: (context: CommandContext) => Promise<T>,
): Promise<T> {
  const { config, openFiles } = await loadConfiguration(invocation)
  return withConfig(invocation, config, (context) => {
    warnOfOpen(context, openFiles)
    return use(context)
  })
}

/** A mistyped name makes one, too, and would load everything into it. */
export function tellMade({ log, invocation }: CommandContext, warehouse: string): void {
  log.info({ warehouse }, 'A new warehouse was made')
  invocation.out.print(`Made a new warehouse: ${warehouse}\n`)
}

/** `rowSettings`: those of the program that has read the configuration, if that was earlier. */
export async function withConfig<T>(
  invocation: Invocation,
  config: Config,
  use: (context: CommandContext) => Promise<T>,
  clock: Clock = systemClock,
  rowSettings?: RowSettings,
): Promise<T> {
  const known = await configuredModel(invocation.features, config)
  const context = new OpenContext(invocation, config, known, clock, rowSettings)
  try {
    return await use(context)
  } finally {
    await context.close()
  }
}

/** The resources as a configuration has them. */
async function configuredModel(features: readonly Feature[], config: Config): Promise<Model> {
  const settings: Record<string, Settings[string]> = { ...config.resources }
  for (const feature of features)
    for (const [name, names] of Object.entries((await feature.names?.(config)) ?? {}))
      settings[name] = { ...settings[name], names }
  const { key, ...privacy } = config.privacy
  const bytes = (key && privacyKey(key.reveal())) ?? null
  return model(resources, settings, await stateTablesOf(features), { ...privacy, key: bytes })
}
