/** The row that processes share, as the specification has it and without a database (src/engine/warehouse/state/sharedwindow.ts). */
import type { WindowClaim, WindowRow } from '../../../src/engine/base/windowclaim.js'

export class SharedRow {
  readonly rows = new Map<string, { resetsAt: number; taken: number }>()

  find(rule: string): number | undefined {
    return this.rows.get(rule)?.resetsAt
  }

  take(claim: WindowClaim): WindowRow {
    const { rule, count, most, resetsAt, isSaid, from, to, was, used, owed } = claim
    const row = this.rows.get(rule)
    const isCurrent = row !== undefined && (row.resetsAt >= from || row.resetsAt === was)
    const known = isCurrent ? row.taken + owed : used
    const before = isCurrent && row.resetsAt > to ? known : Math.max(known, used)
    const granted = Math.max(0, Math.min(count, most - before))
    const taken = before + granted
    const after = { resetsAt: isCurrent ? Math.max(row.resetsAt, isSaid ? resetsAt : 0) : resetsAt, taken }
    this.rows.set(rule, after)
    return { ...after, granted }
  }
}
