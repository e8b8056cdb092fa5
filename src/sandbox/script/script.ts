import type { RequestFacts } from '../http/request.js'
import { Random } from '../random.js'
import { list, type Rule, type When } from './rules.js'

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

/** A rule, its count of matching requests, and its chance. */
class Watch {
  readonly rule: Rule
  readonly #random: Random
  #matched = 0
  #fired = 0

  constructor(rule: Rule, position: number) {
    this.rule = rule
    this.#random = new Random(rule.when?.seed ?? position + 1)
  }

  fires(info: RequestFacts): boolean {
    const when = this.rule.when ?? {}
    if (!describes(when, info)) return false
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
  #watches: Watch[] = []

  set(rules: readonly Rule[]): void {
    this.#watches = rules.map((rule, position) => new Watch(rule, position))
  }

  firing(info: RequestFacts): Rule[] {
    return this.#watches.filter((watch) => watch.fires(info)).map(({ rule }) => rule)
  }
}
