import type { RequestFacts } from '../http/request.js'
import { Random } from '../random.js'
import type { StoreChange } from '../records/store.js'
import { type EventAction, list, type Rule, type When } from './rules.js'

const among = <T>(wanted: T | readonly T[] | undefined, value: T | null): boolean =>
  wanted === undefined || (value !== null && list(wanted).includes(value))

function describes(when: When, info: RequestFacts): boolean {
  const kind = info.id === null ? 'list' : 'item'
  return (
    (when.method === undefined || when.method.toUpperCase() === info.method) &&
    (when.kind === undefined || when.kind === kind) &&
    among(when.tenant, info.tenant) &&
    among(when.resource, info.resource) &&
    among(when.id, info.id) &&
    among(when.page, info.page ?? (kind === 'list' ? 1 : null)) &&
    among(when.perPage, info.perPage)
  )
}

const describesEvent = (when: When, { tenant, resource, id, action }: StoreChange): boolean =>
  among(when.tenant, tenant) &&
  among(when.resource, resource) &&
  among(when.id, id) &&
  among(when.action, action)

/** A rule, its count of matching requests or events, and its random numbers. */
class Watch {
  readonly rule: Rule
  readonly #random: Random
  #matched = 0
  #fired = 0

  constructor(rule: Rule, position: number) {
    this.rule = rule
    this.#random = new Random(rule.when?.seed ?? position + 1)
  }

  /** Counts a request or an event that the rule describes. */
  fires(): boolean {
    const when = this.rule.when ?? {}
    this.#matched += 1
    const due =
      among(when.nth, this.#matched) &&
      (when.every === undefined || this.#matched % when.every === 0) &&
      this.#matched >= (when.from ?? 1) &&
      this.#matched <= (when.to ?? Number.POSITIVE_INFINITY) &&
      (when.probability === undefined || this.#random.chance(when.probability)) &&
      this.#fired < (this.rule.times ?? Number.POSITIVE_INFINITY)
    if (due) this.#fired += 1
    return due
  }
}

/** The rules in force. */
export class Script {
  #ofRequests: Watch[] = []
  #ofEvents: Watch[] = []

  set(rules: readonly Rule[]): void {
    const watches = rules.map((rule, position) => new Watch(rule, position))
    this.#ofRequests = watches.filter(({ rule }) => rule.event === undefined)
    this.#ofEvents = watches.filter(({ rule }) => rule.event !== undefined)
  }

  firing(info: RequestFacts): Rule[] {
    return this.#ofRequests
      .filter((watch) => describes(watch.rule.when ?? {}, info) && watch.fires())
      .map(({ rule }) => rule)
  }

  /** What the rules for events do to this change's event. */
  onEvent(change: StoreChange): EventAction[] {
    return this.#ofEvents
      .filter((watch) => describesEvent(watch.rule.when ?? {}, change) && watch.fires())
      .flatMap(({ rule }) => list(rule.event))
  }
}
