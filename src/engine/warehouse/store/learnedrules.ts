import type { RuleSettings, ShopTime } from '../../../../schema/derive.js'
import type { Int64 } from '../../../../schema/resource.js'
import type { Clock } from '../../base/clock.js'
import { Skip } from '../../base/errors.js'
import { fromMicros, minuteOf } from '../../base/timestamp.js'
import type { Rules } from './derived.js'

/** The calendar's first day, and how many years it extends from now. */
const firstDay = '1990-01-01'
const yearsAhead = 10

/** Whole minutes from one canonical instant to another, rounded down. The part after the minutes sorts as text. */
export function minutesBetween(from: string, to: string): number {
  return minuteOf(to) - minuteOf(from) - (to.slice(17) < from.slice(17) ? 1 : 0)
}

/** A canonical instant, or an ISO date and time, to the second: `YYYY-MM-DD HH:MM:SS`. */
export const clockText = (instant: string): string => `${instant.slice(0, 10)} ${instant.slice(11, 19)}`

/** The defaults: days in UTC, tax rates in percent. */
export function usualRules(clock: Clock): Rules {
  const year = Number(fromMicros(clock.nowMicros()).slice(0, 4))
  const lastDay = `${year + yearsAhead}-12-31`
  const shopTime = (_shop: unknown, instant: string): ShopTime | null => {
    const day = instant.slice(0, 10)
    return day >= firstDay && day <= lastDay ? { day, local: clockText(instant) } : null
  }
  const settings = { taxRates: 'percent', shopTime, minutesBetween } as const
  return { of: () => settings, textOf: () => '{"taxRates":"percent","timeZone":"UTC"}' }
}

/** Rules that the database refused to show. They fail what follows from them, and nothing else. */
export function unreadableRules(error: unknown): Rules {
  // A run can't do without its own tables; and what is no trouble of a table is that of everything.
  if (!(error instanceof Skip)) throw error
  const fail = (): never => {
    throw error
  }
  return { of: fail, textOf: fail }
}

/** Rules with newer ones for single tenants. */
class RulesByTenant implements Rules {
  constructor(
    private readonly usual: Rules,
    private readonly newer: ReadonlyMap<Int64, Rules>,
  ) {}

  of(tenantId: Int64): RuleSettings {
    return this.#rules(tenantId).of(tenantId)
  }

  textOf(tenantId: Int64): string {
    return this.#rules(tenantId).textOf(tenantId)
  }

  with(tenantId: Int64, rules: Rules): Rules {
    return new RulesByTenant(this.usual, new Map([...this.newer, [tenantId, rules]]))
  }

  #rules(tenantId: Int64): Rules {
    return this.newer.get(tenantId) ?? this.usual
  }
}

/** The same rules, except for one tenant. */
export const withTenant = (rules: Rules, tenantId: Int64, newer: Rules): Rules =>
  (rules instanceof RulesByTenant ? rules : new RulesByTenant(rules, new Map())).with(tenantId, newer)
