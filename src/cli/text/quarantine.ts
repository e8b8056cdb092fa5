import { plural, table } from '../../format.js'
import type { Quarantined, Replayed } from '../../sync/ask/quarantine.js'

const empty = 'Nothing is in quarantine.'

export const noWarehouseText = (where: string): string =>
  `There is no warehouse at ${where} yet, and nothing is in quarantine. Type shopsync sync`

export const leftText = (left: number): string =>
  `${plural(left, 'record')} could not be stored still: shopsync quarantine list`

const shortened = (text: string): string => (text.length > 40 ? `${text.slice(0, 39)}…` : text)

export function quarantineText(entries: readonly Quarantined[]): string {
  if (entries.length === 0) return empty
  return table(
    ['tenant', 'resource', 'record', 'path', 'reason', 'value', 'last seen'],
    entries.map((entry) => [
      String(entry.tenant_id),
      entry.resource,
      entry.record_id,
      entry.path === '' ? '(the record)' : entry.path,
      entry.reason ?? '',
      shortened(entry.value ?? ''),
      entry.last_seen_at ?? '',
    ]),
  )
}

export function replayText(outcomes: readonly Replayed[]): string {
  if (outcomes.length === 0) return empty
  const tried = table(
    ['tenant', 'resource', 'record', 'outcome', 'detail'],
    outcomes.map((one) => [
      String(one.tenant_id),
      one.resource,
      one.record_id,
      one.outcome,
      one.detail ?? '',
    ]),
  )
  const stored = outcomes.filter(({ outcome }) => outcome === 'stored').length
  return `${tried}\n\n${plural(outcomes.length, 'record')} tried, ${stored} stored.`
}
