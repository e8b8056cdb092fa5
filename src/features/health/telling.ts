/*
 * What to report to each rule: incidents it hasn't heard of, and those it has heard of that are over. Pure. Used by
 * tellrules.ts.
 */
import { ageOf, since } from '../../engine/base/format.js'
import { toMicros } from '../../engine/base/timestamp.js'
import { receiverIds } from '../../shell/deliverto.js'
import type { AlertRule } from './alertsettings.js'
import type { KeptIncident, Telling } from './incident.js'

/** A rule with its id in the column `told`, and its position in the configuration. */
export interface NamedRule {
  readonly id: string
  readonly place: number
  readonly rule: AlertRule
}

/** A rule is identified by its receiver: if its kinds or its wait change, it still remembers what it reported. */
export function namedRules(rules: readonly AlertRule[]): NamedRule[] {
  const ids = receiverIds(rules)
  return rules.map((rule, place) => ({ id: ids[place] ?? '', place, rule }))
}

/** What people call a rule: its position, never its address. */
export const ruleName = ({ place, rule }: { readonly place: number; readonly rule: AlertRule }): string =>
  `alerts.rules[${place}] (${rule.webhook === undefined ? 'command' : 'webhook'})`

export interface Messages {
  readonly opened: readonly KeptIncident[]
  readonly resolved: readonly KeptIncident[]
}

/** After this many milliseconds, a process that died while reporting loses its claim. */
const claimMs = 120_000

const isClaimed = ({ claimed }: Telling, nowMicros: bigint): boolean => {
  if (claimed === undefined) return false
  const age = since(claimed, nowMicros)
  // A claim in the future was made under a wrong clock.
  return age < claimMs && age > -claimMs
}

const siteOf = ({ tenant_id, resource }: KeptIncident): string => `${tenant_id} ${resource}`

/** What to report to a rule now. */
export function messagesFor(
  { id, rule }: NamedRule,
  rows: readonly KeptIncident[],
  nowMicros: bigint,
): Messages {
  const isFree = ({ told }: KeptIncident): boolean => !isClaimed(told[id] ?? {}, nowMicros)
  const isOpen = ({ resolved_at, lasts }: KeptIncident): boolean => resolved_at === null && lasts !== 'moment'
  // A cursor that keeps failing becomes stale, too: anyone notified of the failure already knows.
  const failing = new Set(
    rows
      .filter((row) => isOpen(row) && ['failed', 'unproven'].includes(row.kind) && isHeard(rule, row))
      .map(siteOf),
  )
  const isSaidAlready = (row: KeptIncident): boolean => row.kind === 'stale' && failing.has(siteOf(row))
  const isLongEnough = (row: KeptIncident): boolean =>
    (ageOf(row.since, row.resolved_at === null ? nowMicros : toMicros(row.resolved_at)) ??
      Number.POSITIVE_INFINITY) >= rule.after
  // What was over when it was found only goes to rules that existed then.
  const isKnown = (row: KeptIncident): boolean => row.told[id] !== undefined
  const isDue = (row: KeptIncident): boolean => {
    if (row.lasts === 'moment') return isKnown(row)
    if (row.lasts === 'run') return isKnown(row) && isLongEnough(row)
    return isOpen(row) && isLongEnough(row) && !isSaidAlready(row)
  }
  const opened = rows.filter(
    (row) => isHeard(rule, row) && row.told[id]?.opened === undefined && isDue(row) && isFree(row),
  )
  return {
    opened,
    // Anyone who wasn't told of the beginning has no use for the end.
    resolved: rows.filter((row) => {
      const told = row.told[id]
      const isTold = told?.opened !== undefined || (row.lasts === 'run' && opened.includes(row))
      const isOver = row.resolved_at !== null && row.lasts !== 'moment'
      return isTold && told?.resolved === undefined && isOver && isFree(row)
    }),
  }
}

/**
 * What goes into one message. A process that died while reporting leaves its claim behind, and its message may have
 * arrived: that message is sent again as it was, so that its receiver knows it by its id. All else is one message.
 */
export function parcels(rows: readonly KeptIncident[], { id }: NamedRule): KeptIncident[][] {
  const groups = new Map<string, KeptIncident[]>()
  for (const row of rows) {
    const claimed = row.told[id]?.claimed ?? ''
    groups.set(claimed, [...(groups.get(claimed) ?? []), row])
  }
  return [...groups.values()]
}

export const isHeard = ({ on }: AlertRule, { kind }: Pick<KeptIncident, 'kind'>): boolean =>
  on.some((one) => one === kind)

/** The row with a rule's entry changed. */
export function retold(row: KeptIncident, id: string, change: (before: Telling) => Telling): KeptIncident {
  return { ...row, told: { ...row.told, [id]: change(row.told[id] ?? {}) } }
}
