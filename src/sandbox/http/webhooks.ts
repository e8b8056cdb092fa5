import { randomUUID } from 'node:crypto'
import { printInstant } from '../instant.js'
import { Random } from '../random.js'
import { encode, isFields } from '../records/json.js'
import { EVENT_TYPES, eventName, isEventName } from '../records/resources.js'
import type { Change, Store } from '../records/store.js'
import { type Answer, type Call, json, Refusal } from './request.js'

export interface Webhook {
  readonly url: string
  readonly events: readonly string[]
}

export interface WebhookOptions {
  /** Configured from the start, as if by POST /webhooks. */
  readonly hooks?: readonly Webhook[]
  /** The chance that an event waits and is delivered after the next one. */
  readonly late?: number
  /** The chance that an event is delivered twice. */
  readonly twice?: number
  readonly seed?: number
}

const MAXIMUM = 20
const TIMEOUT_MS = 5000

interface Delivery {
  readonly url: string
  readonly body: string
}

/** Tells configured addresses what was created, updated and deleted. Nothing is tried again. */
export class Webhooks {
  readonly #hooks: { id: number; url: string; events: readonly string[] }[] = []
  readonly #store: Store
  readonly #secret: string
  readonly #closing: AbortSignal
  readonly #options: WebhookOptions
  readonly #random: Random
  readonly #pending = new Set<Promise<void>>()
  #waiting: Delivery[] = []

  constructor(store: Store, secret: string, closing: AbortSignal, options: WebhookOptions = {}) {
    this.#store = store
    this.#secret = secret
    this.#closing = closing
    this.#options = options
    this.#random = new Random(options.seed ?? 1)
    for (const { url, events } of options.hooks ?? []) this.#add(url, events)
    store.onChange((change) => this.#announce(change))
  }

  configure(call: Call): Answer {
    const { url, events } = body(call)
    const wrong: Record<string, string> = {}
    if (!isDeliverable(url)) wrong['url'] = 'is not an https URL (http is allowed for loopback addresses)'
    if (!Array.isArray(events) || events.length === 0 || !events.every(isEventName))
      wrong['events'] = 'is not an array of event names like customer.created'
    if (Object.keys(wrong).length > 0) throw new Refusal(422, 'Invalid fields', wrong)
    if (this.#hooks.length >= MAXIMUM) throw new Refusal(422, `At most ${MAXIMUM} webhooks per partner`)
    return json(201, JSON.stringify(this.#add(String(url), events as string[])))
  }

  clear(): void {
    this.#hooks.length = 0
    this.#waiting = []
  }

  /** Resolves when everything announced so far is delivered or has failed. */
  async idle(): Promise<void> {
    this.#flush()
    while (this.#pending.size > 0) await Promise.all(this.#pending)
  }

  #add(url: string, events: readonly string[]) {
    const hook = { id: this.#hooks.length + 1, url, events }
    this.#hooks.push(hook)
    return hook
  }

  #announce({ action, tenant, resource, id }: Change): void {
    const event = eventName(resource, action)
    const hooks = this.#hooks.filter(({ events }) => event !== undefined && events.includes(event))
    if (hooks.length === 0 || this.#store.findTenant(tenant)?.granted !== true) return
    const data = action === 'deleted' ? {} : { data: this.#store.get(tenant, resource, id) }
    const text = encode({
      id: randomUUID(),
      timestamp: printInstant(this.#store.clock.nowMicros()),
      event,
      payload: { type: EVENT_TYPES[resource], id, tenant_id: tenant, ...data },
    })
    for (const { url } of hooks) this.#queue({ url, body: text })
  }

  #queue(delivery: Delivery): void {
    const copies = this.#random.chance(this.#options.twice ?? 0) ? 2 : 1
    if (this.#random.chance(this.#options.late ?? 0)) {
      this.#waiting.push(delivery)
      return
    }
    for (let i = 0; i < copies; i += 1) this.#send(delivery)
    this.#flush()
  }

  #flush(): void {
    for (const delivery of this.#waiting.splice(0)) this.#send(delivery)
  }

  #send({ url, body: text }: Delivery): void {
    const sent = fetch(url, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', 'X-Api-Secret': this.#secret },
      body: text,
      redirect: 'manual',
      signal: AbortSignal.any([this.#closing, AbortSignal.timeout(TIMEOUT_MS)]),
    }).then(
      (response) => response.body?.cancel(),
      () => undefined,
    )
    const settled = sent.catch(() => undefined).finally(() => this.#pending.delete(settled))
    this.#pending.add(settled)
  }
}

function body(call: Call): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(call.body)
    return isFields(value) ? value : {}
  } catch {
    throw new Refusal(400, 'The request body is invalid JSON')
  }
}

const LOOPBACK = new Set(['localhost', '127.0.0.1', '[::1]'])

function isDeliverable(url: unknown): boolean {
  if (typeof url !== 'string' || !URL.canParse(url)) return false
  const { protocol, hostname } = new URL(url)
  return protocol === 'https:' || (protocol === 'http:' && LOOPBACK.has(hostname))
}
