/*
 * Rows that have vanished from the warehouse, or that shopsync didn't write as they are: the register names them.
 */
import type { Candidate } from '../../engine/compare/comparison.js'
import { fullCost } from '../../engine/compare/comparisoncost.js'
import type { Move } from '../../engine/compare/histogram.js'
import type { Confirmation } from '../../engine/run/confirm.js'
import type { LiveRows } from '../../engine/run/liverows.js'
import type { RegisterCheck } from '../../engine/run/registercheck.js'
import type { Note } from '../../engine/run/runreport.js'
import { digest, type SetDifference } from '../../engine/warehouse/register/sketch.js'
import type { Repair } from './comparing.js'

interface LostRowParts {
  readonly check: RegisterCheck
  readonly liveRows: LiveRows
  readonly confirmation: Confirmation
  readonly repair: Pick<Repair, 'store' | 'settle'>
  readonly warn: Note
}

/**
 * Queries the source by id about every row that has vanished from the warehouse, or has a version that shopsync didn't
 * write. Returns undefined if the source doesn't answer by id, or if that costs more than listing everything.
 */
export async function recoverLostRows(parts: LostRowParts): Promise<readonly Move[] | undefined> {
  const { check, liveRows, confirmation, repair, warn } = parts
  const finding = await check.look(liveRows.counted)
  if (finding === 'sound' || finding === 'unknown') return []
  if (finding === 'many') {
    warn('Too many rows have vanished from the warehouse, or were changed in it, to name them', {})
    return undefined
  }
  const { lost, strange } = await sortOut(liveRows, finding)
  if (lost.length + strange.length === 0) return []
  warn('Rows have vanished from the warehouse, or were changed in it; fetching each from the source', {
    vanished: lost.length,
    changed: strange.length,
  })
  const listing = fullCost(liveRows.counted?.live ?? 0, confirmation.usualPage)
  if (lost.length + strange.length > listing) return undefined
  const found = await confirmation.find(lost)
  if (!found) return undefined
  const moves: Move[] = []
  for (const fetched of found) moves.push(...(await repair.store(fetched)))
  if (strange.length > 0) moves.push(...(await repair.settle(strange)))
  return moves
}

/** `lost`: missing rows. `strange`: rows with a version that shopsync didn't write. */
async function sortOut(liveRows: LiveRows, { more, less }: SetDifference) {
  const rows = await liveRows.versions([...more, ...less].map(({ id }) => id))
  const lost = more.filter(({ id }) => rows.get(id)?.deletedAt !== null).map(({ id }) => id)
  const strange = less.flatMap(({ id, version }): Candidate[] => {
    const row = rows.get(id)
    const isThere = row?.deletedAt === null && digest(row.updatedAt) === version
    return isThere ? [{ id, updatedAt: row.updatedAt }] : []
  })
  return { lost, strange }
}
