/** Assembles a sandbox from its parts; called by tests and the demo. Used by index.ts and main.ts. */
import { systemClock } from '../engine/base/clock.js'
import { stringLists } from './data/declared.js'
import { generateTenant } from './data/generate.js'
import { Work } from './data/work.js'
import type { World } from './data/world.js'
import type { EventDelivery } from './http/deliverylog.js'
import { Listener } from './http/listener.js'
import { RateLimit, type RateOptions } from './http/ratelimit.js'
import { Journal, type RequestLine } from './http/requestlog.js'
import { buildServer, type RequestHook, type ServerContext } from './http/server.js'
import { type WebhookOptions, Webhooks } from './http/webhooks.js'
import { type MicrosClock, parseInstant, type TimestampStyle, timestampFormat } from './instant.js'
import { Store, type StoreChange } from './records/store.js'
import type { TenantOptions } from './records/tenant.js'
import { Mover } from './script/motion.js'
import { checkRules, type Rule } from './script/rules.js'
import { Script } from './script/script.js'

interface GeneratedTenant extends TenantOptions {
  readonly repairOrders?: number
  readonly shops?: number
  /** How many technicians each shop has at least: with fewer, the same orders are of a longer time. Default 2. */
  readonly technicians?: number
}

export interface SandboxOptions {
  /** Default 127.0.0.1. */
  readonly host?: string
  /** Default 0: any free port. */
  readonly port?: number | undefined
  readonly partnerId?: string
  readonly secret?: string
  /** 'none' starts without records; default 'generated'. */
  readonly data?: 'none' | 'generated'
  /** The number of tenants, or the tenants. Default: three with generated data, none without. */
  readonly tenants?: number | readonly GeneratedTenant[]
  readonly seed?: number
  /** Multiplies the default numbers of repair orders (300, 900, 2400, …). */
  readonly scale?: number | undefined
  /** The number of repair orders of every tenant. */
  readonly repairOrders?: number
  /** The end of the two generated years; default: the clock's time. */
  readonly until?: string
  readonly clock?: MicrosClock
  readonly timestamps?: TimestampStyle
  readonly rate?: RateOptions | undefined
  /** Compresses responses for clients that accept it; default false. */
  readonly gzip?: boolean
  readonly script?: readonly Rule[]
  readonly webhooks?: WebhookOptions | undefined
  /** Makes a tenant's data when it is first asked for, and keeps it compressed; default false: all at once, as it is. */
  readonly lazy?: boolean
}

export interface Sandbox {
  readonly url: string
  readonly partnerId: string
  readonly secret: string
  readonly tenantIds: number[]
  readonly store: Store
  /** All requests since the start or the last resetRequests(), oldest first. */
  readonly requests: readonly RequestLine[]
  /** All attempts to deliver events since the start or the last reset(), oldest first. */
  readonly deliveries: readonly EventDelivery[]
  resetRequests(): void
  /** Replaces the script of faults and motion; every rule starts counting at 1. */
  script(rules: readonly Rule[]): void
  /** Calls the hook before each request is answered. Returns a function that removes the hook. */
  onRequest(hook: RequestHook): () => void
  /** Lets the shops do `n` things now, and returns all changes. */
  work(n?: number, tenant?: number): StoreChange[]
  /** Sends all events to that address from now on. */
  subscribe(url: string): void
  /** Resolves when all events so far are delivered or have failed for the last time. */
  delivered(): Promise<void>
  /** Refuses connections, as a stopped server does, and breaks open ones. */
  down(): Promise<void>
  /** Listens again, at the same address. */
  up(): Promise<void>
  /** Empties the sandbox: records, tenants, script, hooks, webhooks, log, rate windows. */
  reset(): void
  close(): Promise<void>
}

export async function createSandbox(options: SandboxOptions = {}): Promise<Sandbox> {
  const clock = options.clock ?? systemClock
  const credentials = {
    partnerId: options.partnerId ?? '42',
    secret: options.secret ?? 'sandbox-secret',
  }
  const store = new Store(clock, timestampFormat(options.timestamps ?? 'micros'))
  const work = new Work(store, settle(store, options), options.seed ?? 1)
  const closing = new AbortController()
  const rate = new RateLimit(clock, options.rate)
  const script = new Script()
  const hooked = { store, script, secret: credentials.secret, closing: closing.signal }
  const parts = {
    store,
    rate,
    credentials,
    gzip: options.gzip ?? false,
    script,
    mover: new Mover(
      store,
      (requests) => void rate.take(credentials.partnerId, requests),
      (n, tenant) => void work.do(n, tenant),
    ),
    hooks: new Set<RequestHook>(),
    journal: new Journal(),
    webhooks: new Webhooks(hooked, options.webhooks),
    closing: closing.signal,
  }
  parts.script.set(checkRules(options.script ?? []))
  const app = buildServer(parts)
  const listener = await Listener.open(app, options.host, options.port)
  return assemble({ ...parts, work, listener, stop: () => closing.abort() })
}

interface Parts extends ServerContext {
  readonly work: Work
  readonly listener: Listener
  readonly stop: () => void
}

function assemble(parts: Parts): Sandbox {
  const { store, credentials, journal, script, hooks, webhooks, rate, mover, work, listener } = parts
  return {
    url: listener.url,
    ...credentials,
    store,
    get tenantIds() {
      return store.tenantIds
    },
    requests: journal.lines,
    deliveries: webhooks.deliveries,
    resetRequests: () => journal.clear(),
    script: (rules) => {
      script.set(checkRules(rules))
      mover.restart()
    },
    onRequest: (hook) => {
      hooks.add(hook)
      return () => hooks.delete(hook)
    },
    work: (n = 1, tenant) => work.do(n, tenant),
    subscribe: (url) => webhooks.subscribe(url),
    delivered: () => webhooks.idle(),
    reset: () => {
      for (const part of [store, journal, hooks, webhooks, rate, mover]) part.clear()
      script.set([])
    },
    down: () => listener.down(),
    up: () => listener.up(),
    close: async () => {
      parts.stop()
      await listener.close()
      await webhooks.idle()
    },
  }
}

const SIZES = [300, 900, 2400, 500, 1500]

/** Adds the tenants and, with generated data, two years of their records. */
function settle(store: Store, options: SandboxOptions): Map<number, World> {
  const { tenants, data = 'generated', seed = 1, scale = 1 } = options
  const count = typeof tenants === 'number' ? tenants : data === 'none' ? 0 : 3
  const wanted: readonly GeneratedTenant[] =
    typeof tenants === 'object' ? tenants : Array.from({ length: count }, (_, i) => ({ id: 101 + i }))
  const until = options.until === undefined ? store.clock.nowMicros() : parseInstant(options.until)
  if (until === undefined)
    throw new Error(`until: not an ISO 8601 datetime with a timezone: ${options.until}`)
  const worlds = new Map<number, World>()
  for (const [index, tenant] of wanted.entries()) {
    store.addTenant(data === 'none' ? tenant : { strings: stringLists(), ...tenant })
    if (data === 'none') continue
    const usual = Math.max(1, Math.round((SIZES[index % SIZES.length] ?? 300) * scale))
    const repairOrders = tenant.repairOrders ?? options.repairOrders ?? usual
    const isLazy = options.lazy === true
    const { id, shops, technicians } = tenant
    const plan = { tenant: id, repairOrders, shops, technicians, seed, until, packs: isLazy }
    const fill = (): void => void worlds.set(id, generateTenant(store, plan))
    if (isLazy) store.tenant(id).fill = fill
    else fill()
  }
  return worlds
}
