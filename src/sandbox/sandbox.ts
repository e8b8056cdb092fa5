import { generate } from './data/generate.js'
import { CUSTOM_PAYMENT_TYPES } from './data/money.js'
import { Work } from './data/work.js'
import type { World } from './data/world.js'
import { Listener } from './http/listener.js'
import { RateLimit, type RateOptions } from './http/ratelimit.js'
import { Journal, type RequestLine } from './http/requestlog.js'
import { buildServer, type RequestHook, type ServerContext } from './http/server.js'
import { type WebhookOptions, Webhooks } from './http/webhooks.js'
import { type Clock, parseInstant, systemClock, type TimestampStyle, timestampFormat } from './instant.js'
import { type Change, Store } from './records/store.js'
import type { TenantOptions } from './records/tenant.js'
import { checkRules } from './script/check.js'
import { Mover } from './script/motion.js'
import type { Rule } from './script/rules.js'
import { Script } from './script/script.js'

export interface SandboxOptions {
  /** Default 127.0.0.1. */
  readonly host?: string
  /** Default 0: any free port. */
  readonly port?: number
  readonly partnerId?: string
  readonly secret?: string
  /** 'none' starts empty; default 'generated'. */
  readonly data?: 'none' | 'generated'
  /** How many tenants, or exactly which. Default: three with generated data, none without. */
  readonly tenants?:
    | number
    | readonly (TenantOptions & { readonly repairOrders?: number; readonly shops?: number })[]
  readonly seed?: number
  /** Multiplies the default numbers of repair orders (300, 900, 2400, …). */
  readonly scale?: number
  /** Repair orders of every tenant. */
  readonly repairOrders?: number
  /** The end of the two generated years; default: the clock's now. */
  readonly until?: string
  readonly clock?: Clock
  readonly timestamps?: TimestampStyle
  readonly rate?: RateOptions
  /** Compresses answers for clients that accept it; default false. */
  readonly gzip?: boolean
  readonly script?: readonly Rule[]
  readonly webhooks?: WebhookOptions
}

export interface Sandbox {
  readonly url: string
  readonly partnerId: string
  readonly secret: string
  readonly tenantIds: number[]
  readonly store: Store
  /** All requests since the start or resetRequests(), oldest first. */
  readonly requests: readonly RequestLine[]
  resetRequests(): void
  /** Replaces the script of faults and motion; every rule counts from 1 again. */
  script(rules: readonly Rule[]): void
  /** Calls the hook before each request is answered. Returns a function that takes it away again. */
  onRequest(hook: RequestHook): () => void
  /** The shops do so many things now; all changes that came of it. */
  work(n?: number, tenant?: number): Change[]
  /** Resolves when all webhooks announced so far are delivered or have failed. */
  delivered(): Promise<void>
  /** Refuses connections, as a server that is not there, and breaks the open ones. */
  down(): Promise<void>
  /** Listens again, at the same address. */
  up(): Promise<void>
  /** Everything back to an empty sandbox: records, tenants, script, hooks, webhooks, log, rate windows. */
  reset(): void
  close(): Promise<void>
}

export async function createSandbox(options: SandboxOptions = {}): Promise<Sandbox> {
  const clock = options.clock ?? systemClock()
  const credentials = {
    partnerId: options.partnerId ?? '42',
    secret: options.secret ?? 'sandbox-secret',
  }
  const store = new Store(clock, timestampFormat(options.timestamps ?? 'micros'))
  const work = new Work(store, settle(store, options), options.seed ?? 1)
  const closing = new AbortController()
  const rate = new RateLimit(clock, options.rate)
  const parts = {
    store,
    rate,
    credentials,
    gzip: options.gzip ?? false,
    script: new Script(),
    mover: new Mover({
      store,
      rate,
      partnerId: credentials.partnerId,
      work: (n, tenant) => work.do(n, tenant),
    }),
    hooks: new Set<RequestHook>(),
    journal: new Journal(),
    webhooks: new Webhooks(store, credentials.secret, closing.signal, options.webhooks),
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
    },
  }
}

const SIZES = [300, 900, 2400, 500, 1500]

/** Adds the tenants and, unless the sandbox starts empty, their two years of records. */
function settle(store: Store, options: SandboxOptions): Map<number, World> {
  const { tenants, data = 'generated', seed = 1, scale = 1 } = options
  const count = typeof tenants === 'number' ? tenants : data === 'none' ? 0 : 3
  const wanted =
    typeof tenants === 'object' ? tenants : Array.from({ length: count }, (_, i) => ({ id: 101 + i }))
  const until = options.until === undefined ? store.clock.nowMicros() : parseInstant(options.until)
  if (until === undefined)
    throw new Error(`until: not an ISO 8601 datetime with a timezone: ${options.until}`)
  const worlds = new Map<number, World>()
  for (const [index, tenant] of wanted.entries()) {
    const isEmpty = data === 'none'
    store.addTenant(isEmpty ? tenant : { paymentTypes: CUSTOM_PAYMENT_TYPES, ...tenant })
    if (isEmpty) continue
    const own = 'repairOrders' in tenant ? tenant.repairOrders : undefined
    const usual = Math.max(1, Math.round((SIZES[index % SIZES.length] ?? 300) * scale))
    const shops = 'shops' in tenant && tenant.shops !== undefined ? { shops: tenant.shops } : {}
    const repairOrders = own ?? options.repairOrders ?? usual
    worlds.set(tenant.id, generate(store, { tenant: tenant.id, repairOrders, seed, until, ...shops }))
  }
  return worlds
}
