import { atSecond, count, plural, shortRequests } from '../../engine/base/format.js'
import { type Ink, plainTerminal, type Terminal } from '../../shell/terminal.js'
import { right, table, unbroken } from '../../shell/texttable.js'
import { shortened } from '../../shell/width.js'
import type { Quarantined, Replayed } from './work.js'

const empty = 'Nothing is in quarantine.'

export const leftText = (left: number): string =>
  `${plural(left, 'record')} still in quarantine: shopsync quarantine list`

/** The document of --json contains complete values. */
const shownOfValue = 40

export function quarantineText(entries: readonly Quarantined[], terminal: Terminal = plainTerminal): string {
  if (entries.length === 0) return empty
  return table(
    [
      right('tenant'),
      'resource',
      unbroken('record'),
      'path',
      'reason',
      'value',
      unbroken('last seen', { spare: 1 }),
    ],
    entries.map((entry) => [
      String(entry.tenant_id),
      entry.resource,
      entry.record_id,
      entry.path === '' ? '(the record)' : entry.path,
      entry.reason ?? '',
      shortened(entry.value ?? '', shownOfValue),
      entry.last_seen_at === null ? '' : atSecond(entry.last_seen_at),
    ]),
    terminal,
  )
}

const outcomeInk = (outcome: string): Ink => (outcome === 'stored' ? 'good' : 'odd')

/** `left`: how many records are in quarantine afterwards. */
export function replayText(
  outcomes: readonly Replayed[],
  left: number,
  terminal: Terminal = plainTerminal,
): string {
  if (outcomes.length === 0 && left === 0) return empty
  const shown = table(
    [right('tenant'), 'resource', 'record', { title: 'outcome', ink: outcomeInk }, 'detail'],
    outcomes.map((one) => [
      String(one.tenant_id),
      one.resource,
      one.record_id,
      one.outcome,
      shortRequests(one.detail ?? ''),
    ]),
    terminal,
  )
  const tried = outcomes.filter(({ outcome }) => outcome !== 'unreachable').length
  const stored = outcomes.filter(({ outcome }) => outcome === 'stored').length
  return `${shown}\n\n${count(tried)} of ${plural(outcomes.length, 'record')} tried, ${count(stored)} stored; ${count(left)} still in quarantine.`
}
