import { count, paragraphs, plural, table } from '../../format.js'
import type { VerifiedCursor, VerifyReport } from '../../sync/reconcile/verifyrun.js'

export function verifyText(report: VerifyReport): string {
  const equal = report.cursors.filter(({ status }) => status === 'equal')
  const different = report.cursors.filter(({ status }) => status !== 'equal' && status !== 'unavailable')
  const live = equal.reduce((sum, { warehouse = 0 }) => sum + warehouse, 0)
  return paragraphs([
    `verify: ${report.status} after ${plural(report.requests, 'request')}: ${plural(equal.length, 'cursor')} equal, with ${plural(live, 'record')}`,
    ...(different.length > 0 ? [differences(different), legend] : []),
  ])
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
