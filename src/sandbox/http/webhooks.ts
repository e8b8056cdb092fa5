/**
 * Webhooks: their configuration, and the delivery of events. Used by server.ts and sandbox.ts.
 */
import { randomUUID } from 'node:crypto'
import { printInstant } from '../instant.js'
import { Random } from '../random.js'
import { encode } from '../records/json.js'
import { EVENT_NAMES, eventOf } from '../records/resources.js'
import type { Store, StoreChange } from '../records/store.js'
import { bodyOf, type PartnerCall } from './request.js'
import { type HttpResponse, invalid, jsonResponse, Refusal } from './response.js'

export interface Webhook {
  readonly url: string
  readonly events: readonly string[]
}

export interface WebhookOptions {
  /** Webhooks that exist from the start. */
  readonly hooks?: readonly Webhook[]
  /** The chance that an event is delivered after the next one. */
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

/** Sends changes of records to the configured addresses. A delivery that fails is not repeated. */
export class Webhooks {
  readonly #hooks: { id: number; url: string; events: readonly string[] }[] = []
  readonly #random: Random
  readonly #pending = new Set<Promise<void>>()
  #waiting: Delivery[] = []

  constructor(
    private readonly store: Store,
    private readonly secret: string,
    private readonly closing: AbortSignal,
    private readonly options: WebhookOptions = {},
  ) {
    this.#random = new Random(options.seed ?? 1)
    for (const { url, events } of options.hooks ?? []) this.#add(url, events)
    store.onChange((change) => this.#announce(change))
  }

  configure(call: PartnerCall): HttpResponse {
    const { url, events } = bodyOf(call)
    const wrong: Record<string, string> = {}
    if (!isDeliverable(url)) wrong['url'] = 'is not an https URL (http is allowed for loopback addresses)'
    if (!Array.isArray(events) || events.length === 0) wrong['events'] = 'is not an array of event names'
    else if (!events.every((name) => EVENT_NAMES.includes(name)))
      wrong['events'] = `holds a name that is not one of ${EVENT_NAMES.join(', ')}`
    if (Object.keys(wrong).length > 0) throw invalid(wrong)
    if (this.#hooks.length >= MAXIMUM) throw new Refusal(422, `At most ${MAXIMUM} webhooks per partner`)
    return jsonResponse(201, JSON.stringify(this.#add(String(url), events as string[])))
  }

  clear(): void {
    this.#hooks.length = 0
    this.#waiting = []
  }

  /** Resolves when every event so far is delivered or has failed. */
  async idle(): Promise<void> {
    this.#flush()
    while (this.#pending.size > 0) await Promise.all(this.#pending)
  }

  #add(url: string, events: readonly string[]) {
    const hook = { id: this.#hooks.length + 1, url, events }
    this.#hooks.push(hook)
    return hook
  }

  #announce({ action, tenant, resource, id }: StoreChange): void {
    const event = eventOf(resource, action)
    if (event === undefined || this.store.findTenant(tenant)?.granted !== true) return
    const hooks = this.#hooks.filter(({ events }) => events.includes(event.name))
    if (hooks.length === 0) return
    const data = action === 'deleted' ? {} : { data: this.store.get(tenant, resource, id) }
    const text = encode({
      id: randomUUID(),
      timestamp: printInstant(this.store.clock.nowMicros()),
      event: event.name,
      payload: { type: event.type, id, tenant_id: tenant, ...data },
    })
    for (const { url } of hooks) this.#queue({ url, body: text })
  }

  #queue(delivery: Delivery): void {
    const copies = this.#random.chance(this.options.twice ?? 0) ? 2 : 1
    if (this.#random.chance(this.options.late ?? 0)) {
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
      headers: { 'Content-Type': 'application/json', 'X-Api-Secret': this.secret },
      body: text,
      redirect: 'manual',
      signal: AbortSignal.any([this.closing, AbortSignal.timeout(TIMEOUT_MS)]),
    }).then(
      (response) => response.body?.cancel(),
      () => undefined,
    )
    const settled = sent.catch(() => undefined).finally(() => this.#pending.delete(settled))
    this.#pending.add(settled)
  }
}

const LOOPBACK = new Set(['localhost', '127.0.0.1', '[::1]'])

function isDeliverable(url: unknown): boolean {
  if (typeof url !== 'string' || !URL.canParse(url)) return false
  const { protocol, hostname } = new URL(url)
  return protocol === 'https:' || (protocol === 'http:' && LOOPBACK.has(hostname))
}
