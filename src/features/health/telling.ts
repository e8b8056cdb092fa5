/*
 * What to report to each rule: incidents it hasn't heard of, and those it has heard of that are over. Pure. Used by
 * tellrules.ts.
 */
import { createHash } from 'node:crypto'
import { ageOf, since } from '../../engine/base/format.js'
import { toMicros } from '../../engine/base/timestamp.js'
import type { AlertRule } from './alertsettings.js'
import type { AlertRow, Telling } from './sql.js'

/** A rule with its id in the column `told`, and its position in the configuration. */
export interface NamedRule {
  readonly id: string
  readonly place: number
  readonly rule: AlertRule
}

/**
 * A rule is identified by its receiver: if its kinds or its wait change, it still remembers what it reported. The id is
 * a digest, because the address is a secret. Rules with the same receiver are numbered.
 */
export function namedRules(rules: readonly AlertRule[]): NamedRule[] {
  const seen = new Map<string, number>()
  return rules.map((rule, place) => {
    const whom = JSON.stringify(rule.webhook?.reveal() ?? rule.command)
    const digest = createHash('sha256').update(whom).digest('hex').slice(0, 16)
    const number = (seen.get(digest) ?? 0) + 1
    seen.set(digest, number)
    return { id: number === 1 ? digest : `${digest}-${number}`, place, rule }
  })
}

export interface Messages {
  readonly opened: readonly AlertRow[]
  readonly resolved: readonly AlertRow[]
}

/** After this many milliseconds, a process that died while reporting loses its claim. */
const claimMs = 120_000

const isClaimed = ({ claimed }: Telling, nowMicros: bigint): boolean => {
  if (claimed === undefined) return false
  const age = since(claimed, nowMicros)
  // A claim in the future was made under a wrong clock.
  return age < claimMs && age > -claimMs
}

const siteOf = ({ tenant_id, resource }: AlertRow): string => `${tenant_id} ${resource}`

/** What to report to a rule now. */
export function messagesFor({ id, rule }: NamedRule, rows: readonly AlertRow[], nowMicros: bigint): Messages {
  const isFree = ({ told }: AlertRow): boolean => !isClaimed(told[id] ?? {}, nowMicros)
  const isOpen = ({ resolved_at, lasts }: AlertRow): boolean => resolved_at === null && lasts !== 'moment'
  // A cursor that keeps failing becomes stale, too: anyone notified of the failure already knows.
  const failing = new Set(
    rows
      .filter((row) => isOpen(row) && ['failed', 'unproven'].includes(row.kind) && isHeard(rule, row))
      .map(siteOf),
  )
  const isSaidAlready = (row: AlertRow): boolean => row.kind === 'stale' && failing.has(siteOf(row))
  const isLongEnough = (row: AlertRow): boolean =>
    (ageOf(row.since, row.resolved_at === null ? nowMicros : toMicros(row.resolved_at)) ??
      Number.POSITIVE_INFINITY) >= rule.after
  // What was over when it was found only goes to rules that existed then.
  const isKnown = (row: AlertRow): boolean => row.told[id] !== undefined
  const isDue = (row: AlertRow): boolean => {
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
export function parcels(rows: readonly AlertRow[], { id }: NamedRule): AlertRow[][] {
  const groups = new Map<string, AlertRow[]>()
  for (const row of rows) {
    const claimed = row.told[id]?.claimed ?? ''
    groups.set(claimed, [...(groups.get(claimed) ?? []), row])
  }
  return [...groups.values()]
}

export const isHeard = ({ on }: AlertRule, { kind }: Pick<AlertRow, 'kind'>): boolean =>
  on.some((one) => one === kind)

/** The row with a rule's entry changed. */
export function retold(row: AlertRow, id: string, change: (before: Telling) => Telling): AlertRow {
  return { ...row, told: { ...row.told, [id]: change(row.told[id] ?? {}) } }
}
