/** Webhooks: their configuration, and the events sent to them. Used by server.ts and sandbox.ts. */
import { randomUUID } from 'node:crypto'
import { type Micros, printInstant } from '../instant.js'
import { Random } from '../random.js'
import type { StoredRecord } from '../records/collection.js'
import { EVENT_NAMES, eventOf } from '../records/resources.js'
import type { Store, StoreChange } from '../records/store.js'
import { changedEvent, type OutgoingEvent } from '../script/eventchange.js'
import type { EventAction } from '../script/rules.js'
import type { Script } from '../script/script.js'
import { DeliveryLog } from './deliverylog.js'
import { Pauses } from './pauses.js'
import { bodyOf, type PartnerCall } from './request.js'
import { type HttpResponse, invalid, jsonResponse, Refusal } from './response.js'
import { type Parcel, Sender } from './sender.js'

export interface Webhook {
  readonly url: string
  /** Default: all. */
  readonly events?: readonly string[] | undefined
}

export interface WebhookOptions {
  /** Webhooks that exist from the start. */
  readonly hooks?: readonly Webhook[] | undefined
  /** The share of deliveries that never leave. */
  readonly drop?: number | undefined
  /** The share of deliveries that are made twice. */
  readonly twice?: number | undefined
  /** Each delivery waits for a random time up to this one, so events overtake each other. */
  readonly delayMs?: number | undefined
  /** How often to retry a delivery that fails or isn't answered with 2xx, after growing pauses. Default 0. */
  readonly retry?: number | undefined
  readonly seed?: number
  /** The certificate authority of an https receiver, in PEM; otherwise self-signed certificates are refused. */
  readonly ca?: string
}

interface WebhookContext {
  readonly store: Store
  readonly secret: string
  readonly script: Script
  readonly closing: AbortSignal
}

export const MOST_WEBHOOKS = 20

/** How long a change stays invisible after its event was answered, unless a script sets it. */
const SHOWN_AFTER_MS = 1000
/** How long a script holds up an event if it doesn't say. */
const DELAY_MS = 1000

/** Sends changes of records to the configured addresses. */
export class Webhooks {
  readonly #hooks: { id: number; url: string; events: readonly string[] }[] = []
  readonly #random: Random
  readonly #pending = new Set<Promise<void>>()
  #pauses = new Pauses()
  readonly #log = new DeliveryLog()
  readonly #sender: Sender

