/** The row that processes share, as the specification has it and without a database (src/engine/warehouse/sharedwindow.ts). */
import type { WindowClaim, WindowRow } from '../../src/engine/base/windowclaim.js'

export class SharedRow {
  readonly rows = new Map<string, { resetsAt: number; taken: number }>()

  find(rule: string): number | undefined {
    return this.rows.get(rule)?.resetsAt
  }

  take(claim: WindowClaim): WindowRow {
    const { rule, count, most, resetsAt, isSaid, from, to, was, used, owed } = claim
    const row = this.rows.get(rule)
    const isCurrent = row !== undefined && (row.resetsAt >= from || row.resetsAt === was)
    const isLater = isCurrent && row.resetsAt > to
    const known = isCurrent ? row.taken + owed : used
    const before = isLater ? known : Math.max(known, used)
    // A process whose own window is used up isn't told that it may have a part of it, even if the row is of a later one.
    const isGranted = before + count <= most && used + count <= most
    const after = {
      resetsAt: isCurrent ? Math.max(row.resetsAt, isSaid ? resetsAt : 0) : resetsAt,
      taken: before + (isGranted ? count : 0),
    }
    this.rows.set(rule, after)
    return { ...after, isGranted }
  }
}
