import { count, paragraphs, plural, shortRequests } from '../../engine/base/format.js'
import { reasonText } from '../../engine/run/reasontext.js'
import { groupLines } from '../../shell/grouped.js'
import { plainTerminal, type Terminal } from '../../shell/terminal.js'
import { right, table } from '../../shell/texttable.js'
import type { VerifiedCursor, VerifyReport } from './verifywork.js'

export function verifyText(report: VerifyReport, terminal: Terminal = plainTerminal): string {
  const equal = report.cursors.filter(({ status }) => status === 'equal')
  const different = report.cursors.filter(({ status }) => status === 'differs')
  const failed = report.cursors.filter((cursor) => cursor.status === 'failed' && !isLost(cursor))
  const live = equal.reduce((sum, { warehouse = 0 }) => sum + warehouse, 0)
  const [sampled, compared] = (['sampled', 'compared'] as const).map((of) =>
    equal.reduce((sum, cursor) => sum + (cursor[of] ?? 0), 0),
  )
  const fields = fieldsText(sampled ?? 0, compared ?? 0)
  return paragraphs([
    `verify: ${report.status} after ${plural(report.requests, 'request')}: ${equal.length === 0 ? 'no cursor is equal' : `${plural(equal.length, 'cursor')} equal, with ${plural(live, 'record')}${fields}`}`,
    [reasonText(report.reason), ...lost(report)]
      .filter((line) => line !== '')
      .map((line) => `✗ ${line}`)
      .join('\n'),
    ...(different.length > 0
      ? [differences(different, terminal), different.some(isRepairable) ? legend : '']
      : []),
    changedSince(report),
    inQuarantine(report),
    groupLines(failed, ({ error }) => error ?? 'no reason given')
      .map((line) => `✗ ${line}`)
      .join('\n'),
    ...skipped(report.cursors),
  ])
}

/** Of the sampled records, some may not be answered by id, and some have another version by now. */
const fieldsText = (sampled: number, compared: number): string =>
  sampled === 0
    ? ''
    : compared === sampled
      ? `, ${count(compared)} of them compared field by field`
      : `, ${count(compared)} of ${plural(sampled, 'sampled record')} compared field by field`

/** What came and went since the last sync, which does not count as a difference. */
function changedSince({ cursors }: VerifyReport): string {
  const [newer, gone] = (['newer', 'gone'] as const).map((of) =>
    cursors.reduce((sum, cursor) => sum + (cursor[of] ?? 0), 0),
  )
  if (!newer && !gone) return ''
  return `Changed since the last sync (not a difference): ${plural(newer ?? 0, 'record')} newer, ${plural(gone ?? 0, 'record')} gone`
}

/** What the rows lack although the source has it, which does not count as a difference while it is in quarantine. */
function inQuarantine({ cursors }: VerifyReport): string {
  const values = cursors.reduce((sum, { quarantined = 0 }) => sum + quarantined, 0)
  return values === 0
    ? ''
    : `In quarantine (not a difference): ${plural(values, 'value')}; see shopsync quarantine list`
}

const isLost = ({ reason }: VerifiedCursor): boolean => reason === 'revoked' || reason === 'grants_incomplete'

const lost = ({ cursors }: VerifyReport): string[] => [
  ...new Set(cursors.filter(isLost).map(({ error, tenant_id }) => error ?? `Tenant ${tenant_id}`)),
]

/** One line for each reason why cursors were not compared. */
function skipped(cursors: readonly VerifiedCursor[]): string[] {
  const left = cursors.filter((cursor) => cursor.status === 'skipped' && !isLost(cursor))
  const whys = [...new Set(left.map(({ error }) => error ?? 'no reason given'))]
  return whys.map((why) => {
    const amount = left.filter(({ error }) => (error ?? 'no reason given') === why).length
    return `${plural(amount, 'cursor')} not compared: ${why}`
  })
}

/** Reconcile repairs these; a record that cannot be stored has another way. */
const isRepairable = ({ missing = 0, outdated = 0, extra = 0 }: VerifiedCursor): boolean =>
  missing + outdated + extra > 0

const legend =
  'missing and outdated: the source has the records; extra: the source no longer has them. Type shopsync reconcile to repair.'

/** More would push the legend and the failures off the screen. */
const shownCursors = 40

const differences = (cursors: readonly VerifiedCursor[], terminal: Terminal): string => {
  const more = cursors.length - shownCursors
  const rest = more > 0 ? `\n… and ${plural(more, 'more cursor')}: shopsync verify --json` : ''
  return `${differencesTable(cursors.slice(0, shownCursors), terminal)}${rest}`
}

/** A record that cannot be stored is in none of the other columns. */
const whyText = ({ error, unstorable = 0 }: VerifiedCursor): string =>
  error === null && unstorable > 0
    ? `${plural(unstorable, 'record')} cannot be stored: see shopsync quarantine list`
    : shortRequests(error ?? '')

const differencesTable = (cursors: readonly VerifiedCursor[], terminal: Terminal): string =>
  table(
    [
      right('tenant'),
      'resource',
      right('missing'),
      right('outdated'),
      right('extra'),
      right('fields'),
      'why',
    ],
    cursors.map((cursor) => [
      String(cursor.tenant_id),
      cursor.resource,
      count(cursor.missing ?? 0),
      count(cursor.outdated ?? 0),
      count(cursor.extra ?? 0),
      count(cursor.differences?.length ?? 0),
      whyText(cursor),
    ]),
    terminal,
  )