  constructor(
    private readonly context: WebhookContext,
    private readonly options: WebhookOptions = {},
  ) {
    const { store, closing } = context
    const { hooks = [], seed = 1, retry = 0, ca } = options
    this.#random = new Random(seed)
    this.#sender = new Sender({ clock: store.clock, log: this.#log, retry, ca })
    for (const { url, events = EVENT_NAMES } of hooks) this.#add(url, events)
    store.onChange((change, previous) => this.#announce(change, previous))
    closing.addEventListener('abort', () => this.#stop(), { once: true })
  }

  /** All attempts to deliver, oldest first. */
  get deliveries(): DeliveryLog['lines'] {
    return this.#log.lines
  }

  configure(call: PartnerCall): HttpResponse {
    const { url, events } = bodyOf(call)
    const wrong: Record<string, string> = {}
    if (!isDeliverable(url)) wrong['url'] = 'is not an https URL (http is allowed for loopback addresses)'
    if (!Array.isArray(events) || events.length === 0) wrong['events'] = 'is not an array of event names'
    else if (!events.every((name) => EVENT_NAMES.includes(name)))
      wrong['events'] = `holds a name that is not one of ${EVENT_NAMES.join(', ')}`
    if (Object.keys(wrong).length > 0) throw invalid(wrong)
    if (this.#hooks.length >= MOST_WEBHOOKS)
      throw new Refusal(422, `At most ${MOST_WEBHOOKS} webhooks per partner`)
    return jsonResponse(201, JSON.stringify(this.#add(String(url), events as string[])))
  }

  /** Adds a webhook for all events. */
  subscribe(url: string): void {
    this.#add(url, EVENT_NAMES)
  }

  /** Forgets the webhooks and all deliveries; waiting ones are never made. */
  clear(): void {
    this.#hooks.length = 0
    this.#stop()
    this.#pauses = new Pauses()
    this.#log.clear()
  }

  /** Resolves when every event so far is delivered or has failed, and every change is shown. */
  async idle(): Promise<void> {
    while (this.#pending.size > 0) await Promise.all(this.#pending)
  }

  #stop(): void {
    this.#pauses.end()
    this.#sender.end()
  }

  #add(url: string, events: readonly string[]) {
    const hook = { id: this.#hooks.length + 1, url, events }
    this.#hooks.push(hook)
    return hook
  }

  #announce(change: StoreChange, previous: StoredRecord | undefined): void {
    const { store, script, closing } = this.context
    const { action, tenant, resource, id } = change
    const named = eventOf(resource, action)
    if (named === undefined || closing.aborted || store.findTenant(tenant)?.granted !== true) return
    const hooks = this.#hooks.filter(({ events }) => events.includes(named.name))
    if (hooks.length === 0) return
    const now = store.clock.nowMicros()
    const actions = script.onEvent(change)
    const data = action === 'deleted' ? undefined : store.printed(tenant, resource, id)
    const plain = { ...named, tenant, data, secret: this.context.secret }
    const event = changedEvent(plain, actions, { action, now, print: (record) => store.print(record) })
    const letter = { event: randomUUID(), name: event.name, tenant, record: id, changed: now }
    const body = Buffer.from(textOf(event, letter))
    const { secret } = event
    const sent = hooks.flatMap(({ url }) => this.#post({ ...letter, url, body, secret }, actions))
    const early = actions.find(({ kind }) => kind === 'before')
    if (early?.kind === 'before') {
      const show = store.collection(tenant, resource).hold(id, previous)
      const pauses = this.#pauses
      const shown = Promise.all(sent).then(() => pauses.wait(early.ms ?? SHOWN_AFTER_MS))
      this.#track(shown.then(show))
    }
  }

  #post(parcel: Parcel, actions: readonly EventAction[]): Promise<void>[] {
    const { drop = 0, twice = 0, delayMs = 0 } = this.options
    const told = (wanted: EventAction['kind']) => actions.some(({ kind }) => kind === wanted)
    const isLost = this.#random.chance(drop)
    const isDoubled = this.#random.chance(twice)
    if (isLost || told('drop')) {
      const { body: _body, secret: _secret, ...facts } = parcel
      this.#log.open({ ...facts, attempt: 1, sent: null, ended: null, status: null, error: 'dropped' })
      return []
    }
    return Array.from({ length: isDoubled || told('twice') ? 2 : 1 }, () => {
      const spread = delayMs > 0 ? this.#random.next() * delayMs : 0
      const delay = actions.find(({ kind }) => kind === 'delay')
      const wait = delay?.kind === 'delay' ? (delay.ms ?? DELAY_MS) : spread
      return this.#track(this.#sender.send(parcel, wait, this.#pauses))
    })
  }

  #track(work: Promise<void>): Promise<void> {
    const settled = work.finally(() => this.#pending.delete(settled))
    this.#pending.add(settled)
    return settled
  }
}

/** The record is in the event verbatim: parsing and printing it would round integers beyond 2^53. */
function textOf(
  { name, type, tenant, data }: OutgoingEvent,
  { event, record, changed }: { readonly event: string; readonly record: number; readonly changed: Micros },
): string {
  const head = JSON.stringify({ id: event, timestamp: printInstant(changed), event: name })
  const payload = JSON.stringify({ type, id: record, tenant_id: tenant })
  const whole = data === undefined ? payload : `${payload.slice(0, -1)},"data":${data}}`
  return `${head.slice(0, -1)},"payload":${whole}}`
}

const LOOPBACK = new Set(['localhost', '127.0.0.1', '[::1]'])

/** Whether the sandbox delivers to this address: https, or plain http on this machine. */
export function isDeliverable(url: unknown): boolean {
  if (typeof url !== 'string' || !URL.canParse(url)) return false
  const { protocol, hostname } = new URL(url)
  return protocol === 'https:' || (protocol === 'http:' && LOOPBACK.has(hostname))
}
