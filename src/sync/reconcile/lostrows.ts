import type { Candidate } from '../../compare/comparison.js'
import { fullCost } from '../../compare/cost.js'
import type { Move } from '../../compare/histogram.js'
import { digest, type SetDifference } from '../../warehouse/register/sketch.js'
import type { ComparedSide } from './comparing.js'
import type { Confirmation } from './confirm.js'
import type { LiveRows } from './liverows.js'
import type { RegisterFinding } from './registercheck.js'

interface Parts {
  readonly finding: RegisterFinding
  readonly side: Pick<ComparedSide, 'store' | 'settle'>
  readonly mirror: LiveRows
  readonly confirmation: Confirmation
  note(message: string, fields: Record<string, unknown>): void
}

/**
 * Asks the source, by its id, about every row that has vanished from the warehouse, or that has another version than
 * was written here. undefined: that cannot be done, or costs more than a list of everything.
 */
export async function recoverLostRows(parts: Parts): Promise<Move[] | undefined> {
  const { finding, side, mirror, confirmation, note } = parts
  if (finding === 'sound' || finding === 'unknown') return []
  if (finding === 'many') {
    note('More rows have vanished from the warehouse, or were changed in it, than can be named', {})
    return undefined
  }
  const { lost, strange } = await sortOut(mirror, finding)
  if (lost.length + strange.length === 0) return []
  note('Rows have vanished from the warehouse, or were changed in it: asking the source about each', {
    vanished: lost.length,
    changed: strange.length,
  })
  if (lost.length + strange.length > fullCost(mirror.counted?.live ?? 0)) return undefined
  const found = await confirmation.find(lost)
  if (!found) return undefined
  const moves: Move[] = []
  for (const fetched of found) moves.push(...(await side.store(fetched)))
  if (strange.length > 0) moves.push(...(await side.settle(strange)))
  return moves
}

/** Which rows are not there, and which are there and nobody here has written them so. */
async function sortOut(mirror: LiveRows, { more, less }: SetDifference) {
  const rows = await mirror.versions([...more, ...less].map(({ id }) => id))
  const lost = more.filter(({ id }) => rows.get(id)?.deletedAt !== null).map(({ id }) => id)
  const strange = less.flatMap(({ id, version }): Candidate[] => {
    const row = rows.get(id)
    const isThere = row?.deletedAt === null && digest(row.updatedAt) === version
    return isThere ? [{ id, updatedAt: row.updatedAt }] : []
  })
  return { lost, strange }
}
