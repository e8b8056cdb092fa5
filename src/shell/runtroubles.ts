/*
 * What of a run needs somebody, a line each: the lines that --quiet prints, and parts of the summary of a run.
 */
import { plural } from '../engine/base/format.js'
import { reasons } from '../engine/base/reasons.js'
import { reasonText } from '../engine/run/reasontext.js'
import type { CursorReport, RunReport } from '../engine/run/runreport.js'
import { groupLines } from './grouped.js'

/** More lines of one kind would hide the others. */
const shownLines = 40

/** Whether a cursor speaks for all cursors of its tenant. */
const isOfTenant = ({ reason }: CursorReport): boolean =>
  reason === 'revoked' || reason === 'grants_incomplete'

/** Whether nothing was asked of a cursor, since its tenant is not granted. */
export const isLeftOut = (cursor: CursorReport): boolean => isOfTenant(cursor) && cursor.requests === 0

/** The tenants that are not granted, a line each. */
export function tenantTroubles({ cursors }: Pick<RunReport, 'cursors'>): string[] {
  const lines = new Map(
    cursors.filter(isOfTenant).map(({ tenant_id, error }) => [tenant_id, error ?? `Tenant ${tenant_id}`]),
  )
  return [...lines.values()]
}

/** The cursors that failed for a reason of their own. */
export const failedCursors = ({ cursors }: Pick<RunReport, 'cursors'>): CursorReport[] =>
  cursors.filter((cursor) => cursor.status === 'failed' && !isOfTenant(cursor))

export const failureText = ({ error }: CursorReport): string => error ?? 'no reason given'

/** Everything of a run that needs somebody, a line each. */
export function runTroubles(report: RunReport): string[] {
  const title = report.job ?? report.mode
  const failed = groupLines(failedCursors(report), failureText)
  const more = failed.length - shownLines
  const undone = report.cursors.filter(
    ({ status, reason }) => status === 'skipped' && reason !== 'revoked',
  ).length
  const lines = [
    reasonText(report.reason),
    undone > 0 && report.reason !== null
      ? `${reasons[report.reason]}: ${plural(undone, 'cursor')} not done, the next run goes on with them`
      : '',
    ...tenantTroubles(report),
    ...failed.slice(0, shownLines),
    more > 0 ? `… and ${plural(more, 'line')} more of what failed: shopsync status` : '',
  ]
  // Words of a database may have several lines.
  return lines.filter((line) => line !== '').map((line) => `${title}: ${line.replaceAll(/\s*\n\s*/g, ' ')}`)
}
