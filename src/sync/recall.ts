import { fullCost } from '../api/bisectcost.js'
import type { Move } from '../api/ledger.js'
import type { Audit } from './audit.js'
import type { Side } from './comparing.js'
import type { Confirmation } from './confirm.js'

interface Parts {
  readonly audit: Audit
  readonly side: Pick<Side, 'versions' | 'store' | 'settle'>
  readonly confirmation: Confirmation
  note(message: string, fields: Record<string, unknown>): void
}

/**
 * Asks the source about every row that has vanished from the warehouse, or that nobody here has written, by its id.
 * undefined: that cannot be done, or costs more than a list of everything.
 */
export async function recall(parts: Parts, live: number): Promise<Move[] | undefined> {
  const { audit, side, confirmation } = parts
  const finding = await audit.look(live)
  if (finding === 'sound' || finding === 'unknown') return []
  if (finding === 'many') {
    parts.note('More rows have vanished from the warehouse than can be named: listing everything', {})
    return undefined
  }
  const { more: lost, less: strange } = finding
  parts.note('Rows have vanished from the warehouse, or appeared in it: asking the source about each', {
    vanished: lost.length,
    appeared: strange.length,
  })
  if (lost.length + strange.length > fullCost(live)) return undefined
  const found = await confirmation.find(lost)
  if (!found) return undefined
  const moves: Move[] = []
  for (const fetched of found) moves.push(...(await side.store(fetched)))
  const rows = await side.versions(strange)
  const candidates = strange.flatMap((id) => {
    const row = rows.get(id)
    return row?.deletedAt === null ? [{ id, updatedAt: row.updatedAt }] : []
  })
  if (candidates.length > 0) moves.push(...(await side.settle(candidates)))
  return moves
}
