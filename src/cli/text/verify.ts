import { count, paragraphs, plural, table } from '../../format.js'
import type { VerifiedCursor, VerifyReport } from '../../sync/reconcile/verifyrun.js'
import { reasonText } from '../../sync/run/reasontext.js'

export function verifyText(report: VerifyReport): string {
  const equal = report.cursors.filter(({ status }) => status === 'equal')
  const different = report.cursors.filter((cursor) => differs(cursor))
  const live = equal.reduce((sum, { warehouse = 0 }) => sum + warehouse, 0)
  return paragraphs([
    `verify: ${report.status} after ${plural(report.requests, 'request')}: ${plural(equal.length, 'cursor')} equal, with ${plural(live, 'record')}`,
    [reasonText(report.reason), ...lost(report)]
      .filter((line) => line !== '')
      .map((line) => `✗ ${line}`)
      .join('\n'),
    ...(different.length > 0 ? [differences(different), legend] : []),
    ...skipped(report.cursors),
  ])
}

const isLost = ({ reason }: VerifiedCursor): boolean => reason === 'revoked' || reason === 'grants_incomplete'

/** Found otherwise than at the source, or not to be compared; a tenant without a grant is told once for all its cursors. */
const differs = (cursor: VerifiedCursor): boolean =>
  !['equal', 'unavailable', 'skipped'].includes(cursor.status) && !isLost(cursor)

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

const legend =
  'missing and outdated: the source has the records; extra: the source has them no longer. Type shopsync reconcile to repair.'

const differences = (cursors: readonly VerifiedCursor[]): string =>
  table(
    ['tenant', 'resource', 'missing', 'outdated', 'extra', 'fields', 'why'],
    cursors.map((cursor) => [
      String(cursor.tenant_id),
      cursor.resource,
      count(cursor.missing ?? 0),
      count(cursor.outdated ?? 0),
      count(cursor.extra ?? 0),
      count(cursor.differences?.length ?? 0),
      cursor.error ?? '',
    ]),
  )
